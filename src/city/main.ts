import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import { readConnectionRoom, shareBudget } from '../platform/database/connection.ts';
import { migrate, migrationsComplete } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { resolveCommandDatabase, resolveDatabase } from '../platform/database/resolve-database.ts';
import { createLog, type Log } from '../platform/log.ts';
import { filesAt, readCopies } from '../platform/log-copy/log-copy.ts';
import { logCopyFolder, openLogCopyPlace } from '../platform/log-copy/place.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { printableJson } from '../platform/printable.ts';
import { systemRandom } from '../platform/random.ts';
import { CommandRefused, runCommand } from '../platform/run-command.ts';
import { deferSignals, handleShutdown, undoOnFailure } from '../platform/shutdown.ts';
import { MIGRATIONS, readCityConfig } from './config.ts';
import type { CityConfig } from './context.ts';
import { createCity } from './create-city.ts';
import { type Recovered, recover } from './recovery/recover.ts';

const HELP = `What only the operator of a city may do. The city may be running; it takes the act in without a restart.

  npm run city -- recover --reason TEXT [--log-copy PATH... | --without-log-copy] [--as-it-stands] [--json]

  recover           after a restore or a failover that took something back: puts back what the copies tell of, gives no id out again
                    that may have been shown, and opens the city. Read docs/recovery.md
  --log-copy PATH   a file, or the folder, of a host's copy of the log; of every host that has one. Default: this host's own
  --without-log-copy there is none left: nothing is put back
  --as-it-stands    puts nothing back, though there are copies: the books are taken as they stand
  --reason TEXT     why, 1 to 1000 characters; kept for ever
  --json            say the outcome as one JSON object
  --help            this text

Environment, as for the city itself.
`;

/** `npm run city` with arguments. */
async function runCityCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      reason: { type: 'string', default: '' },
      'log-copy': { type: 'string', multiple: true, default: [] },
      'without-log-copy': { type: 'boolean', default: false },
      'as-it-stands': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (positionals.join(' ') !== 'recover') throw new CommandRefused('recover is the only command; --help tells more');
  const reason = values.reason.trim();
  if (reason === '' || reason.length > 1_000) throw new CommandRefused('--reason TEXT is needed, 1 to 1000 characters');
  const [paths, isBlind] = [values['log-copy'], values['without-log-copy']];
  if (isBlind && paths.length > 0) throw new CommandRefused('--log-copy and --without-log-copy contradict each other');
  const config = readCityConfig(process.env);
  const own = [logCopyFolder(config)];
  const copied = isBlind ? null : await readCopies(await filesAt(paths.length > 0 ? paths : own));
  const outcome = await recoverAt(config, { reason, copied, asItStands: values['as-it-stands'] || isBlind });
  process.stdout.write(values.json ? `${printableJson(outcome)}\n` : inWords(outcome));
}

async function recoverAt(config: CityConfig, options: Parameters<typeof recover>[1]): Promise<Recovered> {
  const server = await resolveCommandDatabase(config.databaseUrl, config.dataDir);
  try {
    const database = await openDatabase({ url: server.url, poolSize: 2, applicationName: 'openaisle-city-command' });
    try {
      if (!(await migrationsComplete(database, MIGRATIONS))) {
        throw new CommandRefused(
          'the tables of this database are of another version: start the city once, or use its version',
        );
      }
      const hide = [config.databaseUrl, ...config.rpcUrls].filter((secret) => secret !== null);
      return await recover({ database, clock: systemClock, log: createLog({ hide, stream: process.stderr }) }, options);
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}

function inWords({ kept_event_id: kept, next_event_id: next, acts, handles_held: held }: Recovered): string {
  return [
    `Recovered. The log was kept up to event ${kept} and goes on with event ${next}.`,
    `Acts that were lost, as far as the copies tell: ${acts.lost}; put back: ${acts.put_back}; handles held: ${held}.\n`,
  ].join('\n');
}

const DRAIN_MS = 20_000;

async function main(): Promise<void> {
  const config = readCityConfig(process.env);
  const log = createLog({ hide: secretsOf(config), fields: ['offer_id', 'thing_id', 'code'] });
  const signals = deferSignals();
  const city = await serveCity(config, log).catch((error: unknown) => {
    log.error('city_not_started', { error });
    process.exit(1);
  });
  const shutdown = handleShutdown({
    process,
    clock: systemClock,
    log,
    drainMs: DRAIN_MS,
    closeServer: (options) => city.stopServing(options),
    steps: city.steps,
  });
  const early = signals.release();
  if (early !== null) process.exit(await shutdown.stop(early));
  void city.databaseEnded.then(() => {
    if (shutdown.isStopping()) return;
    log.error('database_ended', { detail: 'the embedded PostgreSQL ended by itself; the city cannot go on' });
    process.exit(1);
  });
}

/** An address may carry a password or a provider's key. */
function secretsOf({ databaseUrl, rpcUrls }: CityConfig): string[] {
  return [databaseUrl, ...rpcUrls].filter((secret) => secret !== null);
}

const args = process.argv.slice(2);
if (args.length > 0) await runCommand(() => runCityCommand(args));
else {
  await main().catch((error: unknown) => {
    // A fault of the configuration names the variables and never a value; its stack would only be in the way.
    console.error(error instanceof ConfigError ? error.message : error);
    process.exitCode = 1;
  });
}

/** A city that runs. */
interface ServedCity {
  /** Resolves when the embedded database has ended, by `steps` or by itself. */
  databaseEnded: Promise<void>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  /** What is left to close afterwards, in this order. */
  steps: readonly { name: string; close(): Promise<void> }[];
}

/** Database, tables, pepper, and then the city. The port opens last, when everything behind it is ready. Leaves nothing behind when it fails. */
function serveCity(config: CityConfig, log: Log): Promise<ServedCity> {
  return undoOnFailure(async (begun) => {
    const server = await resolveDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrate(server.url, MIGRATIONS, ({ migration, step, rows }) =>
      log.info('migrating', { migration, step, count: rows }),
    );
    for (const name of applied) log.info('migrated', { migration: name });
    const poolSize = await sizePool(config, server.url);
    const database = await openDatabase({ url: server.url, applicationName: 'openaisle-city', log, ...poolSize });
    begun.defer(() => database.close());
    const pepper = await loadOwnPepper(config);
    const options = { random: systemRandom, log, variable: 'CITY_LOG_COPY_DIR' };
    const logCopy = await openLogCopyPlace(config, options);
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
