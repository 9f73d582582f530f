import { expect, test } from 'vitest';
import { AUTHORIZATION_USED, type ChainLog, type ChainReceipt, madeBy, TRANSFER } from './read-chain.ts';

const TOKEN = `0x${'ac'.repeat(20)}`;
const PAYER = `0x${'1f'.repeat(20)}`;
const PAYEE = `0x${'2e'.repeat(20)}`;
const NONCE = `0x${'7b'.repeat(32)}`;
const topic = (wallet: string): string => `0x${wallet.slice(2).padStart(64, '0')}`;

function log(index: number, topics: string[], data = '0x'): ChainLog {
  const place = { transactionHash: '0x01', blockHash: '0x02', blockNumber: '0x3' };
  return { address: TOKEN, topics, data, ...place, logIndex: `0x${index.toString(16)}` };
}
const used = (index: number, nonce = NONCE): ChainLog => log(index, [AUTHORIZATION_USED, topic(PAYER), nonce]);
const moved = (index: number, units: bigint, from = PAYER, to = PAYEE): ChainLog =>
  log(index, [TRANSFER, topic(from), topic(to)], `0x${units.toString(16).padStart(64, '0')}`);
const receipt = (...logs: ChainLog[]): ChainReceipt => ({ status: '0x1', blockHash: '0x02', blockNumber: '0x3', logs });
const made = (...logs: ChainLog[]) => madeBy(receipt(...logs), TOKEN, { payer: PAYER, nonce: NONCE });

test('an authorization made the transfer in the next place, and no other of the transaction', () => {
  expect(made(moved(4, 5n), used(5), moved(6, 7n), moved(7, 9n))).toMatchObject({ logIndex: 6, units: 7n });
});

test('several uses with nothing moved, and one transfer at the end: no authorization made it', () => {
  const other = `0x${'8c'.repeat(32)}`;
  const logs = [used(1), moved(2, 0n, PAYER, PAYER), used(3, other), moved(4, 0n, PAYER, PAYER), moved(5, 25n)];
  expect(made(...logs)).toMatchObject({ logIndex: 2, to: PAYER, units: 0n });
});

test('where another kind of log, another wallet or nothing follows, no transfer is the authorization\u2019s', () => {
  expect(made(used(5), used(6, `0x${'8c'.repeat(32)}`), moved(7, 7n))).toBeNull();
  expect(made(used(5), moved(6, 7n, PAYEE, PAYER))).toBeNull();
  expect(made(used(5))).toBeNull();
  expect(made(moved(6, 7n))).toBeNull();
});
