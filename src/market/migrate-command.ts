import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Progress } from '../platform/database/apply-migration.ts';
import { splitStatements } from '../platform/database/migration-files.ts';
import { resolveCommandDatabase } from '../platform/database/resolve-database.ts';
import { readSetting, runCommand } from '../platform/run-command.ts';
import { migrateMarket } from './prepare-database.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url));
/** Name of the role in the script. */
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

  --app-role NAME  grants the market's role its rights to new tables and columns (deploy/app-role.sql), and revokes none
  --json           print the outcome as one JSON object
  --help           print this text

The previous version may be running: data is filled in batches, indexes are built while their tables are written to, and a step that
another transaction keeps from its locks runs again. If the command is interrupted, the next call continues.

Uses the environment of the market: DATABASE_URL (of the owner of the tables), or the embedded database of OPENAISLE_DATA_DIR (./data).
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
  const server = await resolveCommandDatabase(
    readSetting('DATABASE_URL'),
    readSetting('OPENAISLE_DATA_DIR') ?? './data',
  );
  try {
    process.stdout.write(await applyPending(server.url, role, values.json));
  } finally {
    await server.release();
  }
}

function lineOf(progress: Progress): string {
  const { migration } = progress;
  if ('attempt' in progress)
    return `${migration}: ${progress.reason} in attempt ${progress.attempt}, so it changed nothing and runs again\n`;
  return `${migration}, ${progress.step}: ${progress.rows} ${progress.done ? 'done' : 'so far'}\n`;
}

async function applyPending(url: string, role: string | null, json: boolean): Promise<string> {
  const rights = role === null ? [] : await readAppRights(role);
  const applied = await migrateMarket(url, (progress) => void process.stderr.write(lineOf(progress)), rights);
  if (json) return `${JSON.stringify({ status: 'migrated', applied, app_role: role })}\n`;
  const lines = applied.length === 0 ? ['nothing is pending'] : applied.map((name) => `applied ${name}`);
  if (role !== null) lines.push(`the role ${role} has its rights`);
  return `${lines.join('\n')}\n`;
}

await runCommand(main);
