import { recordEvent } from '../../src/market/events/record-event.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import type { Database } from '../../src/platform/database/database.ts';

const writer = { clock: systemClock, wakeEvents: () => {} };

/** Disables the trigger that refuses invented events, because the events written here match no row in the books. */
export async function inventEvents(url: string): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-bench', statementTimeoutMs: 0 });
  await client.query('alter table events disable trigger events_tell_of_the_books');
  await client.end();
}

/** Queues events at that rate, each in its own transaction. The market numbers them. Resolves with their count. */
export async function writeEvents(
  database: Database,
  { rate, seconds, signal }: { rate: number; seconds: number; signal: AbortSignal },
): Promise<number> {
  const count = rate * seconds;
  const begin = performance.now();
  for (let written = 0; written < count; written += 1) {
    const due = begin + (written * 1_000) / rate;
    if (due > performance.now()) await systemClock.sleep(due - performance.now(), signal);
    signal.throwIfAborted();
    const detail = { listing_id: written + 1, merchant_id: 7, price_usdc: '2.500000', verified_via: 'x402' };
    await database.transaction((tx) => recordEvent(tx, writer, { kind: 'sale', actor: 'a-buyer-of-goods', detail }));
  }
  return count;
}
