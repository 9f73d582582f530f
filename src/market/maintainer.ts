import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { resolveCommandDatabase } from '../platform/database/resolve-database.ts';
import type { Log } from '../platform/log.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { SECRET_PREFIX } from '../platform/secrets.ts';
import { createSequencer } from './events/sequencer.ts';
import { createMaintainer } from './identity/register.ts';
import { migrateMarket } from './prepare-database.ts';

const HELP = `Creates the maintainer, merchant 1, of the market that the environment describes. The market may be running.

  npm run maintainer -- --handle NAME --out FILE [--json]

  --handle NAME   3 to 32 of a-z, 0-9 and -, not starting with -
  --out FILE      a new file (mode 0600) for the key and the recovery codes; they are shown nowhere else
  --json          print the outcome as one JSON object
  --help          print this text

Uses the environment of the market: DATABASE_URL, or the embedded database of OPENAISLE_DATA_DIR (./data); OPENAISLE_PEPPER_FILE, or the file
pepper in the data folder; OPENAISLE_KEY_PREFIX (aisle).
`;

const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => silentLog };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      handle: { type: 'string' },
      out: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { handle, out, json, help } = values;
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  if (handle === undefined || out === undefined)
    throw new Error('--handle NAME and --out FILE are needed. --help explains them');
  const merchant = await createFromEnvironment(handle, out);
  process.stdout.write(
    json
      ? `${JSON.stringify({ status: 'created', merchant_id: merchant.merchantId, handle: merchant.handle, out })}\n`
      : `${merchant.handle} (merchant ${merchant.merchantId}) is now the maintainer. Its key and recovery codes are in ${out}: keep that file safe.\n`,
  );
}

async function createFromEnvironment(handle: string, out: string): Promise<{ merchantId: number; handle: string }> {
  const dataDir = readSetting('OPENAISLE_DATA_DIR') ?? './data';
  const keyPrefix = readSetting('OPENAISLE_KEY_PREFIX') ?? 'aisle';
  if (!SECRET_PREFIX.test(keyPrefix)) throw new Error(`OPENAISLE_KEY_PREFIX must match ${SECRET_PREFIX.source}`);
  const databaseUrl = readSetting('DATABASE_URL');
  const pepperFile = readSetting('OPENAISLE_PEPPER_FILE');
  if (databaseUrl !== null && pepperFile === null)
    throw new Error('OPENAISLE_PEPPER_FILE is needed with DATABASE_URL: set it to the pepper file of the market');
  const server = await resolveCommandDatabase(databaseUrl, dataDir);
  try {
    await migrateMarket(server.url);
    const database = await openDatabase({ url: server.url, poolSize: 2, applicationName: 'openaisle-maintainer' });
    try {
      const pepper = await loadOwnPepper({ pepperFile, dataDir });
      // sequencer.stop() numbers the event, since the market may not be running.
      const sequencer = createSequencer({ database, clock: systemClock, log: silentLog });
      const { wake: wakeEvents } = sequencer;
      const market = { database, clock: systemClock, random: systemRandom, pepper, keyPrefix, wakeEvents };
      const merchant = await createMaintainer(market, { handle, out });
      await sequencer.stop();
      return merchant;
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}

await runCommand(main);
