import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Progress } from '../platform/database/migrate.ts';
import { type CheckedMigration, checkMigrations, worstOf } from '../platform/database/migrations/check-migrations.ts';
import type { Verdict } from '../platform/database/migrations/judge-statement.ts';
import { splitStatements } from '../platform/database/migrations/migration-files.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { visitDatabase } from '../platform/database/write-probe.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { MIGRATIONS, migrateMarket } from './prepare-database.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url));
/** The name that the script gives the role. */
const NAMED = /\bopenaisle_app\b/g;

/**
 * The statements that give a role what the market needs of the tables. What the script takes away first is left out: the version before may
 * be running under this role, and need it.
 */
async function readAppRights(role: string): Promise<string[]> {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  const statements = splitStatements(await readFile(SCRIPT, 'utf8'));
  return statements.filter((one) => /^grant /i.test(one)).map((one) => one.replaceAll(NAMED, () => quoted));
}

const HELP = `Brings the tables of the market up to this version. A start of the market does the same by itself, under a role that may.

  npm run migrate [-- --app-role NAME] [--json]
  npm run migrate -- --check [--json]

  --check          changes nothing: says which migrations are pending, what they do to tables that are there and how large these are, and
                   whether the version before may go on writing meanwhile, and start again
  --app-role NAME  gives the role that the market runs under its rights to what is new (deploy/app-role.sql), and takes none away
  --json           say the outcome as one JSON object
  --help           this text

The market of the version before may be running: fills go in batches, indexes are made while their tables are written to, and what
was cut off goes on at the next call.

Exit code of --check: 0 nothing is pending; 1 something is, and all of it only adds; 3 something is to be read by a person, such as a trigger
that acts on what the version before writes; 4 something would stop or break the version before: stop the market first. 2: the check itself failed.

Environment, as for the market itself: DATABASE_URL (of the owner of the tables), or the embedded database of OPENAISLE_DATA_DIR (./data).
How to upgrade and how to go back: docs/upgrade.md.
`;

const EXIT_CODES: Readonly<Record<Verdict, number>> = { additive: 1, look: 3, refused: 4 };
const CHECK_FAILED = 2;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      'app-role': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const role = values['app-role'] ?? null;
  if (values.check && role !== null) throw new Error('--check changes nothing: leave --app-role out');
  const server = await visitDatabase(readSetting('DATABASE_URL'), readSetting('OPENAISLE_DATA_DIR') ?? './data');
  try {
    process.stdout.write(
      values.check ? await check(server.url, values.json) : await apply(server.url, role, values.json),
    );
  } finally {
    await server.release();
  }
}

async function apply(url: string, role: string | null, json: boolean): Promise<string> {
  const rights = role === null ? [] : await readAppRights(role);
  const onProgress = (progress: Progress): void => void process.stderr.write(`${progressInWords(progress)}\n`);
  const applied = await migrateMarket(url, onProgress, rights);
  if (json) return `${JSON.stringify({ status: 'migrated', applied, app_role: role })}\n`;
  const lines = applied.length === 0 ? ['nothing is pending'] : applied.map((name) => `applied ${name}`);
  if (role !== null) lines.push(`the role ${role} has its rights`);
  return `${lines.join('\n')}\n`;
}

function progressInWords({ migration, step, rows, done }: Progress): string {
  return `${migration}, ${step}: ${rows} ${done ? 'done' : 'so far'}`;
}

async function check(url: string, json: boolean): Promise<string> {
  const database = await openDatabase({ url, poolSize: 1, applicationName: 'openaisle-migrate' });
  try {
    const pending = await checkMigrations(database, MIGRATIONS);
    const verdict = worstOf(pending.map((migration) => migration.verdict));
    process.exitCode = pending.length === 0 ? 0 : EXIT_CODES[verdict];
    if (json) return `${JSON.stringify({ status: 'checked', verdict, pending })}\n`;
    if (pending.length === 0) return 'nothing is pending\n';
    const back = pending.every(({ compatible }) => compatible) ? GOING_BACK.possible : GOING_BACK.barred;
    return `${[...pending.flatMap(inWords), VERDICTS[verdict], back].join('\n')}\n`;
  } finally {
    await database.close();
  }
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  additive: 'All of it only adds: the version before may go on writing.',
  look: 'Read what is marked "look": it acts on what the version before writes.',
  refused: 'What is marked "refused" stops or breaks the version before: stop the market first.',
};

const GOING_BACK = {
  possible: 'The version before starts on these tables too, if you have to go back.',
  barred: 'What is marked "no way back" keeps the version before from starting again.',
};

const STATEMENT_CHARACTERS = 100;

function inWords({ name, compatible, statements }: CheckedMigration): string[] {
  const lines = statements.map(({ verdict, why, statement, rows, bytes }) => {
    const size = rows === null || bytes === null ? '' : ` (about ${rows} rows, ${Math.ceil(bytes / 1024)} KiB)`;
    const shown = statement.replaceAll(/\s+/g, ' ').slice(0, STATEMENT_CHARACTERS);
    return `  ${verdict.padEnd(8)}  ${why}${size}\n            ${shown}`;
  });
  return [compatible ? name : `${name} (no way back)`, ...lines];
}

await runCommand(main, undefined, process.argv.includes('--check') ? CHECK_FAILED : 1);
