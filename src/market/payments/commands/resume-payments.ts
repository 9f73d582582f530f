import { isoTime } from '../../../platform/clock.ts';
import { CommandRefused } from '../../../platform/run-command.ts';
import { findChainState } from '../head/store.ts';
import type { CommandMarket } from './command-market.ts';
import { endHalt, writeCommand } from './store.ts';

export interface Resumed {
  status: 'resumed';
  chain_id: number;
  halted_at: string;
  detail: string;
}

/** Ends the halt in every process. Should the providers still contradict each other, the next look halts again. */
export async function resumePayments(market: CommandMarket, reason: string): Promise<Resumed> {
  const { database, clock, log, config } = market;
  const { chainId } = config.network;
  const now = new Date(clock.now());
  const halt = await database.transaction(async (tx) => {
    await tx.lock(`chain:${chainId}`);
    const { halt } = await findChainState(tx, chainId);
    if (halt === null) throw new CommandRefused('payments are not halted: there is nothing to resume');
    const before = { halt_id: halt.id.toString(), halted_at: isoTime(halt.haltedAt), detail: halt.detail };
    const after = { resumed_at: isoTime(now) };
    const id = await writeCommand(tx, { chainId, act: 'resume', reason, before, after, now });
    await endHalt(tx, halt.id, { id, now });
    return halt;
  });
  log.warn('chain_command', { name: 'resume', reason, detail: halt.detail });
  return {
    status: 'resumed',
    chain_id: Number(chainId),
    halted_at: isoTime(halt.haltedAt),
    detail: halt.detail,
  };
}
