import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Progress } from '../platform/database/migrate.ts';
import { type CheckedMigration, checkMigrations, worstOf } from '../platform/database/migrations/check-migrations.ts';
import type { Verdict } from '../platform/database/migrations/judge-statement.ts';
import { splitStatements } from '../platform/database/migrations/migration-files.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { visitDatabase } from '../platform/database/write-probe.ts';
import { runCommand, setting } from '../platform/run-command.ts';
import { MIGRATIONS, migrateMarket } from './prepare-database.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url));
/** The role's name in the script. */
const ROLE_IN_SCRIPT = /\bopenaisle_app\b/g;

/**
 * Reads the GRANT statements for the market's role. The script's REVOKE statements are left out: the previous version may be running under
 * this role and need those rights.
 */
async function readAppRights(role: string): Promise<string[]> {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  const statements = splitStatements(await readFile(SCRIPT, 'utf8'));
  return statements.filter((one) => /^grant /i.test(one)).map((one) => one.replaceAll(ROLE_IN_SCRIPT, () => quoted));
}

const HELP = `Brings the market's tables up to this version. Starting the market does the same, if its role may.

  npm run migrate [-- --app-role NAME] [--json]
  npm run migrate -- --check [--json]

  --check          changes nothing. It lists pending migrations, what they do to existing tables and how large these are, and whether
                   the previous version can go on writing meanwhile and can start again afterwards
  --app-role NAME  grants the market's role its rights to new tables and columns (deploy/app-role.sql), and revokes none
  --json           print the outcome as one JSON object
  --help           print this text

The previous version may be running: data is filled in batches, and indexes are built while their tables are written to. If the command is
interrupted, the next call continues.

Exit codes of --check: 0 nothing is pending; 1 all pending changes only add; 3 a person has to read something, such as a trigger that acts on
what the previous version writes; 4 something would stop or break the previous version: stop the market first. 2: the check itself failed.

Uses the environment of the market: DATABASE_URL (of the owner of the tables), or the embedded database of OPENAISLE_DATA_DIR (./data).
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
  if (values.check && role !== null) throw new Error('--check changes nothing, so leave out --app-role');
  const server = await visitDatabase(setting('DATABASE_URL'), setting('OPENAISLE_DATA_DIR') ?? './data');
  try {
    process.stdout.write(
      values.check ? await checkPending(server.url, values.json) : await applyPending(server.url, role, values.json),
    );
  } finally {
    await server.release();
  }
}

async function applyPending(url: string, role: string | null, json: boolean): Promise<string> {
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

async function checkPending(url: string, json: boolean): Promise<string> {
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
  additive: 'All changes only add, so the previous version can go on writing.',
  look: 'Read what is marked "look": it acts on what the previous version writes.',
  refused: 'What is marked "refused" stops or breaks the previous version: stop the market first.',
};

const GOING_BACK = {
  possible: 'If you have to go back, the previous version can start on these tables too.',
  barred: 'What is marked "no way back" prevents the previous version from starting again.',
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
