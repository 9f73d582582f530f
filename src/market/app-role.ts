import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { splitStatements } from '../platform/database/migrations/split-statements.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url));
/** The name that the script gives the role. */
const NAMED = /\bopenaisle_app\b/g;

/**
 * The statements that give a role what the market needs of the tables. What the script takes away first is left out: the version before may
 * be running under this role, and need it.
 */
export async function readAppRights(role: string): Promise<string[]> {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  const statements = splitStatements(await readFile(SCRIPT, 'utf8'));
  return statements.filter((one) => /^grant /i.test(one)).map((one) => one.replaceAll(NAMED, () => quoted));
}
