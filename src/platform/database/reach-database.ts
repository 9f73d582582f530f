import type { Log } from '../log.ts';
import { startEmbeddedPostgres } from './embedded.ts';

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
