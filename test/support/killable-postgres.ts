import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { TestDatabase } from './database.ts';
import { createKillSwitch, startKillPostgres } from './kill-postgres.ts';
import { killServer } from './run-postgres.ts';

export interface KillablePostgres extends TestDatabase {
  /** Kills the server and its child processes with SIGKILL and restarts it on the same data and address. */
  killAndRestart(): Promise<void>;
  drop(): Promise<void>;
}

/** Starts a server with the market's own durability settings, so it may lose nothing that it acknowledged. */
export async function startKillablePostgres(): Promise<KillablePostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-killable-'));
  let postgres = await startEmbeddedPostgres({ dataDir });
  await migrate(postgres.url, MIGRATIONS);
  const wire = await startKillPostgres(postgres.url, createKillSwitch());
  const database = await openDatabase({ url: wire.url });
  return {
    url: wire.url,
    database,
    killAndRestart: async () => {
      await killServer(join(dataDir, 'postgres', 'cluster'));
      await postgres.exited;
      await postgres.stop();
      postgres = await startEmbeddedPostgres({ dataDir });
      wire.leadTo(postgres.url);
    },
    drop: async () => {
      await database.close();
      await wire.close();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
