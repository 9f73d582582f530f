import { describe, expect, it, test } from 'vitest';
import type { Block, Log, Receipt } from '../../../../platform/chain/reads.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic, TRANSFER_TOPIC } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { type ClaimEvidence, type ClaimTerms, decideClaim } from './decide-claim.ts';

// One test case for each rule. test/judge checks combinations of rules against an independent implementation.

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const wallet = (digit: string): Hex => `0x${digit.repeat(40)}`;
const USDC = wallet('a');
const PAYER = wallet('1');
const PAYEE = wallet('2');
const STRANGER = wallet('3');
const TX = word('c');
const BLOCK = word('b');
const TIME = 1_800_000_000n;
const PRICE = 2_500_000n;

const terms: ClaimTerms = {
  chainId: 8453n,
  asset: USDC,
  payer: PAYER,
  payee: PAYEE,
  minimumUnits: PRICE,
  windowFrom: TIME - 60n,
  windowTo: TIME + 540n,
  surplus: false,
  removedAt: null,
};

function log(logIndex: number, topics: Hex[], data: Hex, changes: Partial<Log> = {}): Log {
  const place = { blockNumber: 100n, blockHash: BLOCK, transactionHash: TX, removed: false };
  return { address: USDC, topics, data, logIndex, ...place, ...changes };
}
const transfer = (given: { at?: number; from?: Hex; to?: Hex; units?: bigint; address?: Hex } = {}): Log => {
  const { at = 4, from = PAYER, to = PAYEE, units = PRICE, address = USDC } = given;
  const data: Hex = `0x${units.toString(16).padStart(64, '0')}`;
  return log(at, [TRANSFER_TOPIC, addressTopic(from), addressTopic(to)], data, { address });
};
const used = (by: Hex, changes: Partial<Log> = {}): Log =>
  log(3, [AUTHORIZATION_USED_TOPIC, addressTopic(by), word('7')], '0x', changes);

interface Changes extends Partial<ClaimEvidence> {
  logs?: Log[];
  status?: Receipt['status'];
  inBlock?: Partial<Block>;
}

function evidence({ logs = [transfer()], status = 'success', inBlock = {}, ...changes }: Changes = {}): ClaimEvidence {
  const place = { transactionHash: TX, blockNumber: 100n, blockHash: BLOCK };
  return {
    chainId: 8453n,
    finalized: { number: 110n, hash: word('d'), timestamp: TIME + 20n },
    receipt: { ...place, status, from: wallet('f'), to: USDC, logs },
    block: { number: 100n, hash: BLOCK, parentHash: word('0'), timestamp: TIME, transactions: [TX], ...inBlock },
    transfersInBlock: logs.filter(({ address, topics }) => address === USDC && topics[2] === addressTopic(PAYEE)),
    isOfLedger: false,
    ...changes,
  };
}

const decided = (changes: Changes = {}, asked: Partial<ClaimTerms> = {}) =>
  decideClaim(evidence(changes), { ...terms, ...asked });
const unknown = (why: string) => ({ outcome: 'unknown', why });
const refused = (reason: string) => ({ outcome: 'refused', reason });
const review = (reason: string) => ({ outcome: 'review', reason });
const finalAt = (number: bigint, hash: Hex = word('d')) => ({ finalized: { number, hash, timestamp: TIME + 20n } });

describe('settled', () => {
  it('says where the transfer stands, which log it is, and what it moved', () => {
    const place = { txHash: TX, blockNumber: 100n, blockHash: BLOCK, blockTime: TIME, sender: wallet('f') };
    const transferred = { ...place, logIndex: 4, value: PRICE };
    expect(decided()).toEqual({ outcome: 'settled', transfer: transferred });
  });

  test.each<[string, Log[], { logIndex: number; value: bigint }]>([
    ['a tip is taken as it comes', [transfer({ units: PRICE + 1n })], { logIndex: 4, value: PRICE + 1n }],
    [
      'the first that is enough counts, whatever else is in the receipt',
      [transfer({ at: 1, from: STRANGER }), transfer({ at: 2, units: 1n }), transfer({ at: 5 }), transfer({ at: 6 })],
      { logIndex: 5, value: PRICE },
    ],
    [
      'another’s authorization in the same transaction is no matter',
      [used(STRANGER), transfer()],
      { logIndex: 4, value: PRICE },
    ],
    [
      'nor is an event of that name by another contract',
      [used(PAYER, { address: STRANGER }), transfer()],
      { logIndex: 4, value: PRICE },
    ],
  ])('%s', (_name, logs, found) => {
    expect(decided({ logs })).toMatchObject({ outcome: 'settled', transfer: found });
  });

  it('at the very finalized block, if its hash is the same', () => {
    expect(decided(finalAt(100n, BLOCK))).toMatchObject({ outcome: 'settled' });
  });
});

describe('unknown, to be looked at again', () => {
  test.each<[string, Changes, string]>([
    ['another chain', { chainId: 1n }, 'wrong_chain'],
    ['no block at that height', { block: null }, 'not_canonical'],
    ['another block at that height', { inBlock: { hash: word('e') } }, 'not_canonical'],
    ['a block of another height', { inBlock: { number: 101n } }, 'not_canonical'],
    ['a block that does not list the transaction', { inBlock: { transactions: [] } }, 'not_canonical'],
    ['the block’s index knows no such transfer', { transfersInBlock: [] }, 'contradiction'],
    ['the block’s index knows one more', { transfersInBlock: [transfer(), transfer({ at: 9 })] }, 'contradiction'],
    ['the block’s index knows another amount', { transfersInBlock: [transfer({ units: 1n })] }, 'contradiction'],
    ['a transfer that is gone', { logs: [{ ...transfer(), removed: true }] }, 'contradiction'],
    ['an authorization that is gone', { logs: [used(PAYER, { removed: true }), transfer()] }, 'contradiction'],
    ['a failed transaction that moved money all the same', { status: 'reverted' }, 'contradiction'],
    ['no finalized head', { finalized: null }, 'no_finalized_head'],
    ['one block above the finalized head', finalAt(99n), 'not_final'],
    ['at the height of the finalized head, which is another block', finalAt(100n), 'contradiction'],
  ])('%s', (_name, changes, why) => {
    expect(decided(changes)).toMatchObject(unknown(why));
  });

  it('tells where it was seen as long as only finality is missing', () => {
    expect(decided({ finalized: null })).toMatchObject({ sighting: { txHash: TX, blockNumber: 100n } });
    expect(decided(finalAt(99n))).toMatchObject({ sighting: { txHash: TX, blockNumber: 100n } });
    expect(decided({ transfersInBlock: [] })).toMatchObject({ sighting: null });
  });

  it('does not refuse what failed before that is final', () => {
    expect(decided({ status: 'reverted', logs: [], ...finalAt(99n) })).toMatchObject(unknown('not_final'));
  });
});

describe('a transaction without a receipt', () => {
  const missing = (seconds: bigint): Changes => ({
    receipt: null,
    block: null,
    finalized: { number: 110n, hash: word('d'), timestamp: terms.windowTo + seconds },
  });

  it('stays unknown until a finalized block lies at or past the end of the window', () => {
    expect(decided(missing(-1n))).toMatchObject(unknown('not_mined'));
    expect(decided({ receipt: null, block: null, finalized: null })).toMatchObject(unknown('not_mined'));
  });

  it('is refused from then on', () => {
    expect(decided(missing(0n))).toEqual(refused('transfer_not_found'));
    expect(decided(missing(1n))).toEqual(refused('transfer_not_found'));
  });

  it('is not refused on the word of another chain', () => {
    expect(decided({ ...missing(1n), chainId: 1n })).toMatchObject(unknown('wrong_chain'));
  });
});

describe('refused, taking nothing up', () => {
  test.each<[string, Changes, string]>([
    ['a failed transaction', { status: 'reverted', logs: [] }, 'transfer_not_found'],
    ['no transfer at all', { logs: [] }, 'transfer_not_found'],
    ['to another payee', { logs: [transfer({ to: STRANGER })] }, 'transfer_not_found'],
    ['payer and payee exchanged', { logs: [transfer({ from: PAYEE, to: PAYER })] }, 'transfer_not_found'],
    ['of another token', { logs: [transfer({ address: STRANGER })] }, 'transfer_not_found'],
    ['of nothing, which anybody can send in another’s name', { logs: [transfer({ units: 0n })] }, 'transfer_not_found'],
    [
      'by another payer, who paid less',
      { logs: [transfer({ from: STRANGER, units: PRICE - 1n })] },
      'transfer_not_found',
    ],
    ['by another payer, who paid enough', { logs: [transfer({ from: STRANGER })] }, 'wrong_payer'],
    ['by an authorization of the ledger', { isOfLedger: true, logs: [used(PAYER), transfer()] }, 'transaction_used'],
    [
      'by an authorization of the ledger, for any payee',
      { isOfLedger: true, logs: [used(STRANGER)] },
      'transaction_used',
    ],
  ])('%s', (_name, changes, reason) => {
    expect(decided(changes)).toEqual(refused(reason));
  });
});

describe('review, because the payee has the payer’s money', () => {
  it('one unit too little', () => {
    expect(decided({ logs: [transfer({ units: PRICE - 1n })] })).toMatchObject(review('amount_too_little'));
  });

  it('parts are not added up, and the first of the largest stands for them', () => {
    const half = PRICE / 2n;
    const logs = [1n, half, half].map((units, index) => transfer({ at: 4 + index, units }));
    expect(decided({ logs })).toMatchObject({ ...review('amount_too_little'), transfer: { logIndex: 5, value: half } });
  });

  it('by an authorization that no payment here knows', () => {
    expect(decided({ logs: [used(PAYER), transfer()] })).toMatchObject(review('authorized_transfer'));
  });

  it('outside the window, which begins with its first second and ends before its last', () => {
    const at = (timestamp: bigint) => decided({ inBlock: { timestamp } });
    expect(at(terms.windowFrom - 1n)).toMatchObject(review('outside_window'));
    expect(at(terms.windowFrom)).toMatchObject({ outcome: 'settled' });
    expect(at(terms.windowTo - 1n)).toMatchObject({ outcome: 'settled' });
    expect(at(terms.windowTo)).toMatchObject(review('outside_window'));
  });

  it('in a block at or after the removal of the listing, to the millisecond', () => {
    const removed = (milliseconds: number) => decided({}, { removedAt: Number(TIME) * 1000 + milliseconds });
    expect(removed(-1)).toMatchObject(review('paid_after_removal'));
    expect(removed(0)).toMatchObject(review('paid_after_removal'));
    expect(removed(1)).toMatchObject({ outcome: 'settled' });
  });

  it('for goods that the buyer has already', () => {
    expect(decided({}, { surplus: true })).toMatchObject(review('already_bought'));
  });

  it('one reason is given, in this order', () => {
    const asked = { windowTo: TIME, removedAt: 0, surplus: true };
    const little = transfer({ units: 1n });
    expect(decided({ logs: [used(PAYER), little] }, asked)).toMatchObject(review('authorized_transfer'));
    expect(decided({ logs: [little] }, asked)).toMatchObject(review('amount_too_little'));
    expect(decided({}, asked)).toMatchObject(review('outside_window'));
    expect(decided({}, { ...asked, windowTo: TIME + 1n })).toMatchObject(review('paid_after_removal'));
  });

  it('not before it is final', () => {
    expect(decided({ logs: [transfer({ units: 1n })], ...finalAt(99n) })).toMatchObject(unknown('not_final'));
  });
});
