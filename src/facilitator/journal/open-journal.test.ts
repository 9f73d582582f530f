import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { WORLD_ACCOUNTS } from '../../local/chain/accounts.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { printLine } from './append-file.ts';
import { type Ending, type Entry, keyOf, newestOf, newestPerNonce, type SignedTransaction } from './entry.ts';
import { type Journal, openJournal } from './open-journal.ts';

const START = Date.UTC(2026, 10, 20);
const VALID_BEFORE = BigInt(START / 1000 + 120);
const PAYER = filled('aa', 20);

let folder: string;
let now: number;
let logged: ReturnType<typeof recordingLog>;
const clock: Clock = { now: () => now, sleep: async () => {} };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-journal-'));
  now = START;
  logged = recordingLog();
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((journal) => journal.close()));
  await rm(folder, { recursive: true, force: true });
});

const opened: Journal[] = [];
const open = async (chainId = 8453n, idleLines = 1_000): Promise<Journal> => {
  const journal = await openJournal({ folder, chainId, clock, log: logged.log, idleLines });
  opened.push(journal);
  return journal;
};
const path = (): string => join(folder, 'journal.log');
const text = (): Promise<string> => readFile(path(), 'utf8');

function filled(byte: string, bytes: number): Hex {
  const hex = `0x${byte.repeat(bytes)}`;
  if (!isHex(hex, bytes)) throw new Error('not hex');
  return hex;
}

function transaction(byte: string, accountNonce = 7): SignedTransaction {
  const prices = { gas: 200_000n, maxFeePerGas: 9n, maxPriorityFeePerGas: 1n };
  return { hash: filled(byte, 32), raw: filled(byte, 100), accountNonce, signedAt: START, ...prices, fills: false };
}

function entry(byte: string, changed: Partial<Entry> = {}): Entry {
  const rest = { value: 1n, validAfter: 0n, validBefore: VALID_BEFORE, nonce: filled(byte, 32) };
  return {
    authorization: { from: PAYER, to: filled('bb', 20), ...rest },
    sender: filled('cc', 20),
    accountNonce: 7,
    hasCode: true,
    pool: 'contract',
    reservedUnits: 40n,
    estimatedGas: 90_000n,
    transactions: [transaction(byte)],
    ending: null,
    isFinal: false,
    ...changed,
  };
}

function ending(state: Ending['state'], changed: Partial<Ending> = {}): Ending {
  const cost = { gasUsed: 80_000n, costWei: 9n, lossUnits: 30n, cause: 'unknown' };
  return { state, at: START, hash: filled('01', 32), blockNumber: 5n, ...cost, ...changed };
}

test('what was written is there again after a new start: every transaction, the end, what was lost, who rests, who is known', async () => {
  const before = await open();
  const first = await before.add(entry('01'));
  const second = await before.add(entry('02', { accountNonce: 6, transactions: [transaction('02', 6)] }));
  await before.addTransaction(second, transaction('22', 6));
  const rest = { payer: PAYER, until: START + 120_000, strikes: 2 };
  await before.end(first, ending('reverted'), rest);
  await before.markFinal(second, [filled('dd', 20)]);
  await before.close();
  const after = await open();
  expect(after.find(entry('01').authorization)).toEqual(entry('01', { ending: ending('reverted') }));
  expect(after.openEntries()).toEqual([
    entry('02', { accountNonce: 6, transactions: [transaction('02', 6), transaction('22', 6)], isFinal: false }),
  ]);
  expect(after.cooldowns().get(PAYER)).toEqual(rest);
  expect([after.isKnown(filled('dd', 20)), after.isKnown(PAYER)]).toEqual([true, false]);
});

test('a further place, and a dearer transaction for the place before, are there again, also in a fresh file', async () => {
  const before = await open();
  const moved = await before.add(entry('01'));
  const sent = [transaction('11', 9), transaction('12'), transaction('13', 9)];
  for (const one of sent) await before.addTransaction(moved, one);
  expect([moved.accountNonce, newestOf(moved)]).toEqual([9, transaction('13', 9)]);
  expect(newestPerNonce(moved)).toEqual([transaction('12'), transaction('13', 9)]);
  // The first start reads single lines, the second a freshly written file.
  for (const _ of ['lines', 'afresh']) {
    await opened.at(-1)?.close();
    const after = await open();
    expect(after.openEntries()).toEqual([entry('01', { accountNonce: 9, transactions: [transaction('01'), ...sent] })]);
  }
});

test('no other user can read it', async () => {
  await (await open()).add(entry('01'));
  expect((await stat(path())).mode & 0o777).toBe(0o600);
});

test('an authorization has one entry for ever', async () => {
  const journal = await open();
  await journal.end(await journal.add(entry('01')), ending('reverted'), null);
  await expect(journal.add(entry('01', { accountNonce: 8 }))).rejects.toThrow('already has an entry');
});

test('many that are added at once wait for the disk together', async () => {
  const journal = await open();
  const before = journal.stats();
  await Promise.all(Array.from({ length: 50 }, (_, n) => journal.add(entry((n + 16).toString(16)))));
  const after = journal.stats();
  expect(after.appends - before.appends).toBe(50);
  expect(after.syncs - before.syncs).toBeLessThanOrEqual(2);
  expect((await open()).openEntries()).toHaveLength(50);
});

test('an entry is kept until its authorization has run out below the finalized head, and what it lost for a day', async () => {
  const journal = await open();
  await journal.end(await journal.add(entry('01')), ending('reverted'), null);
  await journal.add(entry('02'));
  now = START + 3 * 60 * 60 * 1000;
  await journal.prune(VALID_BEFORE);
  expect(journal.find(entry('01').authorization)).not.toBeNull();
  await journal.prune(VALID_BEFORE + 1n);
  expect(journal.find(entry('01').authorization)).toBeNull();
  expect(journal.openEntries()).toHaveLength(1);
  expect(journal.losses()).toEqual([{ at: START, pool: 'contract', units: 30n, isSale: false }]);
  await journal.close();
  // The old lines stay in the file until a fresh one replaces it, so the pruned entry is back after the restart.
  const again = await open(8453n, 0);
  expect(again.find(entry('01').authorization)).not.toBeNull();
  await again.prune(VALID_BEFORE + 1n);
  await again.close();
  const last = await open();
  expect(last.find(entry('01').authorization)).toBeNull();
  expect([last.losses(), last.openEntries().length]).toEqual([
    [{ at: START, pool: 'contract', units: 30n, isSale: false }],
    1,
  ]);
  now = START + 25 * 60 * 60 * 1000;
  await last.close();
  expect((await open()).losses()).toEqual([]);
});

test('gas of a cheap sale is told from gas of a revert, also once the sale is forgotten', async () => {
  const journal = await open();
  const sold = ending('succeeded', { cause: null });
  await journal.end(await journal.add(entry('01', { isFinal: true })), sold, null);
  await journal.prune(VALID_BEFORE + 1n);
  await journal.close();
  const again = await open(8453n, 0);
  await again.prune(VALID_BEFORE + 1n);
  const loss = { at: START, pool: 'contract', units: 30n, isSale: true };
  expect(again.losses()).toEqual([loss]);
  await again.close();
  expect((await open()).losses()).toEqual([loss]);
});

describe('a file that is not whole', () => {
  test('half a line at the end is from a crash, and nothing was done for it', async () => {
    const journal = await open();
    await journal.add(entry('01'));
    const whole = await text();
    await journal.add(entry('02'));
    await journal.close();
    const second = (await text()).slice(whole.length);
    await writeFile(path(), whole + second.slice(0, second.length / 2));
    const after = await open();
    expect(after.openEntries()).toHaveLength(1);
    expect(after.isBlocked(entry('02').authorization)).toBe(false);
    expect(logged.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  const damages: [string, (line: string) => string][] = [
    ['one letter of it', (line) => line.replace('"account_nonce":7', '"account_nonce":8')],
    ['its keys', (line) => line.replaceAll(/[0-9a-f]{40}-[0-9a-f]{64}/g, (key) => `${key.slice(0, -1)}z`)],
    ['all of it', (line) => 'x'.repeat(line.length)],
    ['that it was ever there', () => ''],
  ];
  test.each(damages)('a damaged line, %s, blocks its authorization for ever, and is an error', async (_, damage) => {
    const journal = await open();
    for (const byte of ['01', '02', '03']) await journal.add(entry(byte));
    await journal.close();
    const lines = (await text()).split('\n');
    const at = lines.findIndex((line) => line.includes(`"authorization_nonce":"${filled('02', 32)}"`));
    const damaged = damage(lines[at] ?? '');
    lines.splice(at, 1, ...(damaged === '' ? [] : [damaged]));
    await writeFile(path(), lines.join('\n'));
    const starts = [await open(), await open()];
    for (const after of starts) {
      expect(after.openEntries()).toHaveLength(2);
      expect(['01', '02', '03'].map((byte) => after.isBlocked(entry(byte).authorization))).toEqual([
        false,
        true,
        false,
      ]);
    }
    expect(logged.lines.filter(({ event }) => event === 'journal_damaged')).toHaveLength(1);
    expect((await readdir(folder)).filter((name) => name.includes('damaged'))).toHaveLength(1);
  });

  test('where it cannot be told what lost lines were about, it does not open', async () => {
    const journal = await open();
    for (const byte of ['01', '02', '03']) await journal.add(entry(byte));
    await journal.close();
    const lines = (await text()).split('\n');
    await writeFile(path(), [lines[0], 'nothing', 'nothing', ...lines.slice(3)].join('\n'));
    await expect(open()).rejects.toThrow(/^FACILITATOR_DATA_DIR: the journal is damaged/);
    await expect(open()).rejects.toThrow(/^FACILITATOR_DATA_DIR: the journal is damaged/);
  });

  test('a line that is whole and not understood, as a later version wrote it, is not passed over', async () => {
    const key = keyOf(entry('01').authorization);
    await writeFile(path(), printLine({ number: 1, key, previousKey: 'first', text: '{"type":"of-tomorrow"}' }));
    await expect(open()).rejects.toThrow(/^FACILITATOR_DATA_DIR: line 1 of the journal is of another version/);
  });

  test('a journal of another chain is refused', async () => {
    await open();
    await expect(open(84532n)).rejects.toThrow(/^FACILITATOR_DATA_DIR holds settlements of chain 8453/);
  });
});

describe('the folder of an earlier version', () => {
  const earlier = () => join(folder, 'settlements');

  async function writeEarlier(byte: string, state: string, chainId = '8453'): Promise<void> {
    const { authorization } = entry(byte);
    const raw = await WORLD_ACCOUNTS.facilitator.signer.signTransaction({
      type: 'eip1559',
      chainId: 8453,
      nonce: 7,
      to: PAYER,
      gas: 200_000n,
      maxFeePerGas: 9n,
      maxPriorityFeePerGas: 1n,
    });
    const fields = {
      payer: authorization.from,
      payee: authorization.to,
      value_units: '1',
      valid_after: '0',
      valid_before: authorization.validBefore.toString(),
      authorization_nonce: authorization.nonce,
      transaction_hash: filled(byte, 32),
      account_nonce: 7,
      sender: filled('cc', 20),
      chain_id: chainId,
      signed_at: new Date(START).toISOString(),
      state,
      raw_transaction: raw,
    };
    await mkdir(earlier(), { recursive: true });
    await writeFile(join(earlier(), `${keyOf(authorization)}.json`), `${JSON.stringify(fields, null, 2)}\n`);
  }

  test('is carried over once, with what is open, what failed and what cannot be read', async () => {
    const states = ['open', 'succeeded', 'reverted', 'replaced', 'expired'];
    for (const [n, state] of states.entries()) await writeEarlier(`0${n + 1}`, state);
    await writeFile(join(earlier(), `${keyOf(entry('09').authorization)}.json`), '{"payer": 1}');
    await writeFile(join(earlier(), 'x.json.unfinished'), '{');
    const starts = [await open(), await open()];
    for (const journal of starts) {
      const found = states.map((_, n) => journal.find(entry(`0${n + 1}`).authorization));
      expect(found.map((one) => one?.ending?.state ?? 'open')).toEqual([
        ...['open', 'succeeded', 'reverted', 'replaced', 'replaced'],
      ]);
      expect(journal.openEntries()).toEqual([found[0]]);
      expect(found[0]?.transactions[0]).toMatchObject({ hash: filled('01', 32), maxFeePerGas: 9n, gas: 200_000n });
      expect(journal.isBlocked(entry('09').authorization)).toBe(true);
    }
    expect((await readdir(folder)).sort()).toEqual(['journal.log', 'settlements.earlier']);
    expect(logged.lines.filter(({ event }) => event === 'journal_imported')).toHaveLength(1);
  });

  test('of another chain is refused', async () => {
    await writeEarlier('01', 'open', '84532');
    await expect(open()).rejects.toThrow(/^FACILITATOR_DATA_DIR holds settlements of chain 84532/);
  });
});
