import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import { withDatabase } from '../platform/database/command-database.ts';
import { readConnectionRoom, shareBudget } from '../platform/database/connection.ts';
import { logProgress, migrate } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { resolveDatabase } from '../platform/database/resolve-database.ts';
import { createLog, type Log } from '../platform/log.ts';
import { filesAt, readCopies } from '../platform/log-copy/log-copy.ts';
import { logCopyFolder, openLogCopyPlace } from '../platform/log-copy/place.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { printableJson } from '../platform/printable.ts';
import { systemRandom } from '../platform/random.ts';
import { CommandRefused, runCommand } from '../platform/run-command.ts';
import { runInForeground, type ServerRun, undoOnFailure } from '../platform/shutdown.ts';
import { MIGRATIONS, readCityConfig } from './config.ts';
import type { CityConfig } from './context.ts';
import { createCity } from './create-city.ts';
import { type Recovered, recover } from './recovery/recover.ts';

const HELP = `Commands for the operator of a city. A running city picks up the change without a restart.

  npm run city -- recover --reason TEXT [--log-copy PATH... | --without-log-copy] [--as-it-stands] [--json]

  recover           after a restore or a failover that lost something: puts back the acts in the copies, never reuses an id that
                    may have been shown, and opens the city. Read docs/recovery.md
  --log-copy PATH   file or folder with a host's copy of the log; give one for each host. Default: this host's own
  --without-log-copy no copy is left: puts nothing back
  --as-it-stands    puts nothing back although copies exist: takes the database as it is
  --reason TEXT     the reason, 1 to 1000 characters; kept for ever
  --json            prints the outcome as one JSON object
  --help            this text

Uses the same environment variables as the city.
`;

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
  if (positionals.join(' ') !== 'recover') throw new CommandRefused('The only command is recover; see --help');
  const reason = values.reason.trim();
  if (reason === '' || reason.length > 1_000) throw new CommandRefused('Give --reason TEXT, 1 to 1000 characters');
  const [paths, isBlind] = [values['log-copy'], values['without-log-copy']];
  if (isBlind && paths.length > 0) throw new CommandRefused('Give either --log-copy or --without-log-copy, not both');
  const config = readCityConfig(process.env);
  const copied = isBlind ? null : await readCopies(await filesAt(paths.length > 0 ? paths : [logCopyFolder(config)]));
  const outcome = await recoverAt(config, { reason, copied, asItStands: values['as-it-stands'] || isBlind });
  process.stdout.write(values.json ? `${printableJson(outcome)}\n` : describeRecovery(outcome));
}

async function recoverAt(config: CityConfig, options: Parameters<typeof recover>[1]): Promise<Recovered> {
  const place = { config, site: 'city', migrations: MIGRATIONS, applicationName: 'openaisle-city-command' } as const;
  return await withDatabase(place, (database) => {
    const log = createLog({ hide: secretsOf(config), stream: process.stderr });
    return recover({ database, clock: systemClock, log }, options);
  });
}

function describeRecovery({ kept_event_id: kept, next_event_id: next, acts, handles_held: held }: Recovered): string {
  return [
    `Recovered. The log was kept up to event ${kept} and continues with event ${next}.`,
    `Acts lost, according to the copies: ${acts.lost}; put back: ${acts.put_back}; handles held: ${held}.\n`,
  ].join('\n');
}

const DRAIN_MS = 20_000;

async function main(): Promise<void> {
  const config = readCityConfig(process.env);
  const log = createLog({ hide: secretsOf(config), fields: ['offer_id', 'thing_id', 'code'] });
  await runInForeground(() => serveCity(config, log), { site: 'city', log, drainMs: DRAIN_MS });
}

/** Lists URLs to hide in logs, because they may contain a password or a provider's key. */
function secretsOf({ databaseUrl, rpcUrls }: CityConfig): string[] {
  return [databaseUrl, ...rpcUrls].filter((secret) => secret !== null);
}

const args = process.argv.slice(2);
if (args.length > 0) await runCommand(() => runCityCommand(args));
else {
  await main().catch((error: unknown) => {
    // A configuration error names the variables without their values. Its stack would only distract.
    console.error(error instanceof ConfigError ? error.message : error);
    process.exitCode = 1;
  });
}

/** Starts database, tables, pepper and city in this order. The port opens last. Undoes everything if a step fails. */
function serveCity(config: CityConfig, log: Log): Promise<ServerRun> {
  return undoOnFailure(async (begun) => {
    const server = await resolveDatabase(config, log);
    begun.defer(() => server.stop());
    const applied = await migrate(server.url, MIGRATIONS, logProgress(log));
    for (const name of applied) log.info('migrated', { migration: name });
    const poolSize = await sizePool(config, server.url);
    const database = await openDatabase({ url: server.url, applicationName: 'openaisle-city', log, ...poolSize });
    begun.defer(() => database.close());
    const pepper = await loadOwnPepper(config);
    const logCopy = await openLogCopyPlace(config, { random: systemRandom, log, variable: 'CITY_LOG_COPY_DIR' });
    const running = createCity({ config, database, clock: systemClock, random: systemRandom, log, pepper, logCopy });
    // Needed after a failed start too, because background jobs would keep querying a closed database.
    begun.defer(() => running.stop({ drainMs: 0 }));
    const { url, port } = await running.start();
    log.info('city_listening', { url, port, network: config.network.name });
    return {
      databaseEnded: server.ended,
      stopServing: (options) => running.stop(options),
      steps: [
        { name: 'database', close: () => database.close() },
        { name: 'postgres', close: () => server.stop() },
      ],
    };
  });
}

/** Returns the largest pool that the connection budget allows for one process. */
async function sizePool({ databaseConnections }: CityConfig, url: string): Promise<{ poolSize?: number }> {
  if (databaseConnections === null) return {};
  const budget = { variable: 'CITY_DATABASE_CONNECTIONS', forWhat: 'for a city', processes: 1 };
  return { poolSize: shareBudget({ ...budget, connections: databaseConnections }, await readConnectionRoom(url)) };
}
