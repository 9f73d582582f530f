import type { Log } from '../log.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';

export interface ResolvedDatabase {
  url: string;
  /** Resolves when a database that this process runs has ended; never for any other database. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** The database that the configuration names, or one of this process's own in the data folder. */
export async function resolveDatabase(
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
  log: Log,
): Promise<ResolvedDatabase> {
  if (databaseUrl !== null) return { url: databaseUrl, ended: new Promise(() => {}), stop: async () => {} };
  const postgres = await startEmbeddedPostgres({ dataDir, log: (detail) => log.info('embedded_postgres', { detail }) });
  return { url: postgres.url, ended: postgres.exited, stop: () => postgres.stop() };
}

interface CommandDatabase {
  url: string;
  release(): Promise<void>;
}

/** For a command: the database named, or the one that the site runs, or one that runs for as long as the command does. */
export async function resolveCommandDatabase(databaseUrl: string | null, dataDir: string): Promise<CommandDatabase> {
  const url = databaseUrl ?? (await findEmbeddedPostgres(dataDir));
  if (url !== null) return { url, release: async () => {} };
  const own = await startEmbeddedPostgres({ dataDir });
  return { url: own.url, release: () => own.stop() };
}
