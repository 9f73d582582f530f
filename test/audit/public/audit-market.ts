import { createFaults, type Faults, MAX_ROWS } from '../bounds.ts';
import { arrivalsAt, firstBlock, type Incoming, sortArrivals } from '../incoming.ts';
import { faultsOfState, readState, type State, StateRefused, writeState } from '../keep-state.ts';
import { shown } from '../print.ts';
import type { Promised } from '../promises.ts';
import { type Chain, openChain } from '../read-chain.ts';
import { type Market, openMarket } from './ask-market.ts';
import { faultsOffShelf, faultsOnShelf } from './faults-of-rows.ts';
import {
  createProver,
  faultsOfTerms,
  keyOf,
  type Payment,
  type Prover,
  type PublicSale,
  paymentOf,
  type Terms,
} from './prove.ts';
import { type PublicFees, readFees } from './read-fees.ts';
import { readFields } from './read-fields.ts';
import { type Later, type PublicLog, readLog, readSince } from './read-log.ts';
import { type ReadShelves, readShelves, readSingle, SHELF_PAGE, type WrongRows } from './read-shelves.ts';

export interface MarketAuditOrder {
  marketUrl: string;
  rpcUrl: string;
  /** Address of USDC, if it differs from the chain's known one. */
  token?: string | undefined;
  /** Further wallet to check, besides the treasury that the market names. */
  treasury?: string | undefined;
  fromBlock?: number | undefined;
  /** First event from which each listing must promise wallet and goods. Default: derived from the log. */
  since?: number | undefined;
  mostEvents?: number | undefined;
  /** Milliseconds for which a cache may return an older answer. Default: what the market's own headers allow. */
  cachedMs?: number | undefined;
  /** File that stores how far the last clean audit came. */
  statePath?: string | undefined;
  say?(progress: string): void;
}

export interface MarketAudit {
  market: string;
  /** Number of events read: all, or those since the state. */
  log: { read: number; whole: boolean; last_id: string | null; running_hash: string | null };
  /** `proven` sales have a final transfer of their own. `free` sales need no payment. */
  sales: { told: number; proven: number; free: number };
  fees: { read: number; proven: number; units: string };
  /** Number of listings checked against the promises in the log. */
  listings: number;
  /**
   * For `price_only` listings the log promises neither wallet nor goods. `since` is the first event from which each listing promises both,
   * or null.
   */
  promises: { listings: number; price_only: number; since: number | null };
  blocks: { chain_id: string; from: number; to: number } | null;
  treasuries: string[];
  to_treasury: Incoming;
  to_sellers: Incoming;
  faults: string[];
}

const AT_ONCE = 200;
/** Chains known by name. A market must not name a chain other than the endpoint's. */
const CHAINS: Readonly<Record<string, bigint>> = { base: 8453n, 'base-sepolia': 84532n };
/** Longer than the shelves can lag behind the log. */
const CATCH_UP_MS = 1_000;

interface Scene {
  market: Market;
  chain: Chain;
  log: PublicLog;
  books: PublicFees;
  /** Wallets by listing that are shown on the shelves but not in the log. */
  wallets: Map<number, string>;
  treasury: string;
  fee: string;
  /** Handle of the maintainer. Null if the market names none. */
  maintainer: string | null;
  prover: Prover;
  say(progress: string): void;
}

/**
 * Checks a market's public data against the chain and back: ids and order of its log, a final transfer for every sale and fee, listings
 * against the promises of the log, and other transfers to the treasury and to sellers. Needs no key, and trusts no statement that it can
 * check on the chain. Memory and work are bounded, whatever the market answers.
 */
export async function auditMarket(order: MarketAuditOrder): Promise<MarketAudit> {
  const { say = () => {}, mostEvents = MAX_ROWS } = order;
  const market = openMarket(order.marketUrl, order.cachedMs);
  const expected = { of: 'market', market: market.baseUrl } as const;
  const before = order.statePath === undefined ? null : readState(order.statePath, expected);
  const chain = await openChain(order.rpcUrl, order.token);
  const refused = before === null ? [] : await faultsOfState(before, chain, chain.token);
  const facts = await readFacts(market, chain);
  // Check transfers up to the head that was final before log and fees were read, because these may lack later ones.
  const seen = chain.final;
  const { maintainer } = facts;
  refused.push(...faultsOfMaintainer(before, maintainer));
  const log = await readLog({ market, before, since: order.since ?? null, maintainer, mostEvents, say });
  // A log that is read completely is checked against all fees.
  const books = await readFees({
    market,
    before: log.isWhole ? null : (before?.public ?? null),
    most: mostEvents,
    say,
  });
  const shelves = await holdShelves({ market, log, maintainer, mostEvents, say });
  await chain.refresh();
  const scene: Scene = {
    market,
    chain,
    log,
    books,
    wallets: shelves.wallets,
    ...facts,
    prover: createProver(chain),
    say,
  };
  const faults = createFaults();
  for (const some of [refused, facts.faults, log.faults, books.faults, shelves.faults, faultsOfPaidListings(scene)])
    faults.add(some);
  await holdSales(scene, faults);
  await holdFees(scene, faults);
  const range = await rangeOf(scene, order.fromBlock, refused.length === 0 ? before : null, seen.number);
  const incoming = await readIncoming(scene, order.treasury, range, before);
  if (order.statePath !== undefined && faults.count() === 0)
    writeState(order.statePath, stateOf(scene, seen, incoming.to_treasury.unbooked));
  return {
    ...describe(scene, shelves.held),
    blocks: range && { chain_id: chain.id.toString(), ...range },
    ...incoming,
    faults: faults.list(),
  };
}

/** Returns a fault if the maintainer changed, because merchant 1 stays the maintainer for good. */
function faultsOfMaintainer(before: State | null, maintainer: string | null): string[] {
  const named = before?.public?.maintainer ?? null;
  if (named === null || named === maintainer) return [];
  return [`the market names ${shown(maintainer)} as its maintainer, and the state remembers ${shown(named)}`];
}

interface Facts extends Pick<Scene, 'treasury' | 'fee' | 'maintainer'> {
  faults: string[];
}

/** Reads the market's description of itself and checks it against the chain of the endpoint. */
async function readFacts(market: Market, chain: Chain): Promise<Facts> {
  const official = readFields(await market.must('/api/official'), 'the official facts');
  const network = official.text('network', 40);
  const chainId = Object.hasOwn(CHAINS, network) ? CHAINS[network] : undefined;
  if (chainId !== undefined && chainId !== chain.id)
    throw new StateRefused(`the market is on ${shown(network)}, and the endpoint is of chain ${chain.id}`);
  const faults: string[] = [];
  const token = official.wallet('usdc_contract');
  if (token !== chain.token) faults.push(`the market takes ${token} for USDC, which is ${chain.token}`);
  const page = readFields(await market.must('/treasury', { limit: 1 }), 'the treasury');
  const treasury = official.wallet('treasury');
  if (page.wallet('address') !== treasury)
    faults.push(`the market names two treasuries: ${treasury} and ${page.wallet('address')}`);
  const isNamed = official.raw('maintainer') !== undefined;
  const maintainer = isNamed ? official.object('maintainer').textOrNull('handle', 64) : null;
  return { treasury, fee: official.units('listing_fee_usdc'), maintainer, faults };
}

interface ShelvesScene {
  market: Market;
  log: PublicLog;
  maintainer: string | null;
  mostEvents: number;
  say(progress: string): void;
}

interface HeldShelves {
  held: number;
  wallets: Map<number, string>;
  faults: string[];
}

/**
 * Checks the shelves against the log and the log against the shelves. Where they differ, reads both again, because a change made meanwhile
 * and recorded in an event belongs to the next audit.
 */
async function holdShelves({ market, log, maintainer, mostEvents, say }: ShelvesScene): Promise<HeldShelves> {
  const promises = log.promises.of;
  const order = { market, promises, most: mostEvents, say };
  const missingIn = ({ seen }: ReadShelves): number[] =>
    [...promises].flatMap(([id, { ending }]) => (ending === null && !seen.has(id) ? [id] : []));
  let shelves = await readShelves(order);
  if (shelves.wrong.size + missingIn(shelves).length > 0) {
    await market.pause(CATCH_UP_MS);
    shelves = await readShelves({ ...order, pageSize: SHELF_PAGE - 1 });
  }
  // A listing that was sold and has ended is read only once, by the audit that reads its sale.
  const sold = [...new Set(log.sales.map(({ listingId }) => listingId))];
  const off = sold.filter((id) => (promises.get(id)?.ending ?? null) !== null);
  const { wallets } = shelves;
  const single = await readSingle({ ...order, wallets, ids: [...missingIn(shelves), ...off] });
  const later = await readSince(log, { market, maintainer, mostEvents, say });
  const broken = shelves.fault === null ? [] : [`the shelves contradict themselves: ${shelves.fault}`];
  return {
    held: shelves.seen.size + single.read,
    wallets,
    faults: [...broken, ...faultsOfDifferences({ promises, shelves, single, later }), ...later.faults],
  };
}

interface Differences {
  promises: ReadonlyMap<number, Promised>;
  shelves: ReadShelves;
  single: { wrong: WrongRows };
  later: Later;
}

/** Returns the faults that later events do not explain. */
function faultsOfDifferences({ promises, shelves, single, later }: Differences): string[] {
  const faults = createFaults();
  for (const [id, row] of shelves.wrong) faults.add(faultsOnShelf(row, promises.get(id), later.of.get(id)));
  for (const [id, row] of single.wrong) {
    const promised = promises.get(id);
    if (promised !== undefined) faults.add(faultsOffShelf(id, row, promised, later.of.get(id)));
  }
  return faults.list();
}

/** Checks that each paid listing in the log has its fee, and each fee its listing. */
function faultsOfPaidListings({ log, books }: Scene): string[] {
  if (!log.isWhole) return [];
  const promises = log.promises.of;
  const highest = [...promises.keys()].reduce((most, id) => Math.max(most, id), 0);
  const faults: string[] = [];
  const paid = new Set(books.fees.map(({ listingId }) => listingId));
  for (const [id, { isPaid, name }] of promises)
    if (isPaid && !paid.has(id)) faults.push(`${name} tells of listing ${id}, and no fee was paid for it`);
  for (const { id, listingId: listing } of books.fees) {
    // A listing made after the log was read belongs to the next audit.
    if (listing !== null && listing <= highest && promises.get(listing)?.isPaid !== true)
      faults.push(`fee ${id} is for listing ${listing}, and no event tells of that as paid`);
  }
  return faults;
}

interface Proofs {
  what: string;
  payments: readonly Payment[];
}

async function proveAll({ chain, prover, say }: Scene, { what, payments }: Proofs, faults: Faults): Promise<void> {
  for (let at = 0; at < payments.length; at += AT_ONCE) {
    faults.add((await Promise.all(payments.slice(at, at + AT_ONCE).map(prover.faultsOf))).flat());
    chain.forget();
    say(`${Math.min(payments.length, at + AT_ONCE)} of ${payments.length} ${what} held against the chain`);
  }
}

async function holdSales(scene: Scene, faults: Faults): Promise<void> {
  const { log, wallets } = scene;
  const termsOf = ({ listingId }: PublicSale): Terms | null => {
    const promised = log.promises.of.get(listingId);
    const wallet = promised?.wallet ?? wallets.get(listingId);
    return promised === undefined || promised.units === '?' || wallet === undefined
      ? null
      : { units: promised.units, wallet };
  };
  const isReviewed = ({ paymentId }: PublicSale): boolean => paymentId !== null && log.reviewed.has(paymentId);
  for (const sale of log.sales) faults.add(faultsOfTerms(sale, termsOf(sale), isReviewed(sale)));
  const payments = log.sales.flatMap((sale) => paymentOf(sale, termsOf(sale), isReviewed(sale)) ?? []);
  await proveAll(scene, { what: 'sales', payments }, faults);
}

async function holdFees(scene: Scene, faults: Faults): Promise<void> {
  const { books, log, treasury, fee } = scene;
  // The maintainer may accept a smaller fee, which the log shows.
  const low = books.fees.filter(({ units }) => units < BigInt(fee));
  if (low.length > log.reviewedFees) {
    const ids = low.slice(0, 20).map(({ id }) => id);
    faults.add([
      `${low.length} fees are below ${fee} units, and ${log.reviewedFees} were decided to count: ${ids.join(', ')}`,
    ]);
  }
  const payments = books.fees.map(({ id, listingId, txHash, units, isAuthorized, blockTime }) => ({
    ...{ name: `fee ${id}`, txHash, to: treasury, units, isAuthorized, blockTime, removed: null },
    toldAt: (listingId === null ? undefined : log.promises.of.get(listingId))?.at ?? null,
  }));
  await proveAll(scene, { what: 'fees', payments }, faults);
}

type Range = { from: number; to: number } | null;

async function rangeOf(scene: Scene, fromBlock: number | undefined, before: State | null, to: number): Promise<Range> {
  const { chain, log, prover } = scene;
  let lowest = to;
  for (const { block } of prover.proven.values()) lowest = Math.min(lowest, block);
  const first = { block: lowest, second: log.firstAt };
  const from = fromBlock ?? (before === null ? await firstBlock(chain, first) : before.block.number + 1);
  return from === null ? null : { from, to };
}

async function readIncoming(
  { chain, wallets, log, treasury, prover, say }: Scene,
  named: string | undefined,
  range: Range,
  before: State | null,
): Promise<Pick<MarketAudit, 'treasuries' | 'to_treasury' | 'to_sellers'>> {
  const treasuries = [...new Set([treasury, ...(named === undefined ? [] : [named.toLowerCase()])])];
  const ofSellers = new Set(wallets.values());
  for (const { wallet } of log.promises.of.values()) if (wallet !== null) ofSellers.add(wallet);
  const sellers = [...ofSellers].filter((wallet) => !treasuries.includes(wallet));
  const ahead = new Set(before?.public?.ahead);
  const isBooked = (arrival: { txHash: string; logIndex: number }): boolean =>
    prover.proven.has(keyOf(arrival)) || ahead.has(keyOf(arrival));
  const look = (what: string, of: readonly string[], again: State['unbooked'] | null): Promise<Incoming> => {
    say(`transfers to ${what}`);
    const arrivals = arrivalsAt(chain, of, range ?? { from: 1, to: 0 }, again ?? []);
    return sortArrivals(arrivals, { wallets: of, isBooked, named: again !== null });
  };
  return {
    treasuries,
    to_treasury: await look('the treasury', treasuries, before?.unbooked ?? []),
    to_sellers: await look(`${sellers.length} sellers`, sellers, null),
  };
}

function stateOf(
  { market, chain, log, books, maintainer, prover }: Scene,
  seen: State['block'],
  unbooked: State['unbooked'],
): State {
  const ahead = [...prover.proven.values()].filter(({ block }) => block > seen.number).map(keyOf);
  return {
    version: 1,
    of: 'market',
    market: market.baseUrl,
    chain_id: chain.id.toString(),
    token: chain.token,
    block: seen,
    event: log.last,
    unbooked,
    books: null,
    public: {
      ...{ fee_id: books.lastId, fees_units: books.units.toString(), ahead },
      ...{ promises_from: log.promises.since(), listings: [...log.promises.of], maintainer },
    },
  };
}

function describe({ market, log, books, prover }: Scene, held: number) {
  const { sales, promises } = log;
  const hashes = new Set(books.fees.map(({ txHash }) => txHash));
  const ofFees = [...prover.proven.values()].filter(({ txHash }) => hashes.has(txHash)).length;
  return {
    market: market.baseUrl,
    log: {
      read: log.read,
      whole: log.isWhole,
      last_id: log.last?.id ?? null,
      running_hash: log.last?.running_hash ?? null,
    },
    sales: {
      told: sales.length,
      proven: prover.proven.size - ofFees,
      free: sales.filter(({ via }) => via === 'free').length,
    },
    fees: { read: books.fees.length, proven: ofFees, units: books.units.toString() },
    listings: held,
    promises: { listings: promises.of.size, price_only: promises.priceOnly(), since: promises.since() },
  };
}
