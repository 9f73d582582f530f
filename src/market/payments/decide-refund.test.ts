import { describe, expect, it, test } from 'vitest';
import type { Block, Log, Receipt } from '../../platform/chain/reads.ts';
import type { TransferEvidence } from '../../platform/chain/sighting.ts';
import { addressTopic, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import { decideRefund, type RefundTerms } from './review-payment.ts';

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const wallet = (digit: string): Hex => `0x${digit.repeat(40)}`;
const USDC = wallet('a');
const PAYER = wallet('1');
const PAYEE = wallet('2');
const STRANGER = wallet('3');
const TX = word('c');
const BLOCK = word('b');
const TIME = 1_800_000_000n;
const RECEIVED = 2_500_000n;

const terms: RefundTerms = {
  chainId: 8453n,
  asset: USDC,
  from: PAYEE,
  to: PAYER,
  minimumUnits: RECEIVED,
  afterBlock: 99n,
};

const transfer = (given: { from?: Hex; to?: Hex; units?: bigint } & Partial<Log> = {}): Log => {
  const { from = PAYEE, to = PAYER, units = RECEIVED, ...changes } = given;
  const place = { blockNumber: 100n, blockHash: BLOCK, transactionHash: TX, logIndex: 4, removed: false };
  const topics = [TRANSFER_TOPIC, addressTopic(from), addressTopic(to)];
  return { address: USDC, topics, data: `0x${units.toString(16).padStart(64, '0')}`, ...place, ...changes };
};

interface Changes extends Partial<TransferEvidence> {
  logs?: Log[];
  status?: Receipt['status'];
  inBlock?: Partial<Block>;
}

function decided({ logs = [transfer()], status = 'success', inBlock = {}, ...changes }: Changes = {}) {
  const evidence: TransferEvidence = {
    chainId: 8453n,
    finalized: { number: 110n, hash: word('d'), timestamp: TIME + 20n },
    receipt: { transactionHash: TX, blockNumber: 100n, blockHash: BLOCK, status, from: PAYEE, to: USDC, logs },
    block: { number: 100n, hash: BLOCK, parentHash: word('0'), timestamp: TIME, transactions: [TX], ...inBlock },
    transfersInBlock: logs.filter(({ address, topics }) => address === USDC && topics[2] === addressTopic(PAYER)),
    ...changes,
  };
  return (asked: Partial<RefundTerms> = {}) => decideRefund(evidence, { ...terms, ...asked });
}

const finalAt = (number: bigint, hash: Hex = word('d')) => ({ finalized: { number, hash, timestamp: TIME + 20n } });

describe('refunded', () => {
  it('names the transfer that gives the money back', () => {
    const place = { txHash: TX, blockNumber: 100n, blockHash: BLOCK, blockTime: TIME, sender: PAYEE };
    expect(decided()()).toEqual({ outcome: 'refunded', transfer: { ...place, logIndex: 4, value: RECEIVED } });
  });

  it('by more than was received, and by the first transfer that is enough', () => {
    const logs = [
      transfer({ units: RECEIVED - 1n }),
      transfer({ units: RECEIVED + 1n, logIndex: 5 }),
      transfer({ logIndex: 6 }),
    ];
    expect(decided({ logs })()).toMatchObject({ outcome: 'refunded', transfer: { logIndex: 5 } });
  });

  it('at the very finalized block, if its hash is the same', () => {
    expect(decided(finalAt(100n, BLOCK))()).toMatchObject({ outcome: 'refunded' });
  });
});

test.each<[string, Changes]>([
  ['another chain', { chainId: 1n }],
  [
    'no receipt, however late it is',
    { receipt: null, finalized: { number: 9_999n, hash: word('d'), timestamp: TIME * 2n } },
  ],
  ['no finalized head', { finalized: null }],
  ['one block above the finalized head', finalAt(99n)],
  ['at the height of the finalized head, which is another block', finalAt(100n)],
  ['no block at that height', { block: null }],
  ['another block at that height', { inBlock: { hash: word('e') } }],
  ['a block that does not list the transaction', { inBlock: { transactions: [] } }],
  ['the block’s index knows no such transfer', { transfersInBlock: [] }],
  ['the block’s index knows another amount', { transfersInBlock: [transfer({ units: 1n })] }],
  ['a transfer that is gone', { logs: [transfer({ removed: true })] }],
  ['a failed transaction that is not final', { status: 'reverted', logs: [], ...finalAt(99n) }],
])('not final yet, or contradictory: %s', (_name, changes) => {
  expect(decided(changes)()).toEqual({ outcome: 'unknown' });
});

test.each<[string, Changes]>([
  ['a failed transaction', { status: 'reverted', logs: [] }],
  ['no transfer', { logs: [] }],
  ['one unit less than was received', { logs: [transfer({ units: RECEIVED - 1n })] }],
  [
    'parts that only together are enough',
    { logs: [transfer({ units: RECEIVED - 1n }), transfer({ units: 1n, logIndex: 5 })] },
  ],
  ['from another wallet than the payee’s', { logs: [transfer({ from: STRANGER })] }],
  ['to another wallet than the payer’s', { logs: [transfer({ to: STRANGER })] }],
  ['the payment’s own direction', { logs: [transfer({ from: PAYER, to: PAYEE })] }],
  ['another token', { logs: [transfer({ address: STRANGER })] }],
])('no refund: %s', (_name, changes) => {
  expect(decided(changes)()).toEqual({ outcome: 'refused' });
});

test('a refund comes in a later block than the payment', () => {
  expect(decided()({ afterBlock: 99n })).toMatchObject({ outcome: 'refunded' });
  expect(decided()({ afterBlock: 100n })).toEqual({ outcome: 'refused' });
  expect(decided()({ afterBlock: 101n })).toEqual({ outcome: 'refused' });
});
