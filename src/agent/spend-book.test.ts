import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RECEIPT } from '../../test/support/agent-buyer.ts';
import { samplePlan, sampleProof } from '../../test/support/sample-spend.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import { readPolicy } from './policy.ts';
import { openSpendBook, type SpendBook } from './spend-book.ts';
import { countSpend, type SpendRecord } from './spend-record.ts';

const ADDRESS = `0x${'ab'.repeat(20)}` as const;
const DAY_MS = 86_400_000;
const NOON_MS = Date.parse('2026-03-01T12:00:00Z');

let root = '';
let homes = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'openaisle-book-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const newHome = (): string => {
  homes += 1;
  return join(root, String(homes));
};

async function bookAt(home: string, perDayUnits: bigint, now: () => number = systemEnvironment.now) {
  const env = { HOME: home };
  const policy = { ...(await readPolicy(env)), perDayUnits };
  const book = openSpendBook({ env, address: ADDRESS, environment: { ...systemEnvironment, now } });
  return { book, policy };
}

/** Reserves and signs. Returns false if the day's limit is exceeded. */
async function spend(book: SpendBook, policy: Awaited<ReturnType<typeof readPolicy>>, key: string, units: bigint) {
  try {
    await book.hold(key, async (held) => {
      await held.reserve(samplePlan({ key, amountUnits: units }), policy);
      await held.takeSignature();
      await held.proofStore.save(key, sampleProof(units));
    });
    return true;
  } catch (error) {
    expect(error).toMatchObject({ name: 'PolicyRefused', parts: { reason: 'above_per_day' } });
    return false;
  }
}

describe('the day’s limit', () => {
  test('whatever is asked for in whatever order, a day never passes it, and what fits is not refused', async () => {
    const step = fc.record({ units: fc.bigInt(1n, 6n), days: fc.constantFrom(0, 0, 0, 1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        let nowMs = NOON_MS;
        const { book, policy } = await bookAt(newHome(), 10n, () => nowMs);
        let spent = 0n;
        for (const [index, { units, days }] of steps.entries()) {
          if (days > 0) spent = 0n;
          nowMs += days * DAY_MS;
          const fits = spent + units <= 10n;
          expect(await spend(book, policy, `key ${index}`, units)).toBe(fits);
          if (fits) spent += units;
          expect(await book.spentToday()).toBe(spent);
        }
      }),
      { numRuns: 25 },
    );
  });

  test('what is put aside before midnight cannot be signed after it', async () => {
    let nowMs = Date.parse('2026-03-01T23:59:59Z');
    const { book, policy } = await bookAt(newHome(), 10n, () => nowMs);
    await book.hold('k', async (held) => {
      await held.reserve(samplePlan({ key: 'k', amountUnits: 1n }), policy);
      nowMs += 1_000;
      expect(await held.takeSignature()).toBe(false);
    });
  });

  test('what another process took for forgotten, where locks do not reach, is not signed', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    const isSigned = await book.hold('k', async (held) => {
      await held.reserve(samplePlan({ key: 'k', amountUnits: 1n }), policy);
      const folder = join(book.folder, 'spends');
      for (const file of await readdir(folder)) if (file.endsWith('.json')) await rm(join(folder, file));
      return await held.takeSignature();
    });
    expect([isSigned, await book.list()]).toEqual([false, []]);
  });

  test('a payment is over once a later one took its place, wherever the process was killed between the two', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await spend(book, policy, 'k', 1n);
    const [first] = await book.list();
    if (first === undefined) throw new Error('nothing was written');
    // This is the disk's state after a kill between writing the second record and changing the first.
    await book.restore({ ...first, sequence: 2 });
    await book.hold('k', async () => {});
    expect((await book.list()).map(({ state, sequence }) => [sequence, state]).toSorted()).toEqual([
      [1, 'over'],
      [2, 'signed'],
    ]);
  });

  test('what another purchase has put aside counts before it is signed', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await book.hold('first', async (held) => {
      await held.reserve(samplePlan({ key: 'first', amountUnits: 6n }), policy);
      expect(await spend(book, policy, 'second', 5n)).toBe(false);
      expect(await spend(book, policy, 'third', 4n)).toBe(true);
    });
  });

  test('what the market calls unpaid is free for others, once a day’s sum of it and no more', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    for (const key of ['first', 'second']) {
      expect(await spend(book, policy, key, 6n)).toBe(true);
      await book.hold(key, (held) => held.noteUnpaid({ why: 'refused', until: 9, is_final: false, sent_again: false }));
      expect(await book.spentToday()).toBe(0n);
    }
    expect(await spend(book, policy, 'too much', 9n)).toBe(false);
    expect(await spend(book, policy, 'third', 8n)).toBe(true);
  });

  test('what was not signed is forgotten, also when its work fails', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    const failing = book.hold('k', async (held) => {
      await held.reserve(samplePlan({ key: 'k', amountUnits: 10n }), policy);
      throw new Error('no answer');
    });
    await expect(failing).rejects.toThrow('no answer');
    expect(await book.list()).toEqual([]);
    expect(await spend(book, policy, 'other', 10n)).toBe(true);
  });
});

describe('what counts', () => {
  const UNTIL = NOON_MS / 1_000;
  const QUARTER_MS = 900_000;
  const said = { why: 'refused', until: UNTIL, is_final: false, sent_again: false } as const;
  const saved = { ...sampleProof(4n), proof: { ...sampleProof(4n).proof, valid_before: UNTIL } };
  const told = { at: new Date(NOON_MS).toISOString(), verified: true };
  const own = { ...saved, proof: { ...saved.proof, payer: samplePlan().payee } };
  /** State, changes, and whether the sum counts while the signature may be executed by any plausible clock, and afterwards. */
  const states: [string, Partial<SpendRecord>, boolean, boolean][] = [
    ['put aside', { state: 'reserved', saved: null }, true, true],
    ['signed', { state: 'signed' }, true, true],
    ['signed, and said to be unpaid', { state: 'signed', unpaid: said }, true, false],
    ['the same, sent once more since', { state: 'signed', unpaid: { ...said, sent_again: true } }, true, true],
    ['over', { state: 'over' }, true, false],
    ['paid', { state: 'settled', saved: null }, true, true],
    ['come without a payment', { state: 'settled', saved: null, unpaid: { ...said, why: 'nothing_due' } }, true, false],
    ['paid, as an import tells', { state: 'settled', saved: null, imported: told }, false, false],
    ['over, as an import tells, and not run out', { state: 'over', imported: told }, true, false],
    ['under way, as an import tells', { state: 'signed', imported: told }, true, true],
    ['signed for one’s own wallet', { state: 'signed', saved: own }, false, false],
  ];
  test.each(states)('%s', (_, changed, before, after) => {
    const { amountUnits: __, ...plan } = samplePlan();
    const record: SpendRecord = {
      ...plan,
      ...{ version: 1, sequence: 1, amount_units: '4', reserved_at: '', state: 'signed', saved, delivery: null },
      ...{ listed: null, ...changed },
    };
    const counted = (nowMs: number) => countSpend(record, nowMs).counted;
    expect(counted(NOON_MS + QUARTER_MS)).toBe(before ? 4n : 0n);
    expect(counted(NOON_MS + QUARTER_MS + 1)).toBe(after ? 4n : 0n);
  });
});

describe('records of another copy of the book', () => {
  test('one that is missing comes back and counts; what is here already, or is later, stays', async () => {
    const [old, fresh] = [await bookAt(newHome(), 10n), await bookAt(newHome(), 10n)];
    await spend(old.book, old.policy, 'k', 4n);
    const [signed] = await old.book.list();
    if (signed === undefined) throw new Error('nothing was written');
    expect(await fresh.book.restore(signed)).toBe(true);
    expect(await fresh.book.list()).toEqual([signed]);
    expect(await fresh.book.spentToday()).toBe(4n);
    await fresh.book.hold('k', async (held) => {
      // The signature exists already, so none is given here.
      expect([held.signed, await held.takeSignature()]).toEqual([true, false]);
      await held.finishSpend({ listed: { listing_id: 9, url: 'u', tx_hash: null } });
    });
    expect(await fresh.book.restore(signed)).toBe(false);
    expect(await fresh.book.list()).toMatchObject([{ state: 'settled' }]);
    expect(await fresh.book.restore({ ...signed, sequence: 2 })).toBe(true);
    expect(await fresh.book.restore(signed)).toBe(false);
  });
});

describe('a record that an import brings', () => {
  const signedExport = { at: '2026-03-01T12:00:00.000Z', verified: true };
  const mereWord = { ...signedExport, verified: false };
  const kept = { path: '/x', bytes: 1, media_type: 't', commitment: 'c', salt: 's', recovery_slip: null };
  const paid = { state: 'settled', delivery: { ...kept, receipt: RECEIPT }, saved: null } as const;
  const free = { state: 'settled', delivery: { ...kept, receipt: null }, amount_units: '0', saved: null } as const;
  const fee = { state: 'settled', listed: { listing_id: 9, url: 'u', tx_hash: null }, saved: null } as const;
  const [signed, over] = [{ state: 'signed' }, { state: 'over' }] as const;
  type Change = Partial<SpendRecord>;

  test.each<[string, Change, Change, boolean]>([
    ['its own payment under way: an end', signed, { ...over, imported: mereWord }, false],
    ['its own payment under way: the wallet’s end', signed, { ...over, imported: signedExport }, false],
    ['its own payment under way: the wallet’s goods', signed, { ...paid, imported: signedExport }, false],
    ['its own payment under way: another payment', signed, { ...signed, imported: signedExport }, false],
    ['its own paid goods: an end', paid, { ...over, imported: mereWord }, false],
    ['its own paid goods: free goods', paid, { ...free, imported: mereWord }, false],
    ['its own paid goods: the wallet’s end', paid, { ...over, imported: signedExport }, false],
    ['its own paid goods: the wallet’s payment under way', paid, { ...signed, imported: signedExport }, false],
    ['its own end: a payment under way', over, { ...signed, imported: mereWord }, false],
    ['its own end: the wallet’s payment under way', over, { ...signed, imported: signedExport }, true],
    [
      'a payment of the wallet’s export: an end',
      { ...signed, imported: signedExport },
      { ...over, imported: mereWord },
      false,
    ],
    [
      'a payment of the wallet’s export: the end of another',
      { ...signed, imported: signedExport },
      { ...over, imported: signedExport },
      false,
    ],
    ['a payment by mere word: free goods', { ...signed, imported: mereWord }, { ...free, imported: mereWord }, false],
    ['goods by mere word: free goods', { ...paid, imported: mereWord }, { ...free, imported: mereWord }, false],
    [
      'free goods by mere word: the wallet’s',
      { ...free, imported: mereWord },
      { ...paid, imported: signedExport },
      true,
    ],
    ['an earlier fee: a later one', { ...fee, imported: signedExport }, { ...fee, imported: signedExport }, true],
  ])('beside %s', async (_, here, brought, isTaken) => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await spend(book, policy, 'k', 4n);
    const [written] = await book.list();
    if (written === undefined) throw new Error('nothing was written');
    const known: SpendRecord = { ...written, ...here };
    await writeFile(book.pathOf(known), JSON.stringify(known));
    expect(await book.restore({ ...written, sequence: 2, ...brought })).toBe(isTaken);
    await book.hold('k', async (held) => expect(held.record?.sequence).toBe(isTaken ? 2 : 1));
  });

  test('ends no payment of this book, as one of before may lie above it', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await spend(book, policy, 'k', 4n);
    const [signedHere] = await book.list();
    if (signedHere === undefined) throw new Error('nothing was written');
    const above: SpendRecord = { ...signedHere, sequence: 2, state: 'over', imported: mereWord };
    await writeFile(book.pathOf(above), JSON.stringify(above), { mode: 0o600 });
    await book.hold('k', async () => {});
    expect((await book.list()).find(({ sequence }) => sequence === 1)).toMatchObject({ state: 'signed' });
  });
});

describe('the files', () => {
  test('a record is private, and holds the proof until it is settled', async () => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await spend(book, policy, 'k', 1n);
    const folder = join(book.folder, 'spends');
    const [file = ''] = await readdir(folder);
    expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    await book.hold('k', async (held) => {
      expect(await held.proofStore.load('k')).toEqual(sampleProof(1n));
      await held.proofStore.clear('k');
      expect(await held.proofStore.load('k')).toEqual(sampleProof(1n));
      await held.finishSpend({ listed: { listing_id: 9, url: 'u', tx_hash: null } });
    });
    expect(await readFile(join(folder, file), 'utf8')).not.toContain('X-PAYMENT');
    expect(await book.spentToday()).toBe(1n);
  });

  test.each(['{', '{"version":2}', ''])('a record that cannot be read (%j) stops all spending', async (text) => {
    const { book, policy } = await bookAt(newHome(), 10n);
    await spend(book, policy, 'k', 1n);
    const folder = join(book.folder, 'spends');
    const [file = ''] = await readdir(folder);
    await writeFile(join(folder, file), text);
    const other = book.hold('other', (held) => held.reserve(samplePlan({ key: 'other', amountUnits: 1n }), policy));
    await expect(other).rejects.toMatchObject({ parts: { reason: 'book_unreadable' } });
  });
});
