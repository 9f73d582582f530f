import { BoundMet } from './bounds.ts';
import { type Chain, movedBy, TRANSFER, topicOf } from './read-chain.ts';

/** A transfer of the token to a watched wallet. */
export interface Arrival {
  txHash: string;
  logIndex: number;
  block: number;
  from: string;
  to: string;
  units: bigint;
}

/** Transfers to some wallets in a range of blocks, and which of them are not in the books. Amounts are units as text. */
export interface Incoming {
  wallets: number;
  transfers: number;
  booked: number;
  /** Transfers that pay for nothing here, by sender, largest first. */
  surplus: { sender: string; transfers: number; units: string }[];
  /** Transfers that are not in the books, if the caller asked for them. */
  unbooked: { tx_hash: string; log_index: number; block: number; sender: string; wallet: string; units: string }[];
}

/** Wallets per log query. If a provider refuses that many even for a single block, the wallets are split. */
const WALLETS_AT_ONCE = 200;

/**
 * Yields transfers to these wallets, first the earlier unbooked ones. Skips transfers of zero, which anybody can make in anybody's name.
 */
export async function* arrivalsAt(
  chain: Chain,
  wallets: readonly string[],
  { from, to }: { from: number; to: number },
  again: Incoming['unbooked'] = [],
): AsyncGenerator<Arrival, void, undefined> {
  for (const { tx_hash, log_index, block, sender, wallet, units } of again)
    yield { txHash: tx_hash, logIndex: log_index, block, from: sender, to: wallet, units: BigInt(units) };
  for (let at = 0; at < wallets.length; at += WALLETS_AT_ONCE) {
    const topics = [TRANSFER, null, wallets.slice(at, at + WALLETS_AT_ONCE).map(topicOf)];
    for await (const log of chain.logs(topics, from, to)) {
      const { from: sender, to: wallet, units, logIndex } = movedBy(log);
      const place = { txHash: log.transactionHash.toLowerCase(), logIndex, block: Number(log.blockNumber) };
      if (units > 0n) yield { ...place, from: sender, to: wallet, units };
    }
  }
}

export interface Sorting {
  wallets: readonly string[];
  isBooked(arrival: Arrival): boolean | Promise<boolean>;
  /** True to list every transfer that is not in the books, false to count them only. */
  named: boolean;
}

/** Limit on transfers. A market may name any wallet as a seller's, even one that receives payments from everywhere. */
const MAX_ARRIVALS = 1_000_000;

/** Counts unbooked transfers by sender. */
export async function sortArrivals(arrivals: AsyncIterable<Arrival>, sorting: Sorting): Promise<Incoming> {
  const senders = new Map<string, { transfers: number; units: bigint }>();
  const found: Incoming = { wallets: sorting.wallets.length, transfers: 0, booked: 0, surplus: [], unbooked: [] };
  for await (const arrival of arrivals) {
    found.transfers += 1;
    if (found.transfers > MAX_ARRIVALS)
      throw new BoundMet(
        `more than ${MAX_ARRIVALS} transfers came to these ${sorting.wallets.length} wallets. Look at fewer blocks: --from-block or --state`,
      );
    if (await sorting.isBooked(arrival)) {
      found.booked += 1;
      continue;
    }
    const { txHash, logIndex, block, from, to, units } = arrival;
    const before = senders.get(from) ?? { transfers: 0, units: 0n };
    senders.set(from, { transfers: before.transfers + 1, units: before.units + units });
    if (sorting.named)
      found.unbooked.push({
        ...{ tx_hash: txHash, log_index: logIndex, block, sender: from, wallet: to },
        units: units.toString(),
      });
  }
  found.surplus = [...senders]
    .sort(([, a], [, b]) => (a.units === b.units ? 0 : a.units > b.units ? -1 : 1))
    .map(([sender, { transfers, units }]) => ({ sender, transfers, units: units.toString() }));
  return found;
}

/** Slack for differing clocks. */
const SLACK_SECONDS = 3_600;

/** Finds the first block that the books can refer to, from their block numbers and the time of their first row. */
export async function firstBlock(
  chain: Chain,
  first: { block: number | null; second: number | null },
): Promise<number | null> {
  const { final } = chain;
  if (first.second === null) return first.block;
  const wanted = first.second - SLACK_SECONDS;
  let low = 0;
  let high = Math.min(final.number, first.block ?? final.number);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (Number((await chain.block(middle))?.timestamp ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
