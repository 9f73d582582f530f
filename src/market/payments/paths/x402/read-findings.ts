import { type Block, type Log, readBlock, readLogs, readReceipt } from '../../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../../platform/chain/rpc.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  readAuthorizationState,
  TRANSFER_TOPIC,
} from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import type { X402Payment } from '../../payment.ts';
import type { Evidence, Use } from './decide.ts';

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

type FindingsMarket = Pick<Market, 'clock' | 'log'>;

/**
 * What a provider shows of some payments of one asset: first the logs of their nonces, then what those logs point to. What payments of one
 * block share is read once. Throws RpcFailure when the logs cannot be read; a payment that cannot be read by itself is left out, so that
 * it does not hold up the others.
 */
export async function readFindings(
  market: FindingsMarket,
  view: View,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Finding>> {
  const uses = await readUses(view, payments);
  const readBlockOf = createBlockReader(view.rpc, uses.logs);
  const findings = new Map<bigint, Finding>();
  await Promise.all(
    payments.map(async (payment) => {
      try {
        findings.set(payment.id, await readOne(market, view, payment, uses, readBlockOf));
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
        market.log.warn('payment_unreadable', { payment_id: payment.id, error });
      }
    }),
  );
  return findings;
}

async function readOne(
  { clock }: FindingsMarket,
  { rpc, latest }: View,
  payment: X402Payment,
  { logs, endedAt }: Uses,
  readBlockOf: (log: Log) => Promise<OfBlock>,
): Promise<Finding> {
  const show = async (log: Log): Promise<Finding> => {
    const [receipt, ofBlock] = await Promise.all([readReceipt(rpc, log.transactionHash), readBlockOf(log)]);
    return { nonceUsed: null, use: { log, receipt, ...ofBlock } };
  };
  const log = logs.get(keyOf(payment));
  if (log !== undefined) return await show(log);
  // Asked only once it can decide something, and of the very block that the heads named: a node that lags behind does not know it,
  // and fails instead of calling a used nonce unused.
  if (clock.now() < Number(payment.validBefore) * 1000) return { nonceUsed: null, use: null };
  const { asset, payer, nonce } = payment;
  const nonceUsed = await readAuthorizationState(rpc, asset, payer, nonce, latest.number);
  const ended = endedAt.get(payment.id);
  // A cancellation has no last moment, and a block between two nodes may have ended the search too early.
  const above = nonceUsed && ended !== undefined ? await readUsesAbove({ rpc, latest }, payment, ended) : undefined;
  return above === undefined ? { nonceUsed, use: null } : await show(above);
}

const keyOf = ({ payer, nonce }: { payer: Hex; nonce: Hex }): string => `${addressTopic(payer)}${nonce}`;

interface Uses {
  /** The last use or cancellation of each authorization, by `keyOf`. */
  logs: Map<string, Log>;
  /** By payment: the block after which it was searched no further, since no authorization is used at or after its `validBefore`. */
  endedAt: Map<bigint, bigint>;
}

async function readUses(view: View, payments: readonly X402Payment[]): Promise<Uses> {
  const uses: Uses = { logs: new Map(), endedAt: new Map() };
  for (let at = 0; at < payments.length; at += PAYMENTS_A_QUERY) {
    await addUses(uses, view, payments.slice(at, at + PAYMENTS_A_QUERY));
  }
  return uses;
}

/**
 * A query holds only payments that were opened below its last block. Where that is not the latest, its time says which of them need no
 * further one: what stays open for days costs one query a reading, and not one for every 2,000 blocks since.
 */
async function addUses(
  { logs, endedAt }: Uses,
  { rpc, latest }: View,
  payments: readonly X402Payment[],
): Promise<void> {
  let left = payments;
  let from = lowestOpened(left);
  while (left.length > 0 && from <= latest.number) {
    const to = endOfSpan(from, latest.number);
    const wanted = left.filter(({ openedBlock }) => openedBlock <= to);
    const [found, last] = await Promise.all([
      readUsesIn(rpc, wanted, { fromBlock: from, toBlock: to }),
      to < latest.number ? readBlock(rpc, to) : null,
    ]);
    for (const log of found) logs.set(`${log.topics[1]}${log.topics[2]}`, log);
    for (const { id, validBefore } of wanted) if (last !== null && last.timestamp >= validBefore) endedAt.set(id, to);
    left = left.filter(({ id }) => !endedAt.has(id));
    const lowest = lowestOpened(left);
    from = lowest > to ? lowest : to + 1n;
  }
}

async function readUsesAbove({ rpc, latest }: View, payment: X402Payment, ended: bigint): Promise<Log | undefined> {
  let found: Log | undefined;
  for (let from = ended + 1n; from <= latest.number; from = endOfSpan(from, latest.number) + 1n) {
    const blocks = { fromBlock: from, toBlock: endOfSpan(from, latest.number) };
    found = (await readUsesIn(rpc, [payment], blocks)).at(-1) ?? found;
  }
  return found;
}

function lowestOpened(payments: readonly X402Payment[]): bigint {
  return payments.map(({ openedBlock }) => openedBlock).reduce((low, block) => (block < low ? block : low), 2n ** 63n);
}

function endOfSpan(from: bigint, latest: bigint): bigint {
  const end = from + LOG_SPAN_BLOCKS - 1n;
  return end < latest ? end : latest;
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
