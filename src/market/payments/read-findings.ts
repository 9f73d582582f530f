import { type Log, readBlock, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../platform/chain/rpc.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  TRANSFER_TOPIC,
} from '../../platform/chain/usdc.ts';
import { readAuthorizationState } from '../../platform/chain/usdc-reads.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Market } from '../context.ts';
import type { Evidence, Use } from './decide.ts';
import type { X402Payment } from './payment.ts';

/** Providers cap how many blocks one log query may span. */
const LOG_SPAN_BLOCKS = 2_000n;
/** Payments read side by side: many become final with one block. */
const READ_AT_ONCE = 6;

/** What one provider shows of an authorization. */
export type Finding = Pick<Evidence, 'nonceUsed' | 'use'>;

/** One provider, and the block that it called its latest. */
export interface View {
  rpc: Rpc;
  latest: { number: bigint };
}

/**
 * What a provider shows of some payments of one asset: first the logs of their nonces, then what those logs point to. Throws
 * RpcFailure when what they share cannot be read; a payment that cannot be read by itself is left out, so that it does not hold up
 * the others.
 */
export async function readFindings(
  market: Pick<Market, 'clock' | 'log'>,
  view: View,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Finding>> {
  const logs = await readUses(view, payments);
  const findings = new Map<bigint, Finding>();
  for (let at = 0; at < payments.length; at += READ_AT_ONCE) {
    const group = payments.slice(at, at + READ_AT_ONCE);
    await Promise.all(
      group.map(async (payment) => {
        try {
          findings.set(payment.id, await readOne(market, view, payment, logs));
        } catch (error) {
          if (!(error instanceof RpcFailure)) throw error;
          market.log.warn('payment_unreadable', { payment_id: payment.id, error });
        }
      }),
    );
  }
  return findings;
}

async function readOne(
  { clock }: Pick<Market, 'clock'>,
  { rpc, latest }: View,
  payment: X402Payment,
  logs: readonly Log[],
): Promise<Finding> {
  const log = logs.findLast(
    (found) => found.topics[1] === addressTopic(payment.payer) && found.topics[2] === payment.nonce,
  );
  if (log !== undefined) return { nonceUsed: null, use: await readUse(rpc, log) };
  // Asked only once it can decide something, and of the very block that the heads named: a node that lags behind does not know it,
  // and fails instead of calling a used nonce unused.
  if (clock.now() < Number(payment.validBefore) * 1000) return { nonceUsed: null, use: null };
  const { asset, payer, nonce } = payment;
  return { nonceUsed: await readAuthorizationState(rpc, asset, payer, nonce, latest.number), use: null };
}

async function readUses({ rpc, latest }: View, payments: readonly X402Payment[]): Promise<Log[]> {
  const [first] = payments;
  if (first === undefined) return [];
  const opened = payments.map((payment) => payment.openedBlock);
  const lowest = opened.reduce((low, block) => (block < low ? block : low));
  const found: Log[] = [];
  for (let from = lowest; from <= latest.number; from += LOG_SPAN_BLOCKS) {
    const to = from + LOG_SPAN_BLOCKS - 1n;
    const logs = await readLogs(rpc, {
      address: first.asset,
      topics: [
        [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
        distinct(payments.map((payment) => addressTopic(payment.payer))),
        distinct(payments.map((payment) => payment.nonce)),
      ],
      fromBlock: from,
      toBlock: to < latest.number ? to : latest.number,
    });
    found.push(...logs);
  }
  return found;
}

function distinct(values: Hex[]): Hex[] {
  return [...new Set(values)];
}

async function readUse(rpc: Rpc, log: Log): Promise<Use> {
  const payer = log.topics[1] ?? null;
  const [receipt, block, transfersInBlock] = await Promise.all([
    readReceipt(rpc, log.transactionHash),
    readBlock(rpc, log.blockNumber),
    readLogs(rpc, { address: log.address, topics: [TRANSFER_TOPIC, payer], blockHash: log.blockHash }),
  ]);
  return { log, receipt, block, transfersInBlock };
}
