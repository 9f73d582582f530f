import type { Log } from '../log.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';

export interface ReachedDatabase {
  url: string;
  /** Resolves when a database that this process runs has ended; never for any other database. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** The database that the configuration names, or one of this process's own in the data folder. */
export async function reachDatabase(
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
  log: Log,
): Promise<ReachedDatabase> {
  if (databaseUrl !== null) return { url: databaseUrl, ended: new Promise(() => {}), stop: async () => {} };
  const postgres = await startEmbeddedPostgres({ dataDir, log: (detail) => log.info('embedded_postgres', { detail }) });
  return { url: postgres.url, ended: postgres.exited, stop: () => postgres.stop() };
}

interface VisitedDatabase {
  url: string;
  release(): Promise<void>;
}

/** For a command: the database named, or the one that the site runs, or one that runs for as long as the command does. */
export async function visitDatabase(databaseUrl: string | null, dataDir: string): Promise<VisitedDatabase> {
  const url = databaseUrl ?? (await findEmbeddedPostgres(dataDir));
  if (url !== null) return { url, release: async () => {} };
  const own = await startEmbeddedPostgres({ dataDir });
  return { url: own.url, release: () => own.stop() };
}
