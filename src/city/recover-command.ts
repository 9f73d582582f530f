import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { createLog } from '../platform/create-log.ts';
import { migrationsComplete } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { visitDatabase } from '../platform/database/visit-database.ts';
import { filesAt, readCopies } from '../platform/log-copy/log-copy.ts';
import { logCopyFolder } from '../platform/log-copy/place.ts';
import { CommandRefused } from '../platform/run-command.ts';
import { readCityConfig } from './config.ts';
import type { CityConfig } from './context.ts';
import { MIGRATIONS } from './migrations.ts';
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
export async function runCityCommand(args: readonly string[]): Promise<void> {
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
  process.stdout.write(values.json ? `${JSON.stringify(outcome)}\n` : inWords(outcome));
}

async function recoverAt(config: CityConfig, options: Parameters<typeof recover>[1]): Promise<Recovered> {
  const server = await visitDatabase(config.databaseUrl, config.dataDir);
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
