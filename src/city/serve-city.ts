import { systemClock } from '../platform/clock.ts';
import { readConnectionRoom } from '../platform/database/connection-room.ts';
import { migrate } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { reachDatabase } from '../platform/database/reach-database.ts';
import { shareBudget } from '../platform/database/share-budget.ts';
import type { Log } from '../platform/log.ts';
import { openLogCopyPlace } from '../platform/log-copy/place.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { undoOnFailure } from '../platform/undo-on-failure.ts';
import type { CityConfig } from './context.ts';
import { createCity } from './create-city.ts';
import { MIGRATIONS } from './migrations.ts';

/** A city that runs. */
export interface ServedCity {
  /** Resolves when the embedded database has ended, by `steps` or by itself. */
  databaseEnded: Promise<void>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  /** What is left to close afterwards, in this order. */
  steps: readonly { name: string; close(): Promise<void> }[];
}

/** Database, tables, pepper, and then the city. The port opens last, when everything behind it is ready. Leaves nothing behind when it fails. */
export function serveCity(config: CityConfig, log: Log): Promise<ServedCity> {
  return undoOnFailure(async (begun) => {
    const server = await reachDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrate(server.url, MIGRATIONS, ({ migration, step, rows }) =>
      log.info('migrating', { migration, step, count: rows }),
    );
    for (const name of applied) log.info('migrated', { migration: name });
    const poolSize = await sizePool(config, server.url);
    const database = await openDatabase({ url: server.url, applicationName: 'openaisle-city', ...poolSize });
    begun.defer(() => database.close());
    const pepper = await loadOwnPepper(config);
    const needs = { random: systemRandom, log, variable: 'CITY_LOG_COPY_DIR' };
    const logCopy = await openLogCopyPlace(config, needs);
    const running = createCity({ config, database, clock: systemClock, random: systemRandom, log, pepper, logCopy });
    // Also after a start that failed half-way: its passes would go on asking a database that is closed.
    begun.defer(() => running.stop({ drainMs: 0 }));
    const { url, port } = await running.start();
    log.info('city_listening', { url, port, network: config.network.name });
    return {
      databaseEnded: server.ended,
      stopServing: (how) => running.stop(how),
      steps: [
        { name: 'database', close: () => database.close() },
        { name: 'postgres', close: () => server.stop() },
      ],
    };
  });
}

/** Of a budget, as large as it allows for one process. */
async function sizePool({ databaseConnections }: CityConfig, url: string): Promise<{ poolSize?: number }> {
  if (databaseConnections === null) return {};
  const named = { variable: 'CITY_DATABASE_CONNECTIONS', forWhat: 'for a city' };
  const room = await readConnectionRoom(url);
  return { poolSize: shareBudget({ ...named, connections: databaseConnections, processes: 1 }, room) };
}
