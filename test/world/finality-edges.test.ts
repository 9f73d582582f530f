import { expect, it } from 'vitest';
import { checkClaim } from '../../src/platform/chain/accept-head.ts';

// Tests to the millisecond the age at which a block becomes final.

const AGE_SECONDS = 600;
const SECOND = 1_790_000_000;
const finalized = { number: 90n, hash: `0x${'0a'.repeat(32)}`, timestamp: BigInt(SECOND) } as const;
const latest = { number: 100n, hash: `0x${'0b'.repeat(32)}`, timestamp: BigInt(SECOND + AGE_SECONDS) } as const;

const at = (milliseconds: number, minAgeSeconds: number) =>
  checkClaim({ latest, finalized, reread: finalized }, milliseconds, minAgeSeconds);

it('a block is old enough to be final at that very age, and not a millisecond earlier', () => {
  const oldEnough = (SECOND + AGE_SECONDS) * 1000;
  expect(at(oldEnough, AGE_SECONDS)).toEqual({ finalized });
  expect(at(oldEnough - 1, AGE_SECONDS)).toEqual({ implausible: 'too_young' });
});

it('a block of this very second is not newer than the clock', () => {
  expect(at(SECOND * 1000, 0)).toEqual({ finalized });
  expect(at(SECOND * 1000 - 1, 0)).toEqual({ implausible: 'newer_than_clock' });
});
