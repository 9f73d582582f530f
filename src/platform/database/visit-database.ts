import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';

export interface VisitedDatabase {
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
