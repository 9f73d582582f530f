import { describe, expect, it, test } from 'vitest';
import type { Block, Log, Receipt } from '../../../platform/chain/reads.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic, TRANSFER_TOPIC } from '../../../platform/chain/usdc.ts';
import type { Hex } from '../../../platform/hex.ts';
import { decideSale, type SaleEvidence, type SaleTerms } from './decide-sale.ts';

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const wallet = (digit: string): Hex => `0x${digit.repeat(40)}`;
const USDC = wallet('a');
const PAYER = wallet('1');
const PAYEE = wallet('2');
const STRANGER = wallet('3');
const TX = word('c');
const BLOCK = word('b');
const TIME = 1_800_000_000n;
const PRICE = 4_000_000n;

const terms: SaleTerms = {
  chainId: 8453n,
  asset: USDC,
  payer: PAYER,
  payee: PAYEE,
  minimumUnits: PRICE,
  windowFrom: TIME - 60n,
  windowTo: TIME + 240n,
  fault: null,
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
const used = (by: Hex): Log => log(3, [AUTHORIZATION_USED_TOPIC, addressTopic(by), word('7')], '0x');

interface Changes extends Partial<SaleEvidence> {
  logs?: Log[];
  status?: Receipt['status'];
  inBlock?: Partial<Block>;
}

function evidence({ logs = [transfer()], status = 'success', inBlock = {}, ...changes }: Changes = {}): SaleEvidence {
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

const decided = (changes: Changes = {}, asked: Partial<SaleTerms> = {}) =>
  decideSale(evidence(changes), { ...terms, ...asked });
const finalAt = (number: bigint, hash: Hex = word('d')) => ({ finalized: { number, hash, timestamp: TIME + 20n } });

describe('sold', () => {
  it('says where the transfer stands, which log it is, and what it moved', () => {
    const place = { txHash: TX, blockNumber: 100n, blockHash: BLOCK, blockTime: TIME, sender: wallet('f') };
    expect(decided()).toEqual({ outcome: 'sold', transfer: { ...place, logIndex: 4, value: PRICE } });
  });

  test.each<[string, Log[], { logIndex: number; value: bigint }]>([
    ['a tip is taken as it comes', [transfer({ units: PRICE + 1n })], { logIndex: 4, value: PRICE + 1n }],
    [
      'the first that is enough counts, whatever else is in the receipt',
      [transfer({ at: 1, from: STRANGER }), transfer({ at: 2, units: 1n }), transfer({ at: 5 }), transfer({ at: 6 })],
      { logIndex: 5, value: PRICE },
    ],
    ['how the wallet had it sent is its own matter', [used(PAYER), transfer()], { logIndex: 4, value: PRICE }],
  ])('%s', (_name, logs, found) => {
    expect(decided({ logs })).toMatchObject({ outcome: 'sold', transfer: found });
  });

  it('at the very finalized block, if its hash is the same', () => {
    expect(decided(finalAt(100n, BLOCK))).toMatchObject({ outcome: 'sold' });
  });

  it('from the first second of the reservation to the last', () => {
    expect(decided({}, { windowFrom: TIME })).toMatchObject({ outcome: 'sold' });
    expect(decided({}, { windowTo: TIME + 1n })).toMatchObject({ outcome: 'sold' });
  });
});

describe('unknown, to be looked at again', () => {
  test.each<[string, Changes, string]>([
    ['another chain', { chainId: 1n }, 'wrong_chain'],
    ['no receipt', { receipt: null, block: null }, 'not_mined'],
    [
      'no receipt, long after the reservation',
      { receipt: null, block: null, finalized: { number: 900n, hash: word('d'), timestamp: TIME + 90_000n } },
      'not_mined',
    ],
    ['no block at that height', { block: null }, 'not_canonical'],
    ['another block at that height', { inBlock: { hash: word('e') } }, 'not_canonical'],
    ['a block that does not list the transaction', { inBlock: { transactions: [] } }, 'not_canonical'],
    ['the block’s index knows no such transfer', { transfersInBlock: [] }, 'contradiction'],
    ['the block’s index knows one more', { transfersInBlock: [transfer(), transfer({ at: 9 })] }, 'contradiction'],
    ['the block’s index knows another amount', { transfersInBlock: [transfer({ units: 1n })] }, 'contradiction'],
    ['a transfer that is gone', { logs: [{ ...transfer(), removed: true }] }, 'contradiction'],
    ['a failed transaction that moved money all the same', { status: 'reverted' }, 'contradiction'],
    ['no finalized head', { finalized: null }, 'no_finalized_head'],
    ['one block above the finalized head', finalAt(99n), 'not_final'],
    ['at the height of the finalized head, which is another block', finalAt(100n), 'contradiction'],
    ['a failure that is not final', { status: 'reverted', logs: [], ...finalAt(99n) }, 'not_final'],
    ['too little that is not final', { logs: [transfer({ units: 1n })], ...finalAt(99n) }, 'not_final'],
    ['the ledger’s own that is not final', { isOfLedger: true, ...finalAt(99n) }, 'not_final'],
  ])('%s', (_name, changes, why) => {
    expect(decided(changes)).toEqual({ outcome: 'unknown', why });
  });

  it('a reservation that is none, before its transaction is final', () => {
    expect(decided(finalAt(99n), { fault: 'checkout_mismatch' })).toEqual({ outcome: 'unknown', why: 'not_final' });
  });
});

describe('for a review', () => {
  test.each<[string, Changes, Partial<SaleTerms>, string]>([
    ['a failed transaction', { status: 'reverted', logs: [] }, {}, 'transfer_not_found'],
    ['no transfer at all', { logs: [] }, {}, 'transfer_not_found'],
    ['to another payee', { logs: [transfer({ to: STRANGER })] }, {}, 'transfer_not_found'],
    ['payer and payee exchanged', { logs: [transfer({ from: PAYEE, to: PAYER })] }, {}, 'transfer_not_found'],
    ['of another token', { logs: [transfer({ address: STRANGER })] }, {}, 'transfer_not_found'],
    ['of nothing', { logs: [transfer({ units: 0n })] }, {}, 'transfer_not_found'],
    ['by another, too little', { logs: [transfer({ from: STRANGER, units: 1n })] }, {}, 'transfer_not_found'],
    ['by another', { logs: [transfer({ from: STRANGER })] }, {}, 'wrong_payer'],
    ['one unit too little', { logs: [transfer({ units: PRICE - 1n })] }, {}, 'amount_too_little'],
    [
      'in parts',
      { logs: [transfer({ at: 1, units: PRICE - 1n }), transfer({ at: 2, units: PRICE - 1n })] },
      {},
      'amount_too_little',
    ],
    ['a second before the reservation', {}, { windowFrom: TIME + 1n }, 'outside_window'],
    ['in the second in which the reservation ends', {}, { windowTo: TIME }, 'outside_window'],
    ['an authorization of the ledger', { isOfLedger: true }, {}, 'transaction_used'],
    ['a checkout that is none of it', {}, { fault: 'checkout_mismatch' }, 'checkout_mismatch'],
    ['a reservation that is none', {}, { fault: 'reservation_mismatch' }, 'reservation_mismatch'],
    ['from a pocket of the seller', {}, { fault: 'own_goods' }, 'own_goods'],
  ])('%s', (_name, changes, asked, reason) => {
    expect(decided(changes, asked)).toEqual({ outcome: 'review', reason });
  });
});
