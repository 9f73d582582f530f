import { BoundMet } from './bounds.ts';
import { type Chain, movedBy, TRANSFER, topicOf } from './read-chain.ts';

/** A transfer of the token to a wallet that is looked at. */
export interface Arrival {
  txHash: string;
  logIndex: number;
  block: number;
  from: string;
  to: string;
  units: bigint;
}

/** What came to some wallets in a range of blocks, and what of it is in no book. Amounts in units, as text. */
export interface Incoming {
  wallets: number;
  transfers: number;
  booked: number;
  /** By sender, the largest first. */
  surplus: { sender: string; transfers: number; units: string }[];
  /** Each of them, where every one is named. */
  unbooked: { tx_hash: string; log_index: number; block: number; sender: string; wallet: string; units: string }[];
}

/** So many wallets are asked about in one question; fewer where a provider refuses it. */
const WALLETS_AT_ONCE = 200;

/** First those that are looked at again. A transfer of nothing can be made in anybody's name and counts as none. */
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
  /** Every one that is in no book is kept, and not only counted. */
  named: boolean;
}

/** A market may name any wallet as a seller's, also one to which the whole world pays. */
const MOST_ARRIVALS = 1_000_000;

/** Counts what came and is in no book by who sent it. */
export async function sortArrivals(arrivals: AsyncIterable<Arrival>, sorting: Sorting): Promise<Incoming> {
  const senders = new Map<string, { transfers: number; units: bigint }>();
  const found: Incoming = { wallets: sorting.wallets.length, transfers: 0, booked: 0, surplus: [], unbooked: [] };
  for await (const arrival of arrivals) {
    found.transfers += 1;
    if (found.transfers > MOST_ARRIVALS)
      throw new BoundMet(
        `more than ${MOST_ARRIVALS} transfers came to these ${sorting.wallets.length} wallets. Look at fewer blocks: --from-block or --state`,
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

/** An hour, for clocks that differ. */
const SLACK_SECONDS = 3_600;

/** The first block of which anything can be in the books: by what they name, and by the time of their first row. */
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
