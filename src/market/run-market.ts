import { fileURLToPath } from 'node:url';
import { systemClock } from '../platform/clock.ts';
import { migrate } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import type { Log } from '../platform/log.ts';
import { systemRandom } from '../platform/random.ts';
import type { CrashPoint, MarketConfig } from './context.ts';
import { createMarket } from './create-market.ts';
import { loadMarketPepper } from './identity/pepper.ts';
import { reachDatabase } from './reach-database.ts';

export interface RunMarketOptions {
  config: MarketConfig;
  log: Log;
  crashPoint?: (name: CrashPoint) => void;
}

export interface MarketRun {
  url: string;
  port: number;
  /** Resolves when the embedded database has ended, by `steps` or by itself. */
  databaseEnded: Promise<void>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  /** What is left to close afterwards, in this order. */
  steps: readonly { name: string; close(): Promise<void> }[];
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

/** Database, migrations, pepper, market; the port opens last, when everything behind it is ready. Leaves nothing behind when it fails. */
export async function runMarket({ config, log, crashPoint }: RunMarketOptions): Promise<MarketRun> {
  await using begun = new AsyncDisposableStack();
  const server = await reachDatabase(config, log);
  begun.defer(() => server.stop());
  for (const name of await migrate(server.url, MIGRATIONS)) log.info('migrated', { migration: name });
  const database = await openDatabase({ url: server.url, applicationName: 'openaisle-market' });
  begun.defer(() => database.close());
  const pepper = await loadMarketPepper(config);
  const running = createMarket({
    config,
    database,
    clock: systemClock,
    random: systemRandom,
    log,
    pepper,
    ...(crashPoint === undefined ? {} : { crashPoint }),
  });
  // Also after a start that failed half-way: its passes would go on asking a database that is closed.
  begun.defer(() => running.stop({ drainMs: 0 }));
  const { url, port } = await running.start();
  begun.move();
  return {
    url,
    port,
    databaseEnded: server.ended,
    stopServing: (options) => running.stop(options),
    steps: [
      { name: 'database', close: () => database.close() },
      { name: 'postgres', close: () => server.stop() },
    ],
  };
}
