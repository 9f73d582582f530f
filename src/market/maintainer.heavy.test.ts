import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../platform/database/embedded.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { readEventPage } from './events/read-events.ts';
import { authenticate } from './identity/authenticate.ts';

const COMMAND = fileURLToPath(new URL('maintainer.ts', import.meta.url));
let folder: string;
let dataDir: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-maintainer-'));
  // Use a second folder: if root runs the tests, the database runs as a user who cannot enter the first one.
  dataDir = await mkdtemp(join(tmpdir(), 'openaisle-data-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await rm(dataDir, { recursive: true });
});

async function run(args: string[], changes: Record<string, string> = {}) {
  const { DATABASE_URL: _url, ...inherited } = process.env;
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    env: { ...inherited, ...compileCache(), OPENAISLE_DATA_DIR: dataDir, ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += String(text);
  });
  child.stderr.on('data', (text) => {
    stderr += String(text);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout, stderr };
}

test('while a market runs it makes merchant 1, shows no secret and leaves the market’s database up', async () => {
  const out = join(folder, 'first.json');
  const postgres = await startEmbeddedPostgres({ dataDir });
  try {
    const { code, stdout, stderr } = await run(['--handle', 'keeper', '--out', out, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ status: 'created', merchant_id: 1, handle: 'keeper', out });
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const database = await openDatabase({ url: postgres.url, poolSize: 2 });
    const pepper = await loadOwnPepper({ pepperFile: null, dataDir });
    const saved = JSON.parse(await readFile(out, 'utf8'));
    const owner = await authenticate(marketContext({ database, changes: { pepper } }), saved.merchant_key);
    expect(owner).toMatchObject({ id: 1n, handle: 'keeper', maintainer: true });
    expect(await readEventPage(database, { kind: 'register' }, { limit: 1, beforeId: null })).toMatchObject({
      total: 1,
      events: [{ id: 1, actor: 'keeper', detail: { merchant_id: 1 } }],
    });
    await database.close();
  } finally {
    await postgres.stop();
  }
});

test('without a running market it starts the database itself, finds merchant 1 there, and stops it again', async () => {
  const out = join(folder, 'second.json');
  const { code, stdout, stderr } = await run(['--handle', 'keeper-2', '--out', out]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe('merchant 1 exists already, with the handle keeper\n');
  await expect(stat(out)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await findEmbeddedPostgres(dataDir)).toBeNull();
});

test('--help says how to call it; what is missing or wrong is said in one line', async () => {
  const [help, missing, unknown, unpeppered] = await Promise.all([
    run(['--help']),
    run(['--handle', 'keeper', '--json']),
    run(['--handel', 'keeper']),
    run(['--handle', 'keeper', '--out', 'x.json'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' }),
  ]);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('npm run maintainer -- --handle NAME --out FILE');
  expect(missing.code).toBe(1);
  expect(JSON.parse(missing.stderr)).toEqual({ status: 'failed', error: expect.stringContaining('--out FILE') });
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('--handel') });
  expect(unpeppered).toMatchObject({ code: 1, stderr: expect.stringMatching(/^OPENAISLE_PEPPER_FILE is needed/) });
});
