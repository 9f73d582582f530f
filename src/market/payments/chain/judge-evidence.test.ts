import { expect, it } from 'vitest';
import type { Block, Log, Receipt } from '../../../platform/chain/reads.ts';
import { judgeMined, type Objection, type SecondView } from '../../../platform/chain/second-provider.ts';
import type { Mined } from '../../../platform/chain/sighting.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic, TRANSFER_TOPIC } from '../../../platform/chain/usdc.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { ClaimEvidence } from '../paths/direct/decide-claim.ts';
import type { Evidence, Use } from '../paths/x402/decide.ts';
import { objectionToUse } from './corroborate.ts';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
const USDC: Hex = `0x${'a'.repeat(40)}`;
const PAYER: Hex = `0x${'b'.repeat(40)}`;
const PAYEE: Hex = `0x${'c'.repeat(40)}`;
const VALID_BEFORE = 1_000n;
const terms = { asset: USDC, validBefore: VALID_BEFORE };

const place = { blockNumber: 50n, blockHash: hash('5'), transactionHash: hash('1'), removed: false };
const used: Log = {
  ...place,
  address: USDC,
  topics: [AUTHORIZATION_USED_TOPIC, addressTopic(PAYER), hash('9')],
  data: '0x',
  logIndex: 0,
};
const moved: Log = {
  ...place,
  address: USDC,
  topics: [TRANSFER_TOPIC, addressTopic(PAYER), addressTopic(PAYEE)],
  data: `0x${'7'.padStart(64, '0')}`,
  logIndex: 1,
};
const receipt: Receipt = {
  transactionHash: place.transactionHash,
  blockNumber: 50n,
  blockHash: place.blockHash,
  status: 'success',
  from: PAYER,
  to: USDC,
  logs: [used, moved],
};
const block: Block = {
  number: 50n,
  hash: place.blockHash,
  parentHash: hash('4'),
  timestamp: 900n,
  transactions: [place.transactionHash],
};
const use: Use = { log: used, receipt, block, transfersInBlock: [moved] };
const finalized = { number: 60n, hash: hash('6'), timestamp: 1_100n };
const evidence: Evidence = {
  chainId: 8453n,
  latest: { number: 70n, timestamp: 1_200n },
  finalized,
  nonceUsed: null,
  use,
};
const said: SecondView = { latest: { number: 65n, timestamp: 1_150n }, atFinalized: { hash: finalized.hash } };
const otherLog = (change: Partial<Log>): Mined => ({
  receipt: { ...receipt, logs: [used, { ...moved, ...change }] },
  block,
});

const mined: [string, Mined, Objection | null][] = [
  ['the same', { receipt, block }, null],
  [
    'a log of another contract more',
    { receipt: { ...receipt, logs: [...receipt.logs, { ...moved, address: PAYEE, logIndex: 9 }] }, block },
    null,
  ],
  ['no receipt', { receipt: null, block }, 'disagrees'],
  ['no block', { receipt, block: null }, 'disagrees'],
  [
    'another block',
    { receipt: { ...receipt, blockHash: hash('8') }, block: { ...block, hash: hash('8') } },
    'disagrees',
  ],
  ['a block without it', { receipt, block: { ...block, transactions: [] } }, 'disagrees'],
  ['another time', { receipt, block: { ...block, timestamp: 901n } }, 'disagrees'],
  ['that it failed', { receipt: { ...receipt, status: 'reverted' }, block }, 'disagrees'],
  ['another sender', { receipt: { ...receipt, from: PAYEE }, block }, 'disagrees'],
  ['a log less', { receipt: { ...receipt, logs: [used] }, block }, 'disagrees'],
  ['a log more', { receipt: { ...receipt, logs: [...receipt.logs, { ...moved, logIndex: 2 }] }, block }, 'disagrees'],
  ['another amount', otherLog({ data: `0x${'8'.padStart(64, '0')}` }), 'disagrees'],
  ['another payee', otherLog({ topics: [TRANSFER_TOPIC, addressTopic(PAYER), addressTopic(USDC)] }), 'disagrees'],
  ['another place', otherLog({ logIndex: 3 }), 'disagrees'],
  ['a log taken back', otherLog({ removed: true }), 'disagrees'],
];

const claim: ClaimEvidence = {
  chainId: 8453n,
  finalized,
  receipt,
  block,
  transfersInBlock: [moved],
  isOfLedger: false,
};

it.each(mined)('of a transaction the other shows %s', (_, shown, expected) => {
  expect(judgeMined(claim, USDC, said, shown)).toBe(expected);
  expect(objectionToUse(evidence, terms, said, { nonceUsed: null, use: { ...use, ...shown } })).toBe(expected);
});

it('one that has not reached the block has nothing to say, whatever it shows', () => {
  const behind = { ...said, latest: { number: 49n, timestamp: 899n } };
  expect(objectionToUse(evidence, terms, behind, { nonceUsed: null, use: null })).toBe('behind');
  expect(judgeMined(claim, USDC, behind, { receipt: null, block: null })).toBe('behind');
  const there = { ...said, latest: { number: 50n, timestamp: 900n } };
  expect(objectionToUse(evidence, terms, there, { nonceUsed: null, use })).toBeNull();
});

it('another use than the one that decides is none', () => {
  for (const log of [
    { ...used, transactionHash: hash('2') },
    { ...used, logIndex: 4 },
  ]) {
    expect(objectionToUse(evidence, terms, said, { nonceUsed: null, use: { ...use, log } })).toBe('disagrees');
  }
});

it.each<[string, Partial<SecondView>, { nonceUsed: boolean | null; use: Use | null }, Objection | null]>([
  ['the same absence', {}, { nonceUsed: false, use: null }, null],
  ['a used nonce', {}, { nonceUsed: true, use: null }, 'disagrees'],
  ['a use', {}, { nonceUsed: null, use }, 'disagrees'],
  ['nothing about the nonce', {}, { nonceUsed: null, use: null }, 'behind'],
  [
    'a chain that has not passed validBefore',
    { latest: { number: 65n, timestamp: VALID_BEFORE } },
    { nonceUsed: false, use: null },
    'behind',
  ],
  [
    'a chain below the final block',
    { latest: { number: 59n, timestamp: 1_150n } },
    { nonceUsed: false, use: null },
    'behind',
  ],
  ['another final block', { atFinalized: { hash: hash('7') } }, { nonceUsed: false, use: null }, 'disagrees'],
  ['no such block', { atFinalized: null }, { nonceUsed: false, use: null }, 'disagrees'],
])('where the leader shows no use, the other shows %s', (_, change, finding, expected) => {
  const unused: Evidence = { ...evidence, nonceUsed: false, use: null };
  expect(objectionToUse(unused, terms, { ...said, ...change }, finding)).toBe(expected);
});

it('a use that the leader has yet to reach is no contradiction', () => {
  const unused: Evidence = { ...evidence, nonceUsed: false, use: null };
  const later: Use = { ...use, log: { ...used, blockNumber: 71n } };
  expect(objectionToUse(unused, terms, said, { nonceUsed: null, use: later })).toBe('behind');
});

it('never submitted, it ends at the latest block, final or not', () => {
  const unused: Evidence = { ...evidence, nonceUsed: false, use: null, finalized: null };
  expect(objectionToUse(unused, terms, { ...said, atFinalized: null }, { nonceUsed: false, use: null })).toBeNull();
});

it.each<[string, Partial<SecondView>, Mined, Objection | null]>([
  ['none either', {}, { receipt: null, block: null }, null],
  ['one in a final block', {}, { receipt, block }, 'disagrees'],
  ['one in a later block', {}, { receipt: { ...receipt, blockNumber: 61n }, block }, 'behind'],
  [
    'a chain below the final block',
    { latest: { number: 59n, timestamp: 1_150n } },
    { receipt: null, block: null },
    'behind',
  ],
  ['another final block', { atFinalized: { hash: hash('7') } }, { receipt: null, block: null }, 'disagrees'],
])('where the leader has no receipt, the other has %s', (_, change, shown, expected) => {
  expect(judgeMined({ ...claim, receipt: null, block: null }, USDC, { ...said, ...change }, shown)).toBe(expected);
});
