import { vi } from 'vitest';
import { recover } from '../../src/market/recovery/recover.ts';
import { type CopiedEvent, filesAt, readCopies, readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import type { HistoryWorld } from './history-world.ts';
import type { World } from './market-world.ts';
import type { PostgresServer } from './standby-postgres.ts';

export const until = (met: () => Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(async () => await met().catch(() => false), { timeout: 30_000, interval: 20 });

/** What is public by now stands in the host's copy; the newest event's id. */
export async function waitForCopy(world: World, { folder }: Pick<LogCopyPlace, 'folder'>): Promise<number> {
  await world.running.eventsSettled();
  const newest = ((await world.ask('GET', '/api/events')).body['events'] as { id: number }[])[0]?.id ?? 0;
  await until(async () => Number((await readLogEnd(folder))?.id ?? 0n) >= newest);
  return newest;
}

/** The market stands on the earlier database, and has noticed. */
export async function loseTo(
  backup: PostgresServer,
  { history, world, place }: { history: HistoryWorld; world: World; place: LogCopyPlace },
): Promise<number> {
  const newest = await waitForCopy(world, place);
  await history.primary.kill();
  await backup.start();
  history.leadTo(backup);
  await until(async () => (await world.ask('GET', '/readyz')).body['history'] === 'lost');
  return newest;
}

/** As the operator recovers, with all that the copies tell. */
export async function recoverHistory(
  world: World,
  { folder }: Pick<LogCopyPlace, 'folder'>,
  edit: (copied: CopiedEvent[]) => CopiedEvent[] = (copied) => copied,
): Promise<void> {
  const copied = edit(await readCopies(await filesAt([folder])));
  await recover(world.running.market, { fromBlock: 0n, reason: 'the disk failed', copied });
  await until(async () => (await world.ask('GET', '/readyz?strict')).status === 200);
}
