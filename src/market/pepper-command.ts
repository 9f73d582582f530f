import { parseArgs } from 'node:util';
import { systemClock } from '../platform/clock.ts';
import { withDatabase } from '../platform/database/command-database.ts';
import { initPepper, loadPepper, pepperFileOf } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { addPepper, type PepperStatus, readPepperStatus } from './identity/secrets.ts';
import { MIGRATIONS } from './prepare-database.ts';

const HELP = `Shows and changes the pepper that protects stored keys and codes. The market may be running.

  npm run pepper -- init [--json]
  npm run pepper -- status [--json]
  npm run pepper -- add [--json]

  init     makes the pepper file of a new market, mode 0600. An existing file is left as it is, with exit code 1. Keep a copy of the file apart
           from database backups: keys made under one pepper do not work under another
  status   lists the versions in the pepper file, how many valid keys and recovery codes use each, and which may be removed
  add      adds a new version to the file. Then copy the file to every machine, and only after that restart all processes of the market:
           a process without the new version refuses keys that were used on one that has it
  --json   print the outcome as one JSON object
  --help   print this text

A key moves to the newest version when it is used. A recovery code cannot move; it goes when its owner replaces the set. When no key or code
uses a version any more, you may remove it from the file by hand. Peppers are never shown.

Uses the environment of the market: OPENAISLE_PEPPER_FILE, or the file pepper in OPENAISLE_DATA_DIR (./data); for status also DATABASE_URL, or
the embedded database of the data folder. For a city, set OPENAISLE_PEPPER_FILE to the value of CITY_PEPPER_FILE; only init and add work there.
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
    throw new Error('name one command: init, status or add. --help explains them');
  const place = readPlace();
  process.stdout.write(await COMMANDS[act](place, values.json));
}

function readPlace(): Place {
  const [databaseUrl, pepperFile] = [readSetting('DATABASE_URL'), readSetting('OPENAISLE_PEPPER_FILE')];
  if (databaseUrl !== null && pepperFile === null)
    throw new Error(
      'OPENAISLE_PEPPER_FILE is needed with DATABASE_URL: set it to the market’s pepper file, or to the file that init makes',
    );
  const dataDir = readSetting('OPENAISLE_DATA_DIR') ?? './data';
  return { file: pepperFileOf({ pepperFile, dataDir }), databaseUrl, dataDir };
}

async function initFile({ file }: Place, json: boolean): Promise<string> {
  if (!(await initPepper(file, systemRandom)))
    throw new Error(
      `${file} exists already and was not changed. "npm run pepper -- status" shows it, "add" adds a version`,
    );
  if (json) return `${JSON.stringify({ status: 'made', version: 1, file })}\n`;
  return [
    `${file} holds a new pepper, version 1, and has mode 0600. Name it in OPENAISLE_PEPPER_FILE for every process of the market.`,
    'Keep a copy of it apart from database backups: without it no key works.',
    '',
  ].join('\n');
}

async function addVersion({ file }: Place, json: boolean): Promise<string> {
  const version = await addPepper(file, systemRandom);
  if (json) return `${JSON.stringify({ status: 'added', version, file })}\n`;
  return [
    `${file} has a new pepper, version ${version}. Running processes do not use it yet.`,
    'First copy this file to every machine of the market, then restart all its processes.',
    'Keys move to it when they are used, recovery codes when their owners replace them. Keep older versions until status says may_go.',
    '',
  ].join('\n');
}

async function showStatus({ file, databaseUrl, dataDir }: Place, json: boolean): Promise<string> {
  const pepper = await loadPepper({ file, createIfMissing: false });
  const place = { config: { databaseUrl, dataDir }, site: 'market', migrations: MIGRATIONS } as const;
  return await withDatabase({ ...place, applicationName: 'openaisle-pepper' }, async (database) => {
    const versions = await readPepperStatus({ database, clock: systemClock, pepper });
    return json ? `${JSON.stringify({ status: 'read', file, versions })}\n` : describeStatus(file, versions);
  });
}

function describeStatus(file: string, versions: readonly PepperStatus[]): string {
  const rows = versions.map(
    ({ version, keys, codes, open, standing }) =>
      `version ${version}: ${keys} keys, ${codes} recovery codes, ${open} open stages and pairing codes: ${standing}`,
  );
  return `${[file, ...rows].join('\n')}\n`;
}

const COMMANDS = { init: initFile, add: addVersion, status: showStatus };

await runCommand(main);
