import { type Block, type Log, readBlock, readLogs, readReceipt } from '../../platform/chain/reads.ts';
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
/** A payer and a nonce each: providers cap the topics of one query, too. */
const PAYMENTS_A_QUERY = 240;

/** What one provider shows of an authorization. */
export type Finding = Pick<Evidence, 'nonceUsed' | 'use'>;

/** One provider, and the block that it called its latest. */
export interface View {
  rpc: Rpc;
  latest: { number: bigint };
}

type Needs = Pick<Market, 'clock' | 'log'>;

/**
 * What a provider shows of some payments of one asset: first the logs of their nonces, then what those logs point to. What payments of one
 * block share is read once. Throws RpcFailure when the logs cannot be read; a payment that cannot be read by itself is left out, so that
 * it does not hold up the others.
 */
export async function readFindings(
  market: Needs,
  view: View,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Finding>> {
  const logs = await readUses(view, payments);
  const readBlockOf = createBlockReader(view.rpc, logs);
  const findings = new Map<bigint, Finding>();
  await Promise.all(
    payments.map(async (payment) => {
      try {
        findings.set(payment.id, await readOne(market, view, payment, logs.get(keyOf(payment)), readBlockOf));
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
        market.log.warn('payment_unreadable', { payment_id: payment.id, error });
      }
    }),
  );
  return findings;
}

async function readOne(
  { clock }: Needs,
  { rpc, latest }: View,
  payment: X402Payment,
  log: Log | undefined,
  readBlockOf: (log: Log) => Promise<OfBlock>,
): Promise<Finding> {
  if (log !== undefined) {
    const [receipt, ofBlock] = await Promise.all([readReceipt(rpc, log.transactionHash), readBlockOf(log)]);
    return { nonceUsed: null, use: { log, receipt, ...ofBlock } };
  }
  // Asked only once it can decide something, and of the very block that the heads named: a node that lags behind does not know it,
  // and fails instead of calling a used nonce unused.
  if (clock.now() < Number(payment.validBefore) * 1000) return { nonceUsed: null, use: null };
  const { asset, payer, nonce } = payment;
  return { nonceUsed: await readAuthorizationState(rpc, asset, payer, nonce, latest.number), use: null };
}

const keyOf = ({ payer, nonce }: { payer: Hex; nonce: Hex }): string => `${addressTopic(payer)}${nonce}`;

/** The last use or cancellation of each authorization. A query holds only payments that were opened below its last block. */
async function readUses({ rpc, latest }: View, payments: readonly X402Payment[]): Promise<Map<string, Log>> {
  const found = new Map<string, Log>();
  for (let at = 0; at < payments.length; at += PAYMENTS_A_QUERY) {
    const group = payments.slice(at, at + PAYMENTS_A_QUERY);
    const opened = group.map((payment) => payment.openedBlock);
    const lowest = opened.reduce((low, block) => (block < low ? block : low));
    for (let from = lowest; from <= latest.number; from += LOG_SPAN_BLOCKS) {
      const end = from + LOG_SPAN_BLOCKS - 1n;
      const to = end < latest.number ? end : latest.number;
      const wanted = group.filter(({ openedBlock }) => openedBlock <= to);
      for (const log of await readUsesIn(rpc, wanted, { fromBlock: from, toBlock: to })) {
        const [, payer, nonce] = log.topics;
        found.set(`${payer}${nonce}`, log);
      }
    }
  }
  return found;
}

async function readUsesIn(
  rpc: Rpc,
  payments: readonly X402Payment[],
  blocks: { fromBlock: bigint; toBlock: bigint },
): Promise<Log[]> {
  const [first] = payments;
  if (first === undefined) return [];
  return await readLogs(rpc, {
    address: first.asset,
    topics: [
      [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
      distinct(payments.map((payment) => addressTopic(payment.payer))),
      distinct(payments.map((payment) => payment.nonce)),
    ],
    ...blocks,
  });
}

function distinct(values: Hex[]): Hex[] {
  return [...new Set(values)];
}

type OfBlock = Pick<Use, 'block' | 'transfersInBlock'>;

/** The block at the height of a log, and the transfers in it of all payers whose logs stand there: read once for all of them. */
function createBlockReader(rpc: Rpc, logs: ReadonlyMap<string, Log>): (log: Log) => Promise<OfBlock> {
  const ofBlock = Map.groupBy(logs.values(), ({ blockHash }) => blockHash);
  const read = new Map<Hex, { block: Promise<Block | null>; transfers: Promise<Log[]> }>();
  const readTransfers = ({ address, blockHash }: Log, payers: Hex[]): Promise<Log[]> =>
    readLogs(rpc, { address, topics: [TRANSFER_TOPIC, payers], blockHash });
  return async (log) => {
    const { blockHash, blockNumber } = log;
    const payersOf = (some: readonly Log[]): Hex[] => distinct(some.flatMap(({ topics }) => topics[1] ?? []));
    const all = payersOf(ofBlock.get(blockHash) ?? [log]).slice(0, 2 * PAYMENTS_A_QUERY);
    const shared = read.get(blockHash) ?? { block: readBlock(rpc, blockNumber), transfers: readTransfers(log, all) };
    read.set(blockHash, shared);
    // Those that wait for it see its failure.
    shared.transfers.catch(() => undefined);
    const own = payersOf([log]);
    // One payer with very many transfers in the block must not stand in the way of the others.
    const transfers = async (): Promise<Log[]> => {
      const isIn = own.every((payer) => all.includes(payer));
      try {
        return isIn ? await shared.transfers : await readTransfers(log, own);
      } catch (error) {
        if (!(error instanceof RpcFailure) || all.length === 1) throw error;
        return await readTransfers(log, own);
      }
    };
    const [block, transfersInBlock] = await Promise.all([shared.block, transfers()]);
    return { block, transfersInBlock };
  };
}
