import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { seedListing, seedMerchant } from '../../test/support/seed.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../platform/database/embedded.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { readEventPage } from './events/read-events.ts';
import { authenticate } from './identity/authenticate.ts';

const MARKET_ENVIRONMENT = {
  OPENAISLE_RPC_URLS: 'http://127.0.0.1:1',
  OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:1',
  OPENAISLE_TREASURY: `0x${'12'.repeat(20)}`,
};
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
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== 'DATABASE_URL' && !name.startsWith('OPENAISLE_')),
  );
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

test('it erases the goods of a listing beside a running market, and says what it did', async () => {
  const postgres = await startEmbeddedPostgres({ dataDir });
  try {
    const database = await openDatabase({ url: postgres.url, poolSize: 2 });
    const seller = await seedMerchant(database, { handle: 'seller-one' });
    const { id } = await seedListing(database, seller.id, { artifact: 'unlawful words' });
    const { id: other } = await seedListing(database, seller.id);
    const erase = (listing: bigint, ...more: string[]) =>
      run(['erase', String(listing), '--reason', 'illegal', ...more], MARKET_ENVIRONMENT);
    const [first, again] = [await erase(id, '--json'), await erase(id)];
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(first.stdout)).toMatchObject({ status: 'erased', listing_id: Number(id), removed: true });
    expect(again.stdout).toBe(`The goods of listing ${id} were erased before: illegal.\n`);
    const { events } = await readEventPage(database, { kind: 'moderation' }, { limit: 5, beforeId: null });
    expect(events.map(({ actor, detail }) => [actor, detail['action']])).toEqual([
      ['keeper', 'erase'],
      ['keeper', 'remove'],
    ]);
    expect(await database.rows(sql`select listing_id from artifacts where not erased`)).toEqual([
      { listing_id: other },
    ]);
    await database.close();
  } finally {
    await postgres.stop();
  }
  const refusals = [['erase'], ['erase', '1'], ['erase', '1', '--reason', 'taste'], ['delete', '1']];
  for (const args of refusals) expect(await run(args)).toMatchObject({ code: 1, stdout: '' });
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
