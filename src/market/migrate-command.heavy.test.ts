import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { mainProcesses } from '../../test/support/main-process.ts';
import { onServer } from '../../test/support/run-postgres.ts';
import { migrate, migrationsComplete } from '../platform/database/migrate.ts';
import { systemRandom } from '../platform/random.ts';
import { MIGRATIONS } from './prepare-database.ts';

const COMMAND = fileURLToPath(new URL('migrate-command.ts', import.meta.url));
const EARLIER = 12;
let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;

const markets = mainProcesses({
  get url() {
    return db.url;
  },
});

/** Starts each test with the first twelve migrations. */
beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-migrate-'));
  await applyUpTo(EARLIER);
});
afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

async function applyUpTo(last: number): Promise<void> {
  const files = (await readdir(MIGRATIONS)).sort().slice(0, last);
  for (const file of files) await cp(join(MIGRATIONS, file), join(folder, file));
  await migrate(db.url, folder);
}

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', ...compileCache(), DATABASE_URL: db.url };
  const child = spawn(process.execPath, [COMMAND, ...args], { env });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))), stdout, stderr };
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let said = '';
  for await (const chunk of stream) said += String(chunk);
  return said;
}

test('migrate applies what is pending; then nothing is pending', async () => {
  expect(await migrationsComplete(db.database, MIGRATIONS)).toBe(false);
  const applied = await run('--json');
  expect([applied.code, JSON.parse(applied.stdout).applied[0]]).toEqual([0, '0013-history-of-a-listing']);
  expect(await migrationsComplete(db.database, MIGRATIONS)).toBe(true);
  expect(await run()).toMatchObject({ code: 0, stdout: 'nothing is pending\n' });
});

test('--help says how to call it, and what cannot be reached is one line', async () => {
  expect((await run('--help')).stdout).toContain('npm run migrate');
  await db.drop();
  const { code, stderr } = await run('--json');
  expect([code, JSON.parse(stderr).status]).toEqual([1, 'failed']);
  db = await createTestDatabase({ migrated: false });
});

test('a market whose role may not migrate says what to run; that suffices, and no secret is shown', async () => {
  const [role, password] = [`openaisle-app ${systemRandom.bytes(6).toString('hex')}`, 'only-for-a-test'];
  await onServer(db.url, `create role "${role}" login password '${password}'`);
  await onServer(db.url, `grant select on all tables in schema public to "${role}"`);
  const roleUrl = Object.assign(new URL(db.url), { username: role, password }).href;
  try {
    const refused = markets.start(await markets.onGivenDatabase({ DATABASE_URL: roleUrl }));
    expect(await refused.exited).toBe(1);
    expect(refused.said.join('\n')).toContain(
      `Run \\"npm run migrate -- --app-role '${role}'\\" with the owner's DATABASE_URL`,
    );
    expect(refused.said.join('\n')).toContain('migrations wait (0013-history-of-a-listing, ');
    expect(refused.said.join('\n')).not.toContain(password);

    expect((await run('--app-role', 'no such role')).stderr).toContain(
      'the migrations are applied, but no rights were granted: role "no such role" does not exist\n',
    );
    expect(await run('--app-role', role)).toMatchObject({
      code: 0,
      stdout: `nothing is pending\nthe role ${role} has its rights\n`,
      stderr: '',
    });
    await markets.start(await markets.onGivenDatabase({ DATABASE_URL: roleUrl })).logged('market_listening');
  } finally {
    await markets.stop();
    await onServer(db.url, `drop owned by "${role}"`);
    await onServer(db.url, `drop role "${role}"`);
  }
});
