import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { TestDatabase } from './database.ts';
import { createKillSwitch, startKillPostgres } from './kill-postgres.ts';
import { startWorld, type World, type WorldOptions } from './market-world.ts';
import { openPostgresGround, type PostgresServer } from './standby-postgres.ts';

/** A market on a PostgreSQL of its own behind one address, so that another server can take its place with less in it. */
export interface HistoryWorld {
  primary: PostgresServer;
  db: TestDatabase;
  /** Connections lead to that server from now on; those that there are end. */
  leadTo(server: PostgresServer): void;
  /** Of a host of its own each time, unless one is handed in. */
  startMarket(options?: WorldOptions): Promise<World>;
  newHost(): Promise<LogCopyPlace>;
  /** A standby that has all there is. */
  startStandby(): Promise<PostgresServer>;
  stop(): Promise<void>;
}

/** `migrations`: of the site that it is for. */
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
