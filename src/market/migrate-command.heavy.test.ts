import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { migrate, migrationsComplete } from '../platform/database/migrate.ts';
import { MIGRATIONS } from './prepare-ground.ts';

const COMMAND = fileURLToPath(new URL('migrate-command.ts', import.meta.url));
const EARLIER = 12;
let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;

/** A market of twelve migrations. */
beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-migrate-'));
  const files = (await readdir(MIGRATIONS)).sort().slice(0, EARLIER);
  for (const file of files) await cp(join(MIGRATIONS, file), join(folder, file));
  await migrate(db.url, folder);
});
afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: db.url };
  const child = spawn(process.execPath, [COMMAND, ...args], { env });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))), stdout, stderr };
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let said = '';
  for await (const chunk of stream) said += String(chunk);
  return said;
}

test('--check says what is pending and changes nothing; migrate applies it; then nothing is pending', async () => {
  const checked = await run('--check', '--json');
  const { status, verdict, pending } = JSON.parse(checked.stdout);
  expect([checked.code, status, verdict]).toEqual([4, 'checked', 'refused']);
  expect(pending[0].name).toBe('0013-history-of-a-listing');
  expect(pending[0].statements[0]).toMatchObject({ verdict: 'refused', table: 'events', kind: 'transaction', rows: 0 });
  expect((await run('--check')).stdout).toMatch(
    /^0013-history-of-a-listing\n {2}refused {3}.*\(about 0 rows, \d+ KiB\)/,
  );
  expect(await migrationsComplete(db.database, MIGRATIONS)).toBe(false);

  const applied = await run('--json');
  expect([applied.code, JSON.parse(applied.stdout).applied[0]]).toEqual([0, '0013-history-of-a-listing']);
  expect(await migrationsComplete(db.database, MIGRATIONS)).toBe(true);
  expect(await run('--check')).toMatchObject({ code: 0, stdout: 'nothing is pending\n' });
  expect(await run()).toMatchObject({ code: 0, stdout: 'nothing is pending\n' });
});

test('--help says how to call it, and what cannot be reached is one line', async () => {
  expect((await run('--help')).stdout).toContain('npm run migrate');
  await db.drop();
  const { code, stderr } = await run('--check', '--json');
  expect([code, JSON.parse(stderr).status]).toEqual([1, 'failed']);
  db = await createTestDatabase({ migrated: false });
});
