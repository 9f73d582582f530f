import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { visitDatabase } from '../platform/database/write-probe.ts';
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

  --handle NAME   3 to 32 of a-z, 0-9 and -, not beginning with -
  --out FILE      a new file for the key and the recovery codes (mode 0600); they are shown nowhere else
  --json          say the outcome as one JSON object
  --help          this text

Environment, as for the market itself: DATABASE_URL, or the embedded database of OPENAISLE_DATA_DIR (./data);
OPENAISLE_PEPPER_FILE, or the file pepper in the data folder; OPENAISLE_KEY_PREFIX (aisle).
`;

const silent: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => silent };

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
    throw new Error('--handle NAME and --out FILE are needed; --help tells more');
  const made = await create(handle, out);
  process.stdout.write(
    json
      ? `${JSON.stringify({ status: 'created', merchant_id: made.merchantId, handle: made.handle, out })}\n`
      : `Merchant ${made.merchantId}, ${made.handle}, is the maintainer now. Key and recovery codes are in ${out}: keep them safe.\n`,
  );
}

async function create(handle: string, out: string): Promise<{ merchantId: number; handle: string }> {
  const dataDir = readSetting('OPENAISLE_DATA_DIR') ?? './data';
  const keyPrefix = readSetting('OPENAISLE_KEY_PREFIX') ?? 'aisle';
  if (!SECRET_PREFIX.test(keyPrefix)) throw new Error(`OPENAISLE_KEY_PREFIX must match ${SECRET_PREFIX.source}`);
  const databaseUrl = readSetting('DATABASE_URL');
  const pepperFile = readSetting('OPENAISLE_PEPPER_FILE');
  if (databaseUrl !== null && pepperFile === null)
    throw new Error('OPENAISLE_PEPPER_FILE is needed with DATABASE_URL: the pepper file that the market uses');
  const server = await visitDatabase(databaseUrl, dataDir);
  try {
    await migrateMarket(server.url);
    const database = await openDatabase({ url: server.url, poolSize: 2, applicationName: 'openaisle-maintainer' });
    try {
      const pepper = await loadOwnPepper({ pepperFile, dataDir });
      // Its stop numbers the event, as the market may not be running.
      const sequencer = createSequencer({ database, clock: systemClock, log: silent });
      const { wake: wakeEvents } = sequencer;
      const market = { database, clock: systemClock, random: systemRandom, pepper, keyPrefix, wakeEvents };
      const made = await createMaintainer(market, { handle, out });
      await sequencer.stop();
      return made;
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}

await runCommand(main);
