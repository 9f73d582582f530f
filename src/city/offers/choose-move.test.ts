import { expect, it } from 'vitest';
import type { Sighting } from '../../platform/chain/sighting.ts';
import type { Hex } from '../../platform/hex.ts';
import { chooseMove, type Move, type OpenClaim, type ReservedOffer } from './advance-offer.ts';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
const [ONE, TWO, SEEN] = [hash('1'), hash('2'), hash('3')];

type Decision = OpenClaim['decision'];
const sighting: Sighting = {
  txHash: ONE,
  blockNumber: 7n,
  blockHash: hash('b'),
  blockTime: 9n,
  sender: `0x${'f'.repeat(40)}`,
};
const unknown = (change: object = {}): Decision => ({
  outcome: 'unknown',
  why: 'not_mined',
  sighting: null,
  fits: false,
  ...change,
});
const FITS = unknown({ why: 'not_final', sighting, fits: true });
const MISFITS = unknown({ why: 'not_final', sighting });
const ABSENT = unknown();
const EMPTY = unknown({ why: 'not_final' });
const CONTRADICTS = unknown({ why: 'contradiction' });
const INVALID: Decision = {
  outcome: 'invalid',
  reason: 'wrong_payer',
  transfer: { ...sighting, logIndex: 0, value: 1n },
};

const NOTHING: Move = { act: null, seen: null };
const LAPSE: Move = { act: 'lapse' };
const find: Move = { act: 'find_invalid', reason: 'wrong_payer' };
const wait = (seen: Hex | null): Move => ({ act: 'await_payment', seen });

function held(decisions: Decision[], change: Partial<ReservedOffer> = {}): ReservedOffer {
  const claims = decisions.map((decision, at) => ({ txHash: at === 0 ? ONE : TWO, decision }));
  return {
    phase: 'reserved',
    claims,
    window: 'not_over',
    isLongOver: false,
    seenTxHash: null,
    isOverdue: false,
    ...change,
  };
}

const none = { window: { transfer: null } } as const;
const paid = { window: { transfer: SEEN } } as const;
const late = { ...none, isLongOver: true } as const;

it.each<[string, Decision[], Partial<ReservedOffer>, Move]>([
  ['nothing claimed, time left', [], {}, NOTHING],
  ['nothing claimed, the window unreadable', [], { window: 'unreadable' }, NOTHING],
  ['nothing claimed, the window over', [], none, LAPSE],
  ['nothing claimed, and a transfer in the window', [], paid, wait(SEEN)],
  ['one that fits', [FITS], {}, wait(ONE)],
  ['one that would be invalid', [MISFITS], {}, wait(null)],
  ['one that would be invalid, the window over', [MISFITS], none, wait(null)],
  ['one that would be invalid, and one that fits', [MISFITS, FITS], {}, wait(TWO)],
  ['an invalid one', [INVALID], {}, find],
  ['an invalid one, the window over', [INVALID], none, find],
  ['an invalid one, and one in no block', [INVALID, ABSENT], {}, find],
  ['an invalid one, and one that would be', [INVALID, MISFITS], {}, find],
  ['an invalid one, and one that fits', [INVALID, FITS], {}, wait(TWO)],
  ['an invalid one, and one that could not be read', [INVALID, 'unread'], {}, wait(null)],
  ['an invalid one, and one that was just named', [INVALID, 'new'], none, wait(null)],
  ['one in no block, time left', [ABSENT], {}, NOTHING],
  ['one in no block, the window over', [ABSENT], none, LAPSE],
  ['one with nothing of theirs, the window over', [EMPTY, ABSENT], none, LAPSE],
  ['one that is contradicted, the window over', [CONTRADICTS], none, NOTHING],
  ['one that is contradicted, the window long over', [CONTRADICTS], late, LAPSE],
  ['one that could not be read, the window over', ['unread'], none, NOTHING],
  ['one that could not be read, the window long over', ['unread'], late, LAPSE],
  ['one that was just named, the window long over', ['new'], late, NOTHING],
  ['one that was just named, and a transfer in the window', ['new'], paid, wait(SEEN)],
])('reserved, with %s', (_, decisions, change, expected) => {
  expect(chooseMove(held(decisions, change))).toEqual(expected);
});

const overdue = { isOverdue: true } as const;
const founder = (seen: Hex): Move => ({ act: 'hand_to_founder', seen });

it.each<[string, Decision[], Partial<ReservedOffer>, Move]>([
  ['nothing to be seen', [ABSENT], {}, NOTHING],
  ['the window over', [ABSENT], none, NOTHING],
  ['one that fits', [FITS], {}, { act: null, seen: ONE }],
  ['one that fits, another one seen before', [FITS], { seenTxHash: SEEN }, { act: null, seen: SEEN }],
  ['an invalid one', [INVALID], {}, find],
  ['an invalid one, one seen before', [INVALID], { seenTxHash: SEEN }, find],
  ['an invalid one, and one that fits', [INVALID, FITS], {}, { act: null, seen: TWO }],
  ['an invalid one, and one unread', [INVALID, 'unread'], {}, NOTHING],
  ['two hours gone', [ABSENT], overdue, { act: 'expire' }],
  ['two hours gone, and nothing readable', ['unread'], { ...overdue, window: 'unreadable' }, { act: 'expire' }],
  ['two hours gone, one that would be invalid', [MISFITS], overdue, { act: 'expire' }],
  ['two hours gone, one that fits', [FITS], overdue, founder(ONE)],
  ['two hours gone, one seen before', ['unread'], { ...overdue, seenTxHash: SEEN }, founder(SEEN)],
  ['two hours gone, an unclaimed transfer in the window', [ABSENT], { ...overdue, ...paid }, founder(SEEN)],
  ['two hours gone, an invalid one', [INVALID], overdue, find],
])('waiting for a payment, with %s', (_, decisions, change, expected) => {
  expect(chooseMove(held(decisions, { ...change, phase: 'payment_pending' }))).toEqual(expected);
});
