import type { Log } from '../log.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';

export interface ResolvedDatabase {
  url: string;
  /** Resolves when the embedded server has exited. Never resolves for an external database. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** Returns the configured database. If there is none, starts an embedded one in the data folder. */
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

/** Returns the configured database for a command, or the one that the running site embeds. Otherwise starts one until `release`. */
export async function resolveCommandDatabase(databaseUrl: string | null, dataDir: string): Promise<CommandDatabase> {
  const url = databaseUrl ?? (await findEmbeddedPostgres(dataDir));
  if (url !== null) return { url, release: async () => {} };
  const own = await startEmbeddedPostgres({ dataDir });
  return { url: own.url, release: () => own.stop() };
}
