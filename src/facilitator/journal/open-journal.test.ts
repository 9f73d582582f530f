import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordingLog } from '../../../test/support/recording-log.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import type { StoredEntry } from './entry.ts';
import { type Journal, openJournal } from './open-journal.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const START = Date.UTC(2026, 10, 20);

let folder: string;
let now: number;
const clock: Clock = { now: () => now, sleep: async () => {} };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-journal-'));
  now = START;
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (chainId = 8453n): Promise<Journal> => openJournal({ folder, chainId, clock, log: recordingLog().log });

function filled(byte: string, bytes: number): Hex {
  const hex = `0x${byte.repeat(bytes)}`;
  if (!isHex(hex, bytes)) throw new Error('not hex');
  return hex;
}

function entry(byte: string, changed: Partial<StoredEntry> = {}): StoredEntry {
  return {
    authorization: {
      from: filled('aa', 20),
      to: filled('bb', 20),
      value: 1n,
      validAfter: 0n,
      validBefore: BigInt(START / 1000 + 120),
      nonce: filled(byte, 32),
    },
    hash: filled(byte, 32),
    accountNonce: 7,
    sender: filled('cc', 20),
    signedAt: START,
    state: 'open',
    raw: filled(byte, 100),
    ...changed,
  };
}

test('what was added is there again after a new start, with its state and its bytes', async () => {
  const before = await open();
  await before.add(entry('01'));
  await before.add(entry('02'));
  await before.mark(entry('02'), 'succeeded');
  const after = await open();
  const { raw, ...rest } = entry('01');
  expect(after.open()).toEqual([rest]);
  expect(await after.readRaw(rest)).toBe(raw);
  expect(after.findByHash(filled('02', 32))?.state).toBe('succeeded');
});

test('its files can be read by nobody else', async () => {
  const journal = await open();
  await journal.add(entry('01'));
  const [file = ''] = await readdir(folder);
  expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
});

test('an entry for the same authorization takes the place of the earlier one', async () => {
  const journal = await open();
  await journal.add(entry('01', { state: 'replaced' }));
  await journal.add(entry('01', { hash: filled('09', 32) }));
  // Too late, and about the other transaction.
  await journal.mark(entry('01'), 'reverted');
  expect(journal.findByHash(filled('01', 32))).toBeNull();
  expect(journal.find(entry('01').authorization)).toMatchObject({ hash: filled('09', 32), state: 'open' });
  expect((await open()).open()).toHaveLength(1);
});

test('after a day what is over is forgotten, and what is open only when its authorization is long dead', async () => {
  const journal = await open();
  const lasting = entry('03');
  lasting.authorization.validBefore = BigInt((START + 3 * DAY_MS) / 1000);
  await journal.add(entry('01', { state: 'succeeded' }));
  await journal.add(lasting);
  now = START + DAY_MS - 1;
  await journal.sweep();
  expect(await readdir(folder)).toHaveLength(2);
  now = START + DAY_MS + 1;
  await journal.sweep();
  expect(journal.open()).toHaveLength(1);
  expect(await readdir(folder)).toHaveLength(1);
  now = START + 4 * DAY_MS + 1;
  await journal.sweep();
  expect(await readdir(folder)).toEqual([]);
});

test('half-written files of a crash are removed, and a damaged one stops nothing', async () => {
  await (await open()).add(entry('01'));
  await writeFile(join(folder, 'x.json.unfinished'), '{');
  await writeFile(join(folder, 'y.json'), '{"payer": 1}');
  const journal = await open();
  expect(journal.open()).toHaveLength(1);
  expect(await readdir(folder)).not.toContain('x.json.unfinished');
});

test('a folder of another chain is refused', async () => {
  await (await open()).add(entry('01'));
  await expect(open(84532n)).rejects.toThrow(/^FACILITATOR_DATA_DIR holds settlements of chain 8453/);
});
