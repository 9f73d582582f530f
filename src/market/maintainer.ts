import { parseArgs } from 'node:util';
import { REMOVAL_REASON_CODES } from '../contract/moderation.ts';
import { systemClock } from '../platform/clock.ts';
import { withDatabase } from '../platform/database/command-database.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { resolveCommandDatabase } from '../platform/database/resolve-database.ts';
import type { Log } from '../platform/log.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { printableJson } from '../platform/printable.ts';
import { systemRandom } from '../platform/random.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { SECRET_PREFIX } from '../platform/secrets.ts';
import { readMarketConfig } from './config.ts';
import { createSequencer } from './events/sequencer.ts';
import { openObjectStore } from './goods/s3-store.ts';
import { createMaintainer } from './identity/register.ts';
import { type Erased, type ErasureOptions, eraseGoods } from './moderation/erase-goods.ts';
import { MIGRATIONS, migrateMarket } from './prepare-database.ts';

const HELP = `Creates the maintainer, merchant 1, of the market that the environment describes, or erases unlawful goods. The market may be running.

  npm run maintainer -- --handle NAME --out FILE [--json]
  npm run maintainer -- erase LISTING_ID --reason CODE [--despite-payments] [--json]

  --handle NAME       3 to 32 of a-z, 0-9 and -, not starting with -
  --out FILE          a new file (mode 0600) for the key and the recovery codes; they are shown nowhere else
  erase               deletes the bytes of a listing's goods at once, in any state of the listing. This cannot be undone. It removes the listing
                      too, for good; its buyers cannot collect the goods any more. Title, commitment, size and purchases stay, and the public
                      log says that the goods were erased, and why. Backups still hold them: see docs/operate-goods.md
  --reason CODE       ${REMOVAL_REASON_CODES.join(', ')}
  --despite-payments  erases while payments for the goods are undecided: their buyers may have paid, and get nothing
  --json              print the outcome as one JSON object
  --help              print this text

Uses the environment of the market: DATABASE_URL, or the embedded database of OPENAISLE_DATA_DIR (./data); OPENAISLE_PEPPER_FILE, or the file
pepper in the data folder; OPENAISLE_KEY_PREFIX (aisle). If the market has a database role of its own, erase needs the owner's DATABASE_URL.
`;

const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => silentLog };

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      reason: { type: 'string' },
      'despite-payments': { type: 'boolean', default: false },
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
  const [act, id, ...more] = positionals;
  if (act !== undefined) {
    if (act !== 'erase' || more.length > 0) throw new Error('the only command is erase LISTING_ID. --help explains it');
    const erased = await eraseFromEnvironment(readErasure(id, values.reason, values['despite-payments']));
    process.stdout.write(json ? `${printableJson(erased)}\n` : describeErasure(erased));
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

function readErasure(id: string | undefined, reason: string | undefined, despitePayments: boolean): ErasureOptions {
  if (id === undefined || !/^[1-9]\d{0,14}$/.test(id)) throw new Error('erase needs the id of a listing');
  const reasonCode = REMOVAL_REASON_CODES.find((code) => code === reason);
  if (reasonCode === undefined) throw new Error(`--reason must be one of ${REMOVAL_REASON_CODES.join(', ')}`);
  return { listingId: BigInt(id), reasonCode, despitePayments };
}

async function eraseFromEnvironment(options: ErasureOptions): Promise<Erased> {
  const config = readMarketConfig(process.env);
  const place = { config, site: 'market', migrations: MIGRATIONS, applicationName: 'openaisle-maintainer' } as const;
  return await withDatabase(place, async (database) => {
    const sequencer = createSequencer({ database, clock: systemClock, log: silentLog });
    const { wake: wakeEvents } = sequencer;
    const parts = { clock: systemClock, random: systemRandom, log: silentLog };
    const objectStore = config.s3 === null ? null : await openObjectStore(config.s3, parts);
    try {
      const erased = await eraseGoods({ ...parts, database, wakeEvents, objectStore }, options);
      await sequencer.stop();
      return erased;
    } finally {
      objectStore?.close();
    }
  });
}

function describeErasure(erased: Erased): string {
  const { listing_id: id, purchases, undecided_payments: undecided, objects_left: left } = erased;
  if (erased.status === 'erased_before')
    return `The goods of listing ${id} were erased before: ${erased.reason_code}.\n`;
  return [
    `The goods of listing ${id} are erased: ${erased.artifact_bytes} bytes, commitment ${erased.artifact_commitment}.`,
    ...(erased.removed ? ['The listing was removed with them.'] : []),
    ...(purchases > 0 ? [`Buyers of ${purchases} purchases cannot collect them any more.`] : []),
    ...(undecided.length > 0 ? [`Undecided payments that may complete without goods: ${undecided.join(', ')}.`] : []),
    ...(left > 0 ? [`${left} objects are left in the S3 store: the running market deletes them within an hour.`] : []),
    'Backups and copies of the database still hold them.\n',
  ].join('\n');
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
