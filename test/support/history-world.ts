import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { recover } from '../../src/market/recovery/recover.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { type CopiedEvent, filesAt, readCopies, readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { TestDatabase } from './database.ts';
import { createKillSwitch, startKillPostgres } from './kill-postgres.ts';
import { startWorld, type World, type WorldOptions } from './market-world.ts';
import { openPostgresGround, type PostgresServer } from './standby-postgres.ts';

/** A market whose PostgreSQL, at a fixed address, can be replaced by a server with an older state. */
export interface HistoryWorld {
  primary: PostgresServer;
  db: TestDatabase;
  /** Routes new connections to that server and ends the existing ones. */
  leadTo(server: PostgresServer): void;
  /** Starts a market on a new host, unless the options name one. */
  startMarket(options?: WorldOptions): Promise<World>;
  newHost(): Promise<LogCopyPlace>;
  /** Starts a standby that has all current data. */
  startStandby(): Promise<PostgresServer>;
  stop(): Promise<void>;
}

/** `migrations` is the folder with the site's migrations. */
export async function openHistoryWorld(migrations = MIGRATIONS): Promise<HistoryWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-history-'));
  const ground = await openPostgresGround();
  const primary = await ground.startPrimary();
  await migrate(primary.url, migrations);
  const wire = await startKillPostgres(primary.url, createKillSwitch());
  const database = await openDatabase({ url: wire.url, poolSize: 4 });
  const db = { url: wire.url, database };
  const worlds: World[] = [];
  let hosts = 0;
  const newHost = async (): Promise<LogCopyPlace> => {
    hosts += 1;
    const own = join(folder, `host-${hosts}`);
    await mkdir(own);
    return { folder: own, host: systemRandom.uuid() };
  };
  return {
    primary,
    db,
    leadTo: (server) => {
      wire.leadTo(server.url);
      wire.cut();
    },
    newHost,
    startMarket: async (options = {}) => {
      const world = await startWorld({ db, logCopy: await newHost(), reconcileEveryMs: 200, ...options });
      worlds.push(world);
      return world;
    },
    startStandby: async () => {
      const standby = await primary.copyWhileRunning();
      await standby.startAsStandbyOf(primary, 'second');
      await standby.waitForReplay(primary);
      return standby;
    },
    stop: async () => {
      for (const world of worlds) await world.stop();
      await database.close();
      await wire.close();
      await ground.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const until = (met: () => Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(async () => await met().catch(() => false), { timeout: 30_000, interval: 20 });

/** Waits until the host's copy has all public events. Returns the newest event's id. */
export async function waitForCopy(world: World, { folder }: Pick<LogCopyPlace, 'folder'>): Promise<number> {
  await world.running.eventsSettled();
  const newest = ((await world.ask('GET', '/api/events')).body['events'] as { id: number }[])[0]?.id ?? 0;
  await until(async () => Number((await readLogEnd(folder))?.id ?? 0n) >= newest);
  return newest;
}

/** Moves the market to the earlier database and waits until the market notices. */
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

/** Recovers as the operator would, using all copies. */
export async function recoverHistory(
  world: World,
  { folder }: Pick<LogCopyPlace, 'folder'>,
  edit: (copied: CopiedEvent[]) => CopiedEvent[] = (copied) => copied,
): Promise<void> {
  const copied = edit(await readCopies(await filesAt([folder])));
  await recover(world.running.market, { fromBlock: 0n, reason: 'the disk failed', copied });
  await until(async () => (await world.ask('GET', '/readyz?strict')).status === 200);
}
