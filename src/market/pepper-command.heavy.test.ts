import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { testDatabase } from '../../test/support/database.ts';
import { registerCaller } from '../../test/support/identity-doors.ts';
import { marketContext, settableClock } from '../../test/support/market-context.ts';
import { loadPepper } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import type { Market } from './context.ts';
import { authenticate } from './identity/authenticate.ts';
import { addPepper, readPepperStatus } from './identity/secrets.ts';

const COMMAND = fileURLToPath(new URL('pepper-command.ts', import.meta.url));
const HOUR = 3_600_000;
const FIRST = `1:${'07'.repeat(32)}\n`;
const db = testDatabase();
let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-pepper-'));
  file = join(folder, 'pepper');
  await writeFile(file, FIRST, { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true }));

async function run(args: string[], changes: Record<string, string> = {}) {
  const environment = {
    PATH: process.env['PATH'] ?? '',
    ...compileCache(),
    DATABASE_URL: db.url,
    OPENAISLE_PEPPER_FILE: file,
  };
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: folder, env: { ...environment, ...changes } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += String(text);
  });
  child.stderr.on('data', (text) => {
    stderr += String(text);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  for (const hex of (await readFile(file, 'utf8')).match(/[0-9a-f]{64}/g) ?? [])
    expect(stdout + stderr).not.toContain(hex);
  return { code, stdout, stderr };
}

test('add puts one more version behind the others, for its owner alone, with no other file left', async () => {
  const { code, stdout, stderr } = await run(['add', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({ status: 'added', version: 2, file });
  expect(await readFile(file, 'utf8')).toMatch(new RegExp(`^${FIRST}2:[0-9a-f]{64}\\n$`));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['pepper']);
  expect((await loadPepper({ file, createIfMissing: false })).version).toBe(2);
  const words = await run(['add']);
  expect(words.stdout).toMatch(/version 3[\s\S]*every machine[\s\S]*restart all/);
});

test('init makes the file of a new market, which loads it; a file that is there is left as it is', async () => {
  const named = join(folder, 'new', 'pepper');
  const made = await run(['init'], { OPENAISLE_PEPPER_FILE: named });
  expect(made).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`${named} holds a new pepper`) });
  const text = await readFile(named, 'utf8');
  expect(text).toMatch(/^1:[0-9a-f]{64}\n$/);
  expect(made.stdout).not.toContain(text.slice(2, 66));
  expect((await stat(named)).mode & 0o777).toBe(0o600);
  expect((await loadPepper({ file: named, createIfMissing: false })).version).toBe(1);
  const again = await run(['init', '--json'], { OPENAISLE_PEPPER_FILE: named });
  expect([again.code, JSON.parse(again.stderr).error]).toEqual([1, expect.stringContaining('exists already')]);
  expect(await readFile(named, 'utf8')).toBe(text);
  const inDataFolder = await run(['init', '--json'], {
    DATABASE_URL: '',
    OPENAISLE_PEPPER_FILE: '',
    OPENAISLE_DATA_DIR: join(folder, 'data'),
  });
  expect(JSON.parse(inDataFolder.stdout)).toEqual({ status: 'made', version: 1, file: join(folder, 'data', 'pepper') });
});

test('added to a file that a group may read: its mode stays', async () => {
  await chmod(file, 0o440);
  expect(await addPepper(file, systemRandom)).toBe(2);
  expect((await stat(file)).mode & 0o777).toBe(0o440);
  expect((await loadPepper({ file, createIfMissing: false })).version).toBe(2);
});

test('added to a file without a last line end, after gaps, and through a link', async () => {
  await writeFile(file, `7:${'0a'.repeat(32)}`);
  const named = join(folder, 'link');
  await symlink(file, named);
  expect(await addPepper(named, systemRandom)).toBe(8);
  expect((await loadPepper({ file, createIfMissing: false })).hashes('x').map(({ version }) => version)).toEqual([
    8, 7,
  ]);
  expect(await readFile(named, 'utf8')).toBe(await readFile(file, 'utf8'));
});

test('of several at once none is lost: each that succeeds is in the file', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => addPepper(file, systemRandom)));
  const versions = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const kept = (await loadPepper({ file, createIfMissing: false })).hashes('x').map(({ version }) => version);
  expect(versions.length).toBeGreaterThan(0);
  expect(kept.toSorted((a, b) => a - b)).toEqual([1, ...versions.toSorted((a, b) => a - b)]);
  expect(await readdir(folder)).toEqual(['pepper']);
});

test('a file that is missing, open to others, malformed, or being written is left as it is, and the refusal says why', async () => {
  const refused = (wanted: RegExp) => expect(addPepper(file, systemRandom)).rejects.toThrow(wanted);
  await chmod(file, 0o644);
  await refused(/0600/);
  await chmod(file, 0o600);
  await writeFile(`${file}.adding`, '');
  await refused(/pepper\.adding exists/);
  await rm(`${file}.adding`);
  expect(await readFile(file, 'utf8')).toBe(FIRST);
  await writeFile(file, 'nonsense');
  await refused(/line 1/);
  expect(await run(['add'])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/line 1/) });
  expect(await readFile(file, 'utf8')).toBe('nonsense');
  await expect(addPepper(join(folder, 'none'), systemRandom)).rejects.toThrow(/does not exist.*npm run pepper -- init/);
});

test('status tells what hangs on each version: keys move by their use, codes when they are replaced, and then the old one may go', async () => {
  const clock = settableClock(Date.parse('2030-01-01T12:00:00.000Z'));
  const market = marketContext({ database: db.database, clock });
  const door = registerCaller(market);
  const [one, two] = [await door.stage('pepper-one'), await door.stage('pepper-two')];
  await door.confirm(one);
  await door.confirm(two);
  await addPepper(file, systemRandom);
  const newer: Market = { ...market, pepper: await loadPepper({ file, createIfMissing: false }) };
  const standing = async () =>
    (await readPepperStatus(newer)).map(({ version, keys, codes, open, standing: said }) => [
      version,
      keys,
      codes,
      open,
      said,
    ]);
  expect(await standing()).toEqual([
    [2, 0, 0, 0, 'current'],
    [1, 2, 16, 0, 'needed'],
  ]);
  await authenticate(newer, one.merchant_key);
  await expect.poll(standing).toEqual([
    [2, 1, 0, 0, 'current'],
    [1, 1, 16, 0, 'needed'],
  ]);
  const third = await registerCaller(market).stage('pepper-three');
  expect((await standing())[1]).toEqual([1, 1, 16, 1, 'needed']);
  clock.set(clock.now() + HOUR);
  await expect(door.confirm(third)).rejects.toMatchObject({ reason: 'stage_closed' });
  await authenticate(newer, two.merchant_key);
  await db.database.run(sql`update recovery_sets set ended_at = now(), ended_as = 'burned'`);
  await expect.poll(standing).toEqual([
    [2, 2, 0, 0, 'current'],
    [1, 0, 0, 0, 'may_go'],
  ]);
  // The command uses the real clock, by which this stage would still be open.
  await db.database.run(sql`delete from identity_stages where closed_at is null`);
  const { stdout } = await run(['status']);
  expect(stdout).toBe(
    `${file}\nversion 2: 2 keys, 0 recovery codes, 0 open stages and pairing codes: current\nversion 1: 0 keys, 0 recovery codes, 0 open stages and pairing codes: may_go\n`,
  );
  // Remove from the file the version that keys still use.
  await writeFile(file, `3:${'0b'.repeat(32)}\n`);
  const lost = await run(['status', '--json']);
  expect(JSON.parse(lost.stdout).versions).toEqual([
    { version: 3, keys: 0, codes: 0, open: 0, standing: 'current' },
    { version: 2, keys: 2, codes: 0, open: 0, standing: 'missing' },
  ]);
});

test('codes that wait count, and so does the set in force before them; a set that another took over from does not', async () => {
  const clock = settableClock(Date.parse('2031-01-01T12:00:00.000Z'));
  const market = marketContext({ database: db.database, clock });
  await db.database.run(sql`update recovery_sets set ended_at = now(), ended_as = 'burned' where ended_at is null`);
  const door = registerCaller(market);
  await door.confirm(await door.stage('pepper-waits'));
  const codes = async () => (await readPepperStatus(market)).reduce((sum, one) => sum + one.codes, 0);
  expect(await codes()).toBe(8);
  await db.database.run(sql`
    insert into recovery_sets (merchant_id, set_number, created_at, valid_from)
    select merchant_id, 2, ${new Date(clock.now())}, ${new Date(clock.now() + 72 * HOUR)} from recovery_sets where ended_at is null`);
  await db.database.run(sql`
    insert into recovery_codes (code_hash, pepper_version, merchant_id, set_number)
    select sha256(code_hash), 1, merchant_id, 2 from recovery_codes join recovery_sets using (merchant_id, set_number) where ended_at is null`);
  expect(await codes()).toBe(16);
  clock.set(clock.now() + 72 * HOUR);
  expect(await codes()).toBe(8);
});

test('--help says how to call it; what is missing or wrong is said in one line', async () => {
  const [help, nothing, unpeppered] = await Promise.all([
    run(['--help']),
    run([]),
    run(['status', '--json'], { OPENAISLE_PEPPER_FILE: '' }),
  ]);
  expect(help.stdout).toContain('npm run pepper -- add');
  expect(help.stdout).toContain('A recovery code cannot move');
  expect(nothing).toMatchObject({ code: 1, stderr: 'name one command: init, status or add. --help explains them\n' });
  expect(JSON.parse(unpeppered.stderr)).toEqual({
    status: 'failed',
    error: expect.stringMatching(/^OPENAISLE_PEPPER_FILE/),
  });
});
