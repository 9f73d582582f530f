import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { migrationsComplete } from '../platform/database/migrate.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { visitDatabase } from '../platform/database/write-probe.ts';
import { initPepper, loadPepper, pepperFileOf } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { addPepper, type PepperStatus, readPepperStatus } from './identity/secrets.ts';
import { MIGRATIONS } from './prepare-database.ts';

const HELP = `Shows and changes the pepper under which keys and codes are stored. The market may be running.

  npm run pepper -- init [--json]
  npm run pepper -- status [--json]
  npm run pepper -- add [--json]

  init     makes the pepper file of a new market, mode 0600; a file that is there is left as it is, and that is exit code 1. Keep a copy of it apart
           from the copies of the database: keys that were given out under one pepper open nothing under another
  status   which versions the pepper file has, how many keys and recovery codes in force hang on each, and which may go
  add      puts a new version behind the others in the file. Afterwards bring the file to every machine, and only then restart all processes
           of the market: one that has not got the new version refuses the keys that were used on one that has
  --json   say the outcome as one JSON object
  --help   this text

A key moves to the newest pepper when it is used. A recovery code cannot move: it does when its set is replaced, by its owner. A version on
which nothing hangs any more may be taken out of the file by hand. Peppers are never shown.

Environment, as for the market itself: OPENAISLE_PEPPER_FILE, or the file pepper in OPENAISLE_DATA_DIR (./data); for status also DATABASE_URL,
or the embedded database of the data folder. For a city, OPENAISLE_PEPPER_FILE is what CITY_PEPPER_FILE names; only init and add are for it.
`;

interface Place {
  file: string;
  databaseUrl: string | null;
  dataDir: string;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const act = positionals.join(' ');
  if (act !== 'init' && act !== 'status' && act !== 'add')
    throw new Error('one of init, status and add is needed; --help tells more');
  const place = readPlace();
  const said = await { init, add, status }[act](place, values.json);
  process.stdout.write(said);
}

function readPlace(): Place {
  const [databaseUrl, pepperFile] = [readSetting('DATABASE_URL'), readSetting('OPENAISLE_PEPPER_FILE')];
  if (databaseUrl !== null && pepperFile === null)
    throw new Error(
      'OPENAISLE_PEPPER_FILE is needed with DATABASE_URL: the pepper file that the market uses, or that init makes',
    );
  const dataDir = readSetting('OPENAISLE_DATA_DIR') ?? './data';
  return { file: pepperFileOf({ pepperFile, dataDir }), databaseUrl, dataDir };
}

async function init({ file }: Place, json: boolean): Promise<string> {
  if (!(await initPepper(file, systemRandom)))
    throw new Error(
      `${file} is there already, and is left as it is: npm run pepper -- status shows it, add puts a version behind it`,
    );
  if (json) return `${JSON.stringify({ status: 'made', version: 1, file })}\n`;
  return [
    `${file} holds a new pepper, version 1, and has mode 0600. Name it in OPENAISLE_PEPPER_FILE for every process of the market.`,
    'Keep a copy of it apart from the copies of the database: without it no key opens anything.',
    '',
  ].join('\n');
}

async function add({ file }: Place, json: boolean): Promise<string> {
  const version = await addPepper(file, systemRandom);
  if (json) return `${JSON.stringify({ status: 'added', version, file })}\n`;
  return [
    `${file} has a new pepper, version ${version}. The running processes do not know it yet.`,
    'Bring this file to every machine of the market first, then restart all its processes.',
    'Keys move to it when they are used; recovery codes when their owners replace them: keep the older versions until status says may_go.',
    '',
  ].join('\n');
}

async function status({ file, databaseUrl, dataDir }: Place, json: boolean): Promise<string> {
  const pepper = await loadPepper({ file, createIfMissing: false });
  const server = await visitDatabase(databaseUrl, dataDir);
  try {
    const database = await openDatabase({ url: server.url, poolSize: 1, applicationName: 'openaisle-pepper' });
    try {
      if (!(await migrationsComplete(database, MIGRATIONS)))
        throw new Error(
          'the tables of this database are of another version: start the market once, or use its version',
        );
      const versions = await readPepperStatus({ database, clock: systemClock, pepper });
      return json ? `${JSON.stringify({ status: 'read', file, versions })}\n` : inWords(file, versions);
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}

function inWords(file: string, versions: readonly PepperStatus[]): string {
  const rows = versions.map(
    ({ version, keys, codes, open, standing }) =>
      `version ${version}: ${keys} keys, ${codes} recovery codes, ${open} open stages and pairing codes: ${standing}`,
  );
  return `${[file, ...rows].join('\n')}\n`;
}

await runCommand(main);
