import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redigest } from '../../../test/support/export-files.ts';
import { samplePlan, sampleProof } from '../../../test/support/sample-spend.ts';
import { readPolicy } from '../policy.ts';
import { openSpendBook } from '../spend-book.ts';
import type { SpendRecord } from '../spend-record.ts';
import { exportPurchases, importPurchases } from './purchases.ts';

const ADDRESS = `0x${'cd'.repeat(20)}` as const;
const PAYEE = `0x${'ef'.repeat(20)}` as const;
const MARKET = 'https://market.example';
const now = Date.now;

let root = '';
let made = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'openaisle-purchases-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function bookHere() {
  made += 1;
  const env = { HOME: join(root, String(made)) };
  return { env, book: openSpendBook({ env, address: ADDRESS }) };
}

/** An export with one payment that is under way, and the same with its record changed. */
async function exportOf(change: (record: SpendRecord) => object = () => ({})): Promise<string> {
  const { env, book } = bookHere();
  const key = `${MARKET} buy 7 ${ADDRESS}`;
  await book.hold(key, async (held) => {
    await held.reserve(samplePlan({ key, market: MARKET, payee: PAYEE }), await readPolicy(env));
    await held.takeSignature();
    const saved = sampleProof(1_000_000n);
    await held.proofStore.save(key, { ...saved, proof: { ...saved.proof, payer: ADDRESS } });
  });
  const dir = join(root, `export-${made}`);
  await exportPurchases(book, dir, now);
  const { files } = JSON.parse(await readFile(join(dir, 'export.json'), 'utf8')) as { files: Record<string, string> };
  const [name = ''] = Object.keys(files);
  const file = JSON.parse(await readFile(join(dir, name), 'utf8')) as { record: SpendRecord };
  await writeFile(join(dir, name), JSON.stringify({ ...file, record: { ...file.record, ...change(file.record) } }));
  await redigest(dir);
  return dir;
}

const trusted = { restore: true, isTrusted: (market: string) => market === MARKET, now };

test('a payment under way is restored, and counts', async () => {
  const { book } = bookHere();
  const { restored } = await importPurchases(book, await exportOf(), trusted);
  expect(restored).toMatchObject([{ state: 'signed', market: MARKET }]);
  expect(await book.spentToday()).toBe(1_000_000n);
});

test('at a market that was not named nothing is gone on with, and nothing is restored', async () => {
  const { book } = bookHere();
  const refused = importPurchases(book, await exportOf(), { ...trusted, isTrusted: () => false });
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'market_not_named' } });
  expect(await book.list()).toEqual([]);
});

test.each<[string, (record: SpendRecord) => object]>([
  ['a day to come', () => ({ reserved_at: '9999-01-01T00:00:00.000Z' })],
  ['no day', () => ({ reserved_at: 'today' })],
  ['a sequence after which none can come', () => ({ sequence: Number.MAX_SAFE_INTEGER })],
  ['a market that is no address', ({ key }) => ({ market: 'x:..', key: key.replace(MARKET, 'x:..') })],
  ['a market with a query', ({ key }) => ({ market: `${MARKET}/?a`, key: key.replace(MARKET, `${MARKET}/?a`) })],
  ['a payee that is no address', () => ({ payee: '0xpayee' })],
  ['more than the book reads', () => ({ title: 'x'.repeat(9_000_000) })],
  [
    'another wallet’s proof',
    ({ saved }) => ({ saved: saved && { ...saved, proof: { ...saved.proof, payer: `0x${'ef'.repeat(20)}` } } }),
  ],
  ['nothing signed', () => ({ state: 'reserved' })],
  [
    'goods whose salt is no hash',
    () => ({
      state: 'settled',
      saved: null,
      delivery: {
        ...{ path: 'a.txt', bytes: 1, media_type: 'text/plain', commitment: `0x${'00'.repeat(32)}`, salt: 'zz' },
        ...{ receipt: null, recovery_slip: null },
      },
    }),
  ],
])('a record with %s is none that a book wrote: all of it is refused', async (_, change) => {
  const { book } = bookHere();
  const refused = importPurchases(book, await exportOf(change), { ...trusted, isTrusted: () => true });
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
  expect(await book.list()).toEqual([]);
});
