import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Block, Log, Receipt } from '../../platform/chain/reads.ts';
import type { TransferEvidence } from '../../platform/chain/sighting.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import { type ClaimTerms, decideClaim } from './decide-claim.ts';

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const wallet = (digit: string): Hex => `0x${digit.repeat(40)}`;
const USDC = wallet('a');
const PAYER = wallet('1');
const PAYEE = wallet('2');
const STRANGER = wallet('3');
const OTHER = wallet('4');
const TX = word('c');
const BLOCK = word('b');
const FROM = 1_800_000_000n;
const TO = FROM + 300n;
const PRICE = 2_500_000n;

const terms: ClaimTerms = {
  chainId: 8453n,
  asset: USDC,
  payer: PAYER,
  payee: PAYEE,
  minimumUnits: PRICE,
  windowFrom: FROM,
  windowTo: TO,
};

interface Given {
  at?: number;
  from?: Hex;
  to?: Hex;
  units?: bigint;
  address?: Hex;
}

function transfer({ at = 4, from = PAYER, to = PAYEE, units = PRICE, address = USDC }: Given = {}): Log {
  return {
    address,
    topics: [TRANSFER_TOPIC, addressTopic(from), addressTopic(to)],
    data: `0x${units.toString(16).padStart(64, '0')}`,
    logIndex: at,
    blockNumber: 100n,
    blockHash: BLOCK,
    transactionHash: TX,
    removed: false,
  };
}

interface Changes extends Partial<TransferEvidence> {
  logs?: Log[];
  status?: Receipt['status'];
  inBlock?: Partial<Block>;
}

const FINALIZED = { number: 110n, hash: word('d'), timestamp: TO + 20n };

function evidence({
  logs = [transfer()],
  status = 'success',
  inBlock = {},
  ...changes
}: Changes = {}): TransferEvidence {
  const place = { transactionHash: TX, blockNumber: 100n, blockHash: BLOCK };
  const concerns = (log: Log): boolean =>
    log.address === USDC && (log.topics[1] === addressTopic(PAYER) || log.topics[2] === addressTopic(PAYEE));
  return {
    chainId: 8453n,
    finalized: FINALIZED,
    receipt: { ...place, status, from: wallet('f'), to: USDC, logs },
    block: { number: 100n, hash: BLOCK, parentHash: word('0'), timestamp: FROM, transactions: [TX], ...inBlock },
    transfersInBlock: logs.filter(concerns),
    ...changes,
  };
}

const decided = (changes: Changes = {}) => decideClaim(evidence(changes), terms);
const place = { txHash: TX, blockNumber: 100n, blockHash: BLOCK, blockTime: FROM, sender: wallet('f') };
const paid = (logIndex: number, value: bigint) => ({
  outcome: 'paid',
  transfer: { ...place, logIndex, value },
});
const invalid = (reason: string, logIndex: number, value: bigint) => ({
  outcome: 'invalid',
  reason,
  transfer: { ...place, logIndex, value },
});
const notFound = { outcome: 'refused', reason: 'transfer_not_found' };
const unknown = (why: string, seen = false, fits = false) => ({
  outcome: 'unknown',
  why,
  sighting: seen ? place : null,
  fits,
});

describe('final', () => {
  it.each<[string, Log[], object]>([
    ['one transfer of the price', [transfer()], paid(4, PRICE)],
    ['a tip', [transfer({ units: PRICE + 7n })], paid(4, PRICE + 7n)],
    ['the first that is enough', [transfer({ units: 1n }), transfer({ at: 5 }), transfer({ at: 6 })], paid(5, PRICE)],
    [
      'what others send in the same block',
      [transfer({ at: 2, from: STRANGER }), transfer({ at: 3, to: STRANGER }), transfer()],
      paid(4, PRICE),
    ],
    [
      'a transfer with an authorization',
      [
        { ...transfer({ at: 3 }), topics: [AUTHORIZATION_USED_TOPIC, addressTopic(PAYER), word('7')], data: '0x' },
        transfer(),
      ],
      paid(4, PRICE),
    ],
  ])('%s buys it', (_, logs, expected) => {
    expect(decided({ logs })).toEqual(expected);
  });

  it.each<[string, Log[], object]>([
    ['too little', [transfer({ units: PRICE - 1n })], invalid('amount_too_little', 4, PRICE - 1n)],
    [
      'enough only as a sum; the largest is shown',
      [transfer({ units: PRICE - 2n }), transfer({ at: 5, units: PRICE - 1n }), transfer({ at: 6, units: 3n })],
      invalid('amount_too_little', 5, PRICE - 1n),
    ],
    ['from another wallet', [transfer({ from: STRANGER })], invalid('wrong_payer', 4, PRICE)],
    ['from another wallet, next to nothing', [transfer({ from: STRANGER, units: 1n })], invalid('wrong_payer', 4, 1n)],
    ['to another payee', [transfer({ to: STRANGER })], invalid('wrong_payee', 4, PRICE)],
    [
      'to another payee, and from another wallet to the right one',
      [transfer({ at: 2, to: STRANGER }), transfer({ from: OTHER })],
      invalid('wrong_payer', 4, PRICE),
    ],
  ])('%s is invalid', (_, logs, expected) => {
    expect(decided({ logs })).toEqual(expected);
  });

  it.each<[bigint, string]>([
    [FROM - 1n, 'invalid'],
    [FROM, 'paid'],
    [TO - 1n, 'paid'],
    [TO, 'invalid'],
  ])('in a block of the second %s it is %s', (timestamp, outcome) => {
    const found = decided({ inBlock: { timestamp } });
    expect(found).toMatchObject({ outcome, transfer: { blockTime: timestamp } });
    if (found.outcome === 'invalid') expect(found.reason).toBe('outside_window');
  });

  it('too little outside the window is too little', () => {
    const found = decided({ logs: [transfer({ units: 1n })], inBlock: { timestamp: TO } });
    expect(found).toMatchObject({ reason: 'amount_too_little' });
  });

  it.each<[string, Log[]]>([
    ['no logs', []],
    ['a transfer of nothing', [transfer({ units: 0n })]],
    ['another token', [transfer({ address: OTHER })]],
    ['what is no transfer', [{ ...transfer(), topics: [word('9'), addressTopic(PAYER), addressTopic(PAYEE)] }]],
    ['a transfer between others', [transfer({ from: STRANGER, to: OTHER })]],
  ])('%s is refused, and the offer goes on', (_, logs) => {
    expect(decided({ logs, transfersInBlock: logs.filter(({ address }) => address === USDC) })).toEqual(notFound);
  });

  it('a transaction that failed is refused', () => {
    expect(decided({ status: 'reverted', logs: [] })).toEqual(notFound);
  });

  it('the very block that is final counts', () => {
    expect(decided({ finalized: { ...FINALIZED, number: 100n, hash: BLOCK } })).toEqual(paid(4, PRICE));
  });
});

describe('unknown', () => {
  it.each<[string, Changes, object]>([
    ['another chain', { chainId: 1n }, unknown('wrong_chain')],
    ['no receipt', { receipt: null, block: null }, unknown('not_mined')],
    ['no block', { block: null }, unknown('not_canonical')],
    ['another block at its height', { inBlock: { hash: word('e') } }, unknown('not_canonical')],
    ['a block at another height', { inBlock: { number: 99n } }, unknown('not_canonical')],
    ['a block without it', { inBlock: { transactions: [] } }, unknown('not_canonical')],
    ['a log of the receipt that the block does not have', { transfersInBlock: [] }, unknown('contradiction')],
    [
      'a log of the block that the receipt does not have',
      { transfersInBlock: [transfer(), transfer({ at: 9 })] },
      unknown('contradiction'),
    ],
    [
      'a transfer to another payee that only the receipt has',
      { logs: [transfer({ to: STRANGER })], transfersInBlock: [] },
      unknown('contradiction'),
    ],
    ['a log that was taken back', { logs: [{ ...transfer(), removed: true }] }, unknown('contradiction')],
    ['logs of what failed', { status: 'reverted' }, unknown('contradiction')],
    [
      'another block that is final at its height',
      { finalized: { ...FINALIZED, number: 100n } },
      unknown('contradiction'),
    ],
    ['no head that is believed', { finalized: null }, unknown('no_finalized_head', true, true)],
    ['a block above the final one', { finalized: { ...FINALIZED, number: 99n } }, unknown('not_final', true, true)],
    [
      'too little, not final',
      { logs: [transfer({ units: 1n })], finalized: null },
      unknown('no_finalized_head', true, false),
    ],
    ['nothing of theirs, not final', { logs: [], finalized: null }, unknown('no_finalized_head')],
  ])('%s', (_, changes, expected) => {
    expect(decided(changes)).toEqual(expected);
  });
});

test('it is bought exactly by one log of the payer to the payee, of the price at least, in the window and final', () => {
  const anyWallet = fc.constantFrom(PAYER, PAYEE, STRANGER);
  const anyLog = fc.record({
    from: anyWallet,
    to: anyWallet,
    units: fc.constantFrom(0n, 1n, PRICE - 1n, PRICE, PRICE + 1n),
    address: fc.constantFrom(USDC, USDC, OTHER),
  });
  const anyCase = fc.record({
    logs: fc.array(anyLog, { maxLength: 4 }),
    timestamp: fc.constantFrom(FROM - 1n, FROM, FROM + 100n, TO - 1n, TO),
    height: fc.constantFrom(99n, 110n, null),
  });
  fc.assert(
    fc.property(anyCase, ({ logs, timestamp, height }) => {
      const made = logs.map((one, at) => transfer({ ...one, at }));
      const finalized = height === null ? null : { ...FINALIZED, number: height };
      const found = decided({ logs: made, inBlock: { timestamp }, finalized });
      const isOwn = (one: (typeof logs)[number]) => one.address === USDC && one.from === PAYER && one.to === PAYEE;
      const isEnough = logs.some((one) => isOwn(one) && one.units >= PRICE);
      const isInTime = timestamp >= FROM && timestamp < TO;
      const isFinal = height === 110n;
      expect(found.outcome === 'paid').toBe(isEnough && isInTime && isFinal);
      expect(found.outcome === 'unknown').toBe(!isFinal);
      if (found.outcome === 'unknown') expect(found.fits).toBe(isEnough && isInTime);
      const isTheirs = logs.some(
        (one) => one.address === USDC && one.units > 0n && (one.from === PAYER || one.to === PAYEE),
      );
      expect(found.outcome === 'refused').toBe(isFinal && !isTheirs);
    }),
    { numRuns: 2_000, seed: 20_261_121 },
  );
});
