import { CommandRefused } from '../run-command.ts';
import type { Database } from './database.ts';
import { migrationsComplete } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { resolveCommandDatabase } from './resolve-database.ts';

export interface CommandDatabase {
  config: { databaseUrl: string | null; dataDir: string };
  site: 'market' | 'city';
  migrations: string;
  applicationName: string;
}

/** Runs an operator's command on the database of a site. Rejects a database at another schema version. */
export async function withDatabase<T>(
  { config, site, migrations, applicationName }: CommandDatabase,
  act: (database: Database) => Promise<T>,
): Promise<T> {
  const server = await resolveCommandDatabase(config.databaseUrl, config.dataDir);
  try {
    const database = await openDatabase({ url: server.url, poolSize: 2, applicationName });
    try {
      if (await migrationsComplete(database, migrations)) return await act(database);
      throw new CommandRefused(
        `This database has tables of another version. Start the ${site} once to migrate it, or use the matching version`,
      );
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}
