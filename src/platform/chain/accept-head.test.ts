import { expect, it } from 'vitest';
import { acceptHead, type HeadReading, type Watermark } from './accept-head.ts';
import type { FinalizedHead } from './sighting.ts';

const NOW = 1_800_000_000_000;
const SECONDS = BigInt(NOW / 1000);
const hash = (digit: string): `0x${string}` => `0x${digit.repeat(64)}`;
const head = (number: bigint, digit: string, age: bigint): FinalizedHead => ({
  number,
  hash: hash(digit),
  timestamp: SECONDS - age,
});
const finalized = head(100n, 'a', 600n);
const reading: HeadReading = { latest: head(700n, 'f', 2n), finalized, reread: finalized, atWatermark: null };
const mark: Watermark = { ...head(90n, '9', 620n), acceptedAt: NOW - 20_000 };
const held: HeadReading = { ...reading, atWatermark: head(90n, '9', 620n) };

it('accepts a canonical head of the minimum age', () => {
  expect(acceptHead(reading, null, NOW, 300)).toEqual({ accepted: finalized });
  expect(acceptHead(held, mark, NOW, 300)).toEqual({ accepted: finalized });
});

it.each<[string, HeadReading, Watermark | null]>([
  ['no_finalized', { ...reading, finalized: null }, null],
  ['beyond_latest', { ...reading, latest: head(99n, 'f', 2n) }, null],
  ['not_canonical', { ...reading, reread: null }, null],
  ['not_canonical', { ...reading, reread: head(100n, 'b', 600n) }, null],
  ['newer_than_clock', { ...reading, finalized: head(100n, 'a', -1n), reread: head(100n, 'a', -1n) }, null],
  ['too_young', { ...reading, finalized: head(100n, 'a', 299n), reread: head(100n, 'a', 299n) }, null],
  ['watermark_contradicted', { ...held, atWatermark: head(90n, '8', 620n) }, mark],
  ['watermark_contradicted', { ...held, atWatermark: null }, mark],
  [
    'behind_watermark',
    { ...held, finalized: head(80n, '7', 640n), reread: head(80n, '7', 640n), atWatermark: null },
    mark,
  ],
])('does not believe: %s', (why, given, watermark) => {
  expect(acceptHead(given, watermark, NOW, 300)).toMatchObject({ unknown: why });
});

it('does not believe a head that ran ahead of the time that went by', () => {
  const old: Watermark = { ...head(90n, '9', 1_500n), acceptedAt: NOW - 10_000 };
  const jumped = { ...held, atWatermark: head(90n, '9', 1_500n) };
  expect(acceptHead(jumped, old, NOW, 300)).toEqual({ unknown: 'outruns_time' });
  expect(acceptHead(jumped, { ...old, acceptedAt: NOW - 900_000 }, NOW, 300)).toEqual({ accepted: finalized });
});

it('leaves age and pace out where no minimum age is set', () => {
  const young = { ...held, finalized: head(100n, 'a', 0n), reread: head(100n, 'a', 0n) };
  expect(acceptHead(young, { ...mark, timestamp: 0n }, NOW, 0)).toMatchObject({ accepted: { number: 100n } });
});

it('keeps the watermark when the provider’s tag lags but its chain still holds that block', () => {
  const lagging = { ...held, finalized: head(80n, '7', 640n), reread: head(80n, '7', 640n) };
  expect(acceptHead(lagging, mark, NOW, 300)).toMatchObject({ accepted: { number: 90n, hash: hash('9') } });
});

it('contradiction with the watermark raises an alarm, lag does not', () => {
  expect(acceptHead({ ...held, atWatermark: null }, mark, NOW, 300)).toHaveProperty('alarm', true);
  expect(acceptHead({ ...reading, finalized: null }, null, NOW, 300)).not.toHaveProperty('alarm');
});
