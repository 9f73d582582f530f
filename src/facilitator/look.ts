import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Entry } from './journal/entry.ts';
import { readMined } from './read-mined.ts';

/** unknown: the node could not be asked. */
export type Sight = 'mined' | 'absent' | 'unknown';

/** Whether the chain shows one of an entry's transactions now; of one that has ended, the one that it ended with. */
export async function look(context: Context, conclude: Conclude, entry: Readonly<Entry>): Promise<Sight> {
  const { ending } = entry;
  const asked = ending === null ? entry.transactions : entry.transactions.filter(({ hash }) => hash === ending.hash);
  try {
    const read = await Promise.all(asked.map(({ hash }) => readMined(context.rpc, hash)));
    for (const [at, transaction] of asked.entries()) {
      const mined = read[at];
      if (mined == null) continue;
      if (entry.ending === null) await conclude.mined(entry, transaction, mined);
      return 'mined';
    }
  } catch (error) {
    if (error instanceof RpcFailure) return 'unknown';
    throw error;
  }
  // Another look may have seen its end meanwhile.
  return entry.ending !== null && entry.ending.state !== 'succeeded' ? 'mined' : 'absent';
}
