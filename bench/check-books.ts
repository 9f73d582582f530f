import sql from 'sql-template-tag';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { USDC_ADDRESS } from '../src/local/chain/usdc-contract.ts';
import { readLogs } from '../src/platform/chain/reads.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../src/platform/chain/usdc.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Hex } from '../src/platform/hex.ts';
import { payerAccount } from './chain.ts';
import type { Order } from './purchases.ts';
import { PAYERS } from './settings.ts';

export interface Books {
  ordered: number;
  delivered: number;
  /** Deliveries whose price moved from payer to payee exactly once, by the chain's own log. */
  paidOnce: number;
  /** Payments of the market that have not ended, or ended otherwise than completed. */
  undecided: number;
  faults: string[];
}

interface Given {
  chain: LocalChain;
  database: Database;
  ordered: readonly Order[];
  delivered: readonly Order[];
  /** How many transfers were submitted directly. */
  transfers: number;
}

/** What was delivered against what the chain says was paid and what the market's books say. A fast wrong answer counts for nothing. */
export async function checkBooks({ chain, database, ordered, delivered, transfers }: Given): Promise<Books> {
  const logs = await readLogs(chain.rpc, {
    address: USDC_ADDRESS,
    topics: [TRANSFER_TOPIC, Array.from({ length: PAYERS }, (_, n) => addressTopic(payerAccount(n).address))],
    fromBlock: 0n,
  });
  const moved = new Map<string, number>();
  for (const log of logs) {
    const transfer = decodeTransfer(log);
    if (transfer === null) continue;
    const name = nameOf(transfer.from, transfer.to, transfer.value);
    moved.set(name, (moved.get(name) ?? 0) + 1);
  }
  const distinct = [...new Set(delivered)];
  const paidOnce = distinct.filter(
    ({ payer, goods }) => moved.get(nameOf(payerAccount(payer).address, goods.payee, goods.priceUnits)) === 1,
  ).length;
  const counted = await database.one<{
    completed: bigint;
    others: bigint;
    purchases: bigint;
    transactions: bigint;
  }>(sql`
    select (select count(*) from payments where status = 'completed') as completed,
      (select count(*) from payments where status <> 'completed') as others,
      (select count(*) from purchases where verified_via = 'x402') as purchases,
      (select count(distinct tx_hash) from purchases where verified_via = 'x402') as transactions`);
  const wanted = ordered.length;
  const checks: [string, number, number][] = [
    ['deliveries', delivered.length, wanted],
    ['distinct purchases delivered', distinct.length, wanted],
    ['deliveries paid exactly once', paidOnce, wanted],
    ['transfers of the payers on the chain', logs.length, wanted + transfers],
    ['completed payments in the books', Number(counted.completed), wanted],
    ['other payments in the books', Number(counted.others), 0],
    ['purchases in the books', Number(counted.purchases), wanted],
    ['transactions in the books', Number(counted.transactions), wanted],
  ];
  return {
    ordered: wanted,
    delivered: distinct.length,
    paidOnce,
    undecided: Number(counted.others),
    faults: checks
      .filter(([, found, due]) => found !== due)
      .map(([what, found, due]) => `${what}: ${found}, not ${due}`),
  };
}

function nameOf(from: Hex, to: Hex, value: bigint): string {
  return `${from} ${to} ${value}`;
}
