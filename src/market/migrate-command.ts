import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Progress } from '../platform/database/migrate.ts';
import { splitStatements } from '../platform/database/migration-files.ts';
import { resolveCommandDatabase } from '../platform/database/resolve-database.ts';
import { runCommand, setting } from '../platform/run-command.ts';
import { migrateMarket } from './prepare-database.ts';

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

  --app-role NAME  gives the role that the market runs under its rights to what is new (deploy/app-role.sql), and takes none away
  --json           say the outcome as one JSON object
  --help           this text

The market of the version before may be running: fills go in batches, indexes are made while their tables are written to, and what
was cut off goes on at the next call.

Environment, as for the market itself: DATABASE_URL (of the owner of the tables), or the embedded database of OPENAISLE_DATA_DIR (./data).
How to upgrade and how to go back: docs/upgrade.md.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
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
  const server = await resolveCommandDatabase(setting('DATABASE_URL'), setting('OPENAISLE_DATA_DIR') ?? './data');
  try {
    process.stdout.write(await apply(server.url, role, values.json));
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

await runCommand(main);
