import {
  isCostly,
  type LogPart,
  logSpanOf,
  type RangeFilter,
  readLogsAt,
} from '../../../../platform/chain/log-span.ts';
import { type Block, type Log, readBlock, readLogs, readReceipt } from '../../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../../platform/chain/rpc.ts';
import { blocksBetween, SearchUnfinished, searchLogs } from '../../../../platform/chain/search-logs.ts';
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

/** Each payment adds a payer and a nonce to a query, and providers limit the topics of one query. */
const PAYMENTS_A_QUERY = 240;

/** Findings of a provider about one authorization. */
export type Finding = Pick<Evidence, 'nonceUsed' | 'use'>;

export interface View {
  rpc: Rpc;
  latest: { number: bigint };
}

type FindingsMarket = Pick<Market, 'clock' | 'log'>;

/**
 * Reads what a provider shows about payments of one asset: first the logs of their nonces, then the transactions behind those logs.
 * Payments in one block share its reading. Throws RpcFailure if the logs cannot be read. Leaves out a payment whose own reading fails, so
 * that it does not delay the others. Calls `onUnfinished` for payments whose search continues in the next reading.
 */
export async function readFindings(
  market: FindingsMarket,
  view: View,
  payments: readonly X402Payment[],
  onUnfinished: (payment: X402Payment) => void = () => {},
): Promise<Map<bigint, Finding>> {
  const uses = await readUses(view, payments);
  const readBlockOf = createBlockReader(view.rpc, uses.logs);
  const findings = new Map<bigint, Finding>();
  await Promise.all(
    payments.map(async (payment) => {
      try {
        findings.set(payment.id, await readOne(market, view, payment, { uses, readBlockOf }));
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
        if (error instanceof SearchUnfinished) onUnfinished(payment);
        else market.log.warn('payment_unreadable', { payment_id: payment.id, error });
      }
    }),
  );
  return findings;
}

async function readOne(
  { clock }: FindingsMarket,
  view: View,
  payment: X402Payment,
  { uses, readBlockOf }: { uses: Uses; readBlockOf(log: Log): Promise<BlockContent> },
): Promise<Finding> {
  const { rpc, latest } = view;
  const showUse = async (log: Log): Promise<Finding> => {
    const [receipt, logsByBlock] = await Promise.all([readReceipt(rpc, log.transactionHash), readBlockOf(log)]);
    return { nonceUsed: null, use: { log, receipt, ...logsByBlock } };
  };
  const log = uses.logs.get(keyOf(payment));
  if (log !== undefined) return await showUse(log);
  // Ask only if the answer matters, and at the head's own block, so that a lagging node fails instead of calling a used nonce unused.
  const isOver = clock.now() >= Number(payment.validBefore) * 1000;
  const isPartlySearched = uses.partlySearched.has(payment.id);
  if (!isOver && !isPartlySearched) return { nonceUsed: null, use: null };
  const { asset, payer, nonce } = payment;
  const nonceUsed = await readAuthorizationState(rpc, asset, { authorizer: payer, nonce }, latest.number);
  const lateUse = isPartlySearched
    ? await searchSeparately(view, payment, { nonceUsed, isOver })
    : await readUseAbove(view, payment, nonceUsed ? uses.endedAt.get(payment.id) : undefined);
  return lateUse === undefined ? { nonceUsed: isOver ? nonceUsed : null, use: null } : await showUse(lateUse);
}

/**
 * Searches above `ended`. A cancellation can be later, because it can come at any time, and the first search may have ended too early if
 * two nodes answered it.
 */
async function readUseAbove({ rpc, latest }: View, payment: X402Payment, ended?: bigint): Promise<Log | undefined> {
  if (ended === undefined) return undefined;
  const blocks = { fromBlock: ended + 1n, toBlock: latest.number };
  return (await searchLogs(rpc, { ...usesFilter([payment]), ...blocks, isEnough })).at(-1);
}

/**
 * Searches for one payment on a provider that accepts few blocks per query. The nonce's state shows whether there is a log to find. If it
 * is unused but can no longer be used, still searches all blocks that could hold a use, so that the nonce alone is not trusted.
 */
async function searchSeparately(
  { rpc, latest }: View,
  payment: X402Payment,
  { nonceUsed, isOver }: { nonceUsed: boolean; isOver: boolean },
): Promise<Log | undefined> {
  const filter = usesFilter([payment]);
  const all = { fromBlock: payment.openedBlock, toBlock: latest.number };
  if (nonceUsed) return (await searchLogs(rpc, { ...filter, ...all, isEnough })).at(-1);
  if (!isOver) return undefined;
  const blocks = await blocksBetween(rpc, all, { from: 0n, before: payment.validBefore });
  return (await searchLogs(rpc, { ...filter, ...blocks })).at(-1);
}

/** An authorization is used or cancelled only once. */
const isEnough = ({ length }: readonly Log[]): boolean => length > 0;

const keyOf = ({ payer, nonce }: { payer: Hex; nonce: Hex }): string => `${addressTopic(payer)}${nonce}`;

interface Uses {
  /** The last use or cancellation of each authorization, by `keyOf`. */
  logs: Map<string, Log>;
  /** Maps a payment to the block after which its search stopped, because no authorization is used at or after its `validBefore`. */
  endedAt: Map<bigint, bigint>;
  /** Payments searched only in some blocks, because the provider accepts few per query. */
  partlySearched: Set<bigint>;
}

async function readUses(view: View, payments: readonly X402Payment[]): Promise<Uses> {
  const uses: Uses = { logs: new Map(), endedAt: new Map(), partlySearched: new Set() };
  for (let at = 0; at < payments.length; at += PAYMENTS_A_QUERY) {
    await addUses(uses, view, payments.slice(at, at + PAYMENTS_A_QUERY));
  }
  return uses;
}

/**
 * Each query is only for payments opened at or below its last block. If that block is not the latest, its time shows which payments need no
 * further query. So a payment that stays open for days costs one query per reading, not one for every 2,000 blocks since.
 */
async function addUses(uses: Uses, view: View, payments: readonly X402Payment[]): Promise<void> {
  const { rpc, latest } = view;
  let remaining = payments;
  let from = lowestOpened(remaining);
  while (remaining.length > 0 && from <= latest.number) {
    if (isCostly(rpc, { fromBlock: from, toBlock: latest.number })) return await addNearUses(uses, view, remaining);
    const to = endOfSpan(from, view);
    const wanted = remaining.filter(({ openedBlock }) => openedBlock <= to);
    const [part, last] = await Promise.all([
      readLogsAt('oldest', rpc, usesFilter(wanted), { fromBlock: from, toBlock: to }),
      to < latest.number ? readBlock(rpc, to) : null,
    ]);
    noteUses(uses, part);
    if (part.toBlock < to) {
      // The provider accepts fewer blocks than assumed.
      from = part.toBlock + 1n;
      continue;
    }
    for (const { id, validBefore } of wanted) {
      if (last !== null && last.timestamp >= validBefore) uses.endedAt.set(id, to);
    }
    remaining = remaining.filter(({ id }) => !uses.endedAt.has(id));
    const lowest = lowestOpened(remaining);
    from = lowest > to ? lowest : to + 1n;
  }
}

/**
 * Searches where a use is most likely: the block where it was last seen, and the newest blocks. Needs one query for each such block, and
 * one for the newest blocks.
 */
async function addNearUses(uses: Uses, { rpc, latest }: View, payments: readonly X402Payment[]): Promise<void> {
  const isMissing = (payment: X402Payment): boolean => !uses.logs.has(keyOf(payment));
  const seen = Map.groupBy(payments.filter(isMissing), ({ blockNumber }) => blockNumber);
  await Promise.all(
    [...seen].map(async ([block, some]) => {
      if (block === null || block === undefined || block > latest.number) return;
      noteUses(uses, await readLogsAt('newest', rpc, usesFilter(some), { fromBlock: block, toBlock: block }));
    }),
  );
  const missing = payments.filter((payment) => isMissing(payment) && payment.openedBlock <= latest.number);
  if (missing.length === 0) return;
  const range = { fromBlock: lowestOpened(missing), toBlock: latest.number };
  noteUses(uses, await readLogsAt('newest', rpc, usesFilter(missing), range));
  for (const payment of missing) if (isMissing(payment)) uses.partlySearched.add(payment.id);
}

function noteUses({ logs }: Uses, part: LogPart): void {
  for (const log of part.logs) logs.set(`${log.topics[1]}${log.topics[2]}`, log);
}

function lowestOpened(payments: readonly X402Payment[]): bigint {
  return payments.map(({ openedBlock }) => openedBlock).reduce((low, block) => (block < low ? block : low), 2n ** 63n);
}

function endOfSpan(from: bigint, { rpc, latest }: View): bigint {
  const end = from + logSpanOf(rpc) - 1n;
  return end < latest.number ? end : latest.number;
}

function usesFilter(payments: readonly X402Payment[]): RangeFilter {
  const [first] = payments;
  if (first === undefined) throw new TypeError('a query for the uses of no authorization');
  return {
    address: first.asset,
    topics: [
      [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
      distinctHex(payments.map((payment) => addressTopic(payment.payer))),
      distinctHex(payments.map((payment) => payment.nonce)),
    ],
  };
}

function distinctHex(values: Hex[]): Hex[] {
  return [...new Set(values)];
}

type BlockContent = Pick<Use, 'block' | 'transfersInBlock'>;

/** Reads the block of a log once for all payers with logs there, including their transfers in it. */
function createBlockReader(rpc: Rpc, logs: ReadonlyMap<string, Log>): (log: Log) => Promise<BlockContent> {
  const logsByBlock = Map.groupBy(logs.values(), ({ blockHash }) => blockHash);
  const read = new Map<Hex, { block: Promise<Block | null>; transfers: Promise<Log[]> }>();
  const readTransfers = ({ address, blockHash }: Log, payers: Hex[]): Promise<Log[]> =>
    readLogs(rpc, { address, topics: [TRANSFER_TOPIC, payers], blockHash });
  return async (log) => {
    const { blockHash, blockNumber } = log;
    const payersOf = (some: readonly Log[]): Hex[] => distinctHex(some.flatMap(({ topics }) => topics[1] ?? []));
    const all = payersOf(logsByBlock.get(blockHash) ?? [log]).slice(0, 2 * PAYMENTS_A_QUERY);
    const shared = read.get(blockHash) ?? { block: readBlock(rpc, blockNumber), transfers: readTransfers(log, all) };
    read.set(blockHash, shared);
    // Callers that await this promise still get its failure.
    shared.transfers.catch(() => undefined);
    const ownPayers = payersOf([log]);
    // A payer with very many transfers in the block must not block the others.
    const readOwnTransfers = async (): Promise<Log[]> => {
      const isCovered = ownPayers.every((payer) => all.includes(payer));
      try {
        return isCovered ? await shared.transfers : await readTransfers(log, ownPayers);
      } catch (error) {
        if (!(error instanceof RpcFailure) || all.length === 1) throw error;
        return await readTransfers(log, ownPayers);
      }
    };
    const [block, transfersInBlock] = await Promise.all([shared.block, readOwnTransfers()]);
    return { block, transfersInBlock };
  };
}
