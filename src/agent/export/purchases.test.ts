import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RECEIPT } from '../../../test/support/agent-buyer.ts';
import { redigest } from '../../../test/support/export-files.ts';
import { samplePlan, sampleProof, signedPayment } from '../../../test/support/sample-spend.ts';
import { testAccount } from '../../local/chain/accounts.ts';
import { commitmentOf } from '../../sdk/payments/artifact-commitment.ts';
import { readPolicy } from '../policy.ts';
import { openSpendBook } from '../spend-book.ts';
import { dayOf, digestOf, type KeptGoods, type SpendRecord } from '../spend-record.ts';
import { LARGEST_GOODS_BYTES } from './export-folder.ts';
import { type ExportSigner, exportToSign } from './export-signature.ts';
import { exportPurchases, importPurchases } from './purchases.ts';

const { signer: account } = testAccount('a wallet that exports');
const { signer: stranger } = testAccount('another wallet that exports');
const PAYEE = `0x${'ef'.repeat(20)}` as const;
const MARKET = 'https://market.example';
const KEY = `${MARKET} buy 7 ${account.address.toLowerCase()}`;
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
  return { env, book: openSpendBook({ env, address: account.address }) };
}

function signerOf(by: typeof account): ExportSigner {
  return {
    address: account.address,
    signExport: (digest) => by.signTypedData(exportToSign(account.address, digest)),
  };
}

/** Writes a signed export with one payment in progress. */
async function exportOf(by = account): Promise<string> {
  const { env, book } = bookHere();
  await book.hold(KEY, async (held) => {
    await held.reserve(samplePlan({ key: KEY, market: MARKET, payee: PAYEE }), await readPolicy(env));
    await held.takeSignature();
    await held.proofStore.save(KEY, await signedPayment(account, PAYEE, 1_000_000n));
  });
  const dir = join(root, `export-${made}`);
  await exportPurchases(book, dir, { now, signer: signerOf(by) });
  return dir;
}

/** Writes the same export, with a record changed by someone without the wallet's key. */
async function changedExport(change: (record: SpendRecord) => object = () => ({})): Promise<string> {
  const dir = await exportOf();
  await rewriteRecord(dir, change);
  await redigest(dir);
  return dir;
}

/** Changes a record, and moves it to the file name that then fits it. */
async function rewriteRecord(dir: string, change: (record: SpendRecord) => object): Promise<void> {
  const { files } = JSON.parse(await readFile(join(dir, 'export.json'), 'utf8')) as { files: Record<string, string> };
  const [name = ''] = Object.keys(files);
  const file = JSON.parse(await readFile(join(dir, name), 'utf8')) as { record: SpendRecord };
  const record: SpendRecord = { ...file.record, ...change(file.record) };
  const day = new Date(record.reserved_at);
  const isDay = /^\d{4}-/.test(record.reserved_at) && !Number.isNaN(day.getTime());
  const renamed = isDay ? `purchases/${dayOf(day.getTime())}-${digestOf(record.key)}-${record.sequence}.json` : name;
  await rm(join(dir, name));
  await writeFile(join(dir, renamed), JSON.stringify({ ...file, record }));
  await rewriteManifest(dir, (content) => ({ ...content, files: { [renamed]: files[name] } }));
}

const trusted = { restore: true, isTrusted: (market: string) => market === MARKET, now };

const salt = `0x${'5a'.repeat(32)}`;
const commitment = commitmentOf({ artifact: 'goods', artifact_encoding: 'utf-8', artifact_salt: salt });
const delivery: KeptGoods = {
  ...{ path: 'a.txt', bytes: 5, media_type: 'text/plain', commitment, salt },
  ...{ receipt: null, recovery_slip: null },
};
const settled = () => ({ state: 'settled', saved: null, delivery });

describe('an export that its wallet signed', () => {
  test('is restored, and what is under way counts', async () => {
    const { book } = bookHere();
    const { restored, isSigned } = await importPurchases(book, await exportOf(), trusted);
    expect([isSigned, restored]).toMatchObject([true, [{ state: 'signed', market: MARKET }]]);
    expect(await book.spentToday()).toBe(1_000_000n);
  });

  test.each<[string, (dir: string) => Promise<unknown>]>([
    [
      'a file that was changed with its digest',
      async (dir) => changeUnderSignature(dir, (record) => ({ title: `${record.title}!` })),
    ],
    [
      'another time',
      (dir) => rewriteManifest(dir, (content) => ({ ...content, begun_at: '2020-01-01T00:00:00.000Z' })),
    ],
    [
      'a signature of nobody',
      (dir) => rewriteManifest(dir, (content) => ({ ...content, signature: `0x${'ff'.repeat(65)}` })),
    ],
  ])('with %s is refused as a whole', async (_, change) => {
    const dir = await exportOf();
    await change(dir);
    const { book } = bookHere();
    await expect(importPurchases(book, dir, trusted)).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
    expect(await book.list()).toEqual([]);
  });

  test('by another wallet is refused', async () => {
    const { book } = bookHere();
    const refused = importPurchases(book, await exportOf(stranger), trusted);
    await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
  });

  test('keeps what an import told its book unverified, and verified what it wrote', async () => {
    const { book: middle } = bookHere();
    await importPurchases(middle, await changedExport(settled), trusted);
    const dir = join(root, 'second-hand');
    await exportPurchases(middle, dir, { now, signer: signerOf(account) });
    const { book } = bookHere();
    const { isSigned } = await importPurchases(book, dir, trusted);
    expect([isSigned, await book.list()]).toMatchObject([true, [{ imported: { verified: false } }]]);
  });
});

describe('a folder into which somebody put files', () => {
  test.each(['purchases/0evil.json', 'goods/run-me.sh', 'listings/1.json', 'sales.json'])(
    'is not exported into: %s',
    async (name) => {
      const dir = await exportOf();
      await mkdir(dirname(join(dir, name)), { recursive: true });
      await writeFile(join(dir, name), '{}');
      const before = await readFile(join(dir, 'export.json'), 'utf8');
      const { book } = bookHere();
      await importPurchases(book, dir, trusted);
      const refused = exportPurchases(book, dir, { now, signer: signerOf(account) });
      await expect(refused).rejects.toMatchObject({
        parts: { reason: 'other_export', title: expect.stringContaining(name), nextStep: 'Name an empty folder.' },
      });
      // The older export stays complete.
      expect(await readFile(join(dir, 'export.json'), 'utf8')).toBe(before);
    },
  );
});

test('a record under the name of another is refused', async () => {
  const dir = await exportOf();
  await rewriteManifest(dir, (content) => {
    const { files } = content as { files: Record<string, string> };
    return { ...content, signature: null, files: { 'purchases/0evil.json': Object.values(files)[0] } };
  });
  const [name = ''] = await readdir(join(dir, 'purchases'));
  await rename(join(dir, 'purchases', name), join(dir, 'purchases', '0evil.json'));
  const { book } = bookHere();
  const refused = importPurchases(book, dir, trusted);
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
});

const RECEIPT_OF_MANY_DIGITS = { ...RECEIPT, payer: account.address, amount_units: '9'.repeat(20) };

test.each<[string, (record: SpendRecord) => object]>([
  ['a receipt of twenty digits', () => ({ ...settled(), delivery: { ...delivery, receipt: RECEIPT_OF_MANY_DIGITS } })],
  ['the last sequence that is taken', () => ({ ...settled(), sequence: 1_000 })],
])('what was imported unsigned is imported from our own signed export too: %s', async (_, change) => {
  const { env, book: middle } = bookHere();
  await importPurchases(middle, await changedExport(change), trusted);
  await middle.hold(KEY, async (held) => {
    await held.reserve(samplePlan({ key: KEY, market: MARKET, payee: PAYEE }), await readPolicy(env));
    await held.takeSignature();
    await held.proofStore.save(KEY, await signedPayment(account, PAYEE, 1_000_000n));
  });
  const dir = join(root, `own-${made}`);
  await exportPurchases(middle, dir, { now, signer: signerOf(account) });
  const { book } = bookHere();
  const { restored, isSigned } = await importPurchases(book, dir, trusted);
  expect([restored.length, isSigned]).toEqual([2, true]);
});

test('a record that no book writes leaves the others of a signed export, unless its payment is under way', async () => {
  const signedWith = async (change: Partial<SpendRecord>): Promise<string> => {
    const { book } = bookHere();
    await importPurchases(book, await exportOf(), trusted);
    const [record] = await book.list();
    if (record === undefined) throw new Error('nothing was restored');
    const key = KEY.replace('buy 7', 'buy 8');
    await book.restore({ ...record, key, listing_id: 8, title: 'x'.repeat(1_001), ...change });
    const dir = join(root, `bad-${made}`);
    await exportPurchases(book, dir, { now, signer: signerOf(account) });
    return dir;
  };
  const { book } = bookHere();
  const done = await importPurchases(book, await signedWith({ state: 'over' }), trusted);
  expect(done).toMatchObject({ restored: [{ listing_id: 7 }], kept: 0, leftOut: 1, isSigned: true });
  const refused = importPurchases(bookHere().book, await signedWith({}), trusted);
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
});

/** Changes a record and its digest, but keeps the signature. */
async function changeUnderSignature(dir: string, change: (record: SpendRecord) => object): Promise<void> {
  const { signature } = JSON.parse(await readFile(join(dir, 'export.json'), 'utf8')) as { signature: string };
  await rewriteRecord(dir, change);
  await redigest(dir);
  await rewriteManifest(dir, (content) => ({ ...content, signature }));
}

function filesOf(content: object): Record<string, string> {
  return (content as { files: Record<string, string> }).files;
}

async function rewriteManifest(dir: string, change: (content: object) => object): Promise<void> {
  const path = join(dir, 'export.json');
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as object)));
}

describe('an export that nobody signed', () => {
  test('is restored; what is under way counts, where the wallet itself signed the payment', async () => {
    const { book } = bookHere();
    const { restored, isSigned } = await importPurchases(book, await changedExport(), trusted);
    expect([isSigned, restored]).toMatchObject([false, [{ state: 'signed', imported: { verified: false } }]]);
    expect(await book.spentToday()).toBe(1_000_000n);
  });

  test('tells of one payment once, in itself and beside the book', async () => {
    const { book } = bookHere();
    const dir = await changedExport();
    expect((await importPurchases(book, dir, trusted)).restored).toHaveLength(1);
    expect((await importPurchases(book, dir, trusted)).kept).toBe(1);
    // The same proof, claimed for another listing.
    const ofEight = ({ key }: SpendRecord) => ({ listing_id: 8, key: key.replace('buy 7', 'buy 8') });
    const twice = join(root, 'twice');
    await cp(dir, twice, { recursive: true });
    const [name = ''] = await readdir(join(dir, 'purchases'));
    await rewriteRecord(twice, ofEight);
    await redigest(twice);
    const again = importPurchases(book, twice, trusted);
    await expect(again).rejects.toMatchObject({ parts: { reason: 'export_changed' } });

    await cp(join(dir, 'purchases', name), join(twice, 'purchases', name));
    const add = (content: object) => ({ ...content, files: { ...filesOf(content), [`purchases/${name}`]: '' } });
    await rewriteManifest(twice, add);
    await redigest(twice);
    const { book: other } = bookHere();
    const both = importPurchases(other, twice, trusted);
    await expect(both).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
    expect([await book.spentToday(), await other.list()]).toEqual([1_000_000n, []]);
  });

  test('is not verified by its own word', async () => {
    const { book } = bookHere();
    const dir = await changedExport((record) => ({
      ...settled(),
      imported: { at: record.reserved_at, verified: true },
    }));
    await importPurchases(book, dir, trusted);
    expect(await book.list()).toMatchObject([{ imported: { verified: false } }]);
  });

  test('of today, with the largest sum there is, uses up nothing of today', async () => {
    const { book } = bookHere();
    const dir = await changedExport(() => ({ ...settled(), amount_units: '10000000000' }));
    await importPurchases(book, dir, trusted);
    expect([(await book.list()).length, await book.spentToday()]).toEqual([1, 0n]);
  });

  test.each<[string, (record: SpendRecord) => object]>([
    ['a sum above the largest price', () => ({ amount_units: '10000000001' })],
    ['a sum of a million digits', () => ({ amount_units: '9'.repeat(1_000_000) })],
    ['a negative sum', () => ({ amount_units: '-1' })],
    ['a time of another form', () => ({ reserved_at: 'Fri, 27 Nov 2026 12:00:00 GMT' })],
    ['a year of six digits', () => ({ reserved_at: '+275760-09-13T00:00:00.000Z' })],
    ['no day', () => ({ reserved_at: 'today' })],
  ])('with %s is not read', async (_, change) => {
    const { book } = bookHere();
    const refused = importPurchases(book, await changedExport(change), trusted);
    await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_unreadable' } });
    expect(await book.list()).toEqual([]);
  });
});

test('goods that are larger than any, or that two records name, are refused before they are held', async () => {
  const at = async (): Promise<{ dir: string; name: string }> => {
    const dir = await changedExport(settled);
    const [name = ''] = await readdir(join(dir, 'purchases'));
    await mkdir(join(dir, 'goods'));
    return { dir, name };
  };
  const importing = async (dir: string, names: string[]) => {
    await rewriteManifest(dir, (content) => ({ ...content, files: Object.fromEntries(names.map((one) => [one, ''])) }));
    await redigest(dir);
    return await importPurchases(bookHere().book, dir, trusted);
  };
  const naming = (file: string, key: string) => {
    const parsed = JSON.parse(file) as { record: SpendRecord };
    const listing_id = Number(/buy (\d+) /.exec(key)?.[1]);
    return JSON.stringify({ ...parsed, record: { ...parsed.record, key, listing_id }, goods: 'goods/a' });
  };
  const large = await at();
  await writeFile(join(large.dir, 'goods', 'a'), '');
  await truncate(join(large.dir, 'goods', 'a'), LARGEST_GOODS_BYTES + 1);
  const refused = importing(large.dir, [`purchases/${large.name}`, 'goods/a']);
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_unreadable' } });

  const shared = await at();
  await writeFile(join(shared.dir, 'goods', 'a'), 'goods');
  const text = await readFile(join(shared.dir, 'purchases', shared.name), 'utf8');
  const names = [7, 8].map((id) => {
    const key = KEY.replace('buy 7', `buy ${id}`);
    return [key, `purchases/${shared.name.slice(0, 8)}-${digestOf(key)}-1.json`] as const;
  });
  for (const [key, name] of names) await writeFile(join(shared.dir, name), naming(text, key));
  const [[, first]] = names as [(typeof names)[number]];
  expect((await importing(shared.dir, [first, 'goods/a'])).restored).toHaveLength(1);
  const both = importing(shared.dir, [...names.map(([, name]) => name), 'goods/a']);
  await expect(both).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
});

test('at a market that was not named nothing is gone on with, and nothing is restored', async () => {
  const { book } = bookHere();
  const refused = importPurchases(book, await exportOf(), { ...trusted, isTrusted: () => false });
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'market_not_named' } });
  expect(await book.list()).toEqual([]);
});

const forged = sampleProof(1_000_000n);
test.each<[string, (record: SpendRecord) => object]>([
  ['a day to come', () => ({ reserved_at: '9999-01-01T00:00:00.000Z' })],
  ['a sequence after which none can come', () => ({ sequence: Number.MAX_SAFE_INTEGER })],
  ['a sequence from which a book could not go on', () => ({ sequence: 1_001 })],
  ['a market that is no address', ({ key }) => ({ market: 'x:..', key: key.replace(MARKET, 'x:..') })],
  ['a market with a query', ({ key }) => ({ market: `${MARKET}/?a`, key: key.replace(MARKET, `${MARKET}/?a`) })],
  ['a payee that is no address', () => ({ payee: '0xpayee' })],
  ['more than the book reads', () => ({ title: 'x'.repeat(9_000_000) })],
  ['a title of a page', () => ({ title: 'x'.repeat(1_001) })],
  [
    'another wallet’s proof',
    ({ saved }) => ({ saved: saved && { ...saved, proof: { ...saved.proof, payer: `0x${'ef'.repeat(20)}` } } }),
  ],
  ['a proof that nobody signed', () => ({ saved: { ...forged, proof: { ...forged.proof, payer: account.address } } })],
  [
    'another sum than the wallet signed',
    ({ saved }) => ({ amount_units: '2', saved: saved && { ...saved, amount_units: '2' } }),
  ],
  [
    'a longer time than the wallet signed',
    ({ saved }) => ({ saved: saved && { ...saved, proof: { ...saved.proof, valid_before: 9_999_999_999 } } }),
  ],
  ['a payment of another day', () => ({ reserved_at: new Date(now() - 3 * 86_400_000).toISOString() })],
  ['nothing signed', () => ({ state: 'reserved' })],
  ['an end of a payment that nobody signed', () => ({ state: 'over', saved: null })],
  ['nothing signed, and called so', () => ({ state: 'signed', saved: null })],
  ['goods whose salt is no hash', () => ({ ...settled(), delivery: { ...delivery, salt: 'zz' } })],
])('a record with %s is none that a book wrote: all of it is refused', async (_, change) => {
  const { book } = bookHere();
  const refused = importPurchases(book, await changedExport(change), { ...trusted, isTrusted: () => true });
  await expect(refused).rejects.toMatchObject({ parts: { reason: 'export_changed' } });
  expect(await book.list()).toEqual([]);
});
