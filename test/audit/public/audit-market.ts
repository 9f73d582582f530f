import type { ListingSummary } from '../../../src/contract/listings.ts';
import { NETWORKS } from '../../../src/contract/networks.ts';
import { type Client, createClient } from '../../../src/sdk/client.ts';
import type { FeeRecord } from '../../../src/sdk/pages.ts';
import { arrivalsAt, firstBlock, type Incoming, sortArrivals } from '../incoming.ts';
import { faultsOfState, readState, type State, StateRefused, writeState } from '../keep-state.ts';
import { faultsOfPromise, type Goods } from '../promises.ts';
import { type Chain, openChain } from '../read-chain.ts';
import { unitsOf } from '../told.ts';
import {
  createProver,
  faultsOfTerms,
  keyOf,
  type Payment,
  type Prover,
  type PublicSale,
  paymentOf,
  promisesIn,
  salesIn,
} from './prove.ts';
import {
  type PublicFees,
  type PublicLog,
  patientFetch,
  readFees,
  readListing,
  readLog,
  readShelves,
} from './read-market.ts';

export interface MarketAuditOrder {
  marketUrl: string;
  rpcUrl: string;
  /** The address of USDC, if it is another than the one that is known for the chain. */
  token?: string | undefined;
  /** Looked at in addition to the treasury that the market names. */
  treasury?: string | undefined;
  fromBlock?: number | undefined;
  /** A file that remembers how far the last clean audit came. */
  statePath?: string | undefined;
  say?(progress: string): void;
}

export interface MarketAudit {
  market: string;
  /** Events that were read; all from the first on, or those since the state. */
  log: { read: number; whole: boolean; last_id: string | null; running_hash: string | null };
  /** `proven`: with a final transfer of their own. `free`: nothing was paid. */
  sales: { told: number; proven: number; free: number };
  fees: { read: number; proven: number; units: string };
  /** Listings that were held against what the log promised. */
  listings: number;
  blocks: { chain_id: string; from: number; to: number } | null;
  treasuries: string[];
  to_treasury: Incoming;
  to_sellers: Incoming;
  faults: string[];
}

const AT_ONCE = 200;
/** A market counts what a stranger asks for. */
const LISTINGS_AT_ONCE = 8;

interface Scene {
  client: Client;
  chain: Chain;
  log: PublicLog;
  books: PublicFees;
  goods: Map<number, Goods>;
  treasury: string;
  /** In units. */
  fee: string;
  prover: Prover;
  say(progress: string): void;
}

/**
 * What anybody can see of a market, held against the chain and back: ids and order of its log, every sale and every fee by a final
 * transfer of its own, listings against what the log promised, and what else came to the treasury and to sellers. Needs no key and
 * takes the market's word for nothing that the chain can show.
 */
export async function auditMarket(order: MarketAuditOrder): Promise<MarketAudit> {
  const say = order.say ?? (() => {});
  const client = createClient({ baseUrl: order.marketUrl, environment: { fetch: patientFetch }, timeoutMs: 600_000 });
  const before =
    order.statePath === undefined ? null : readState(order.statePath, { of: 'market', market: client.baseUrl });
  const chain = await openChain(order.rpcUrl, order.token);
  const refused = before === null ? [] : await faultsOfState(before, chain, chain.token);
  const facts = await readFacts(client, chain);
  // Transfers are looked at up to the head that was final before log and fees were read: what is younger may not be in them yet.
  const seen = chain.final;
  const log = await readLog(client, before?.event ?? null, say);
  const books = await readFees(client, before?.public ?? null);
  const shelves = await readShelves(client, goodsOf);
  await chain.refresh();
  const scene: Scene = { client, chain, log, books, goods: shelves.goods, ...facts, prover: createProver(chain), say };
  const faults = [...refused, ...facts.faults, ...log.faults, ...books.faults, ...shelves.faults];
  const sales = salesIn(log.events);
  await readSold(scene, sales);
  faults.push(...faultsOfListings(scene), ...(await faultsOfSales(scene, sales)), ...(await faultsOfFees(scene)));
  const range = await rangeOf(scene, order.fromBlock, refused.length === 0 ? before : null, seen.number);
  const incoming = await readIncoming(scene, order.treasury, range, before);
  if (order.statePath !== undefined && faults.length === 0)
    writeState(order.statePath, stateOf(scene, seen, incoming.to_treasury.unbooked));
  return {
    ...describe(scene, sales),
    blocks: range && { chain_id: chain.id.toString(), ...range },
    ...incoming,
    faults,
  };
}

/** What the market says of itself has to fit the chain that the endpoint shows. */
async function readFacts(client: Client, chain: Chain): Promise<{ treasury: string; fee: string; faults: string[] }> {
  const { body } = await client.getOfficialFacts();
  const network = Object.values(NETWORKS).find(({ name }) => name === body.network);
  if (network !== undefined && network.chainId !== chain.id)
    throw new StateRefused(`the market is on ${body.network}, and the endpoint is of chain ${chain.id}`);
  const faults: string[] = [];
  if (body.usdc_contract.toLowerCase() !== chain.token)
    faults.push(`the market takes ${body.usdc_contract} for USDC, which is ${chain.token}`);
  const { address } = (await client.getTreasury({ query: { limit: 1 } })).body;
  if (address !== body.treasury) faults.push(`the market names two treasuries: ${body.treasury} and ${address}`);
  return { treasury: body.treasury.toLowerCase(), fee: unitsOf(body.listing_fee_usdc), faults };
}

function goodsOf(listing: ListingSummary): Goods {
  return {
    id: listing.id,
    wallet: listing.seller_wallet.toLowerCase(),
    units: unitsOf(listing.price_usdc),
    commitment: listing.artifact_commitment?.toLowerCase() ?? null,
  };
}

/** What was sold and is not on the shelves any more. */
async function readSold({ client, goods, say }: Scene, sales: readonly PublicSale[]): Promise<void> {
  const missing = [...new Set(sales.map(({ listingId }) => listingId))].filter((id) => !goods.has(id));
  for (let at = 0; at < missing.length; at += LISTINGS_AT_ONCE) {
    const ids = missing.slice(at, at + LISTINGS_AT_ONCE);
    for (const one of await Promise.all(ids.map((id) => readListing(client, id, goodsOf))))
      if (one !== null) goods.set(one.id, one);
    say(`${at + ids.length} of ${missing.length} listings that were sold`);
  }
}

/** Each listing is what the log promised; and a paid one has its fee. */
function faultsOfListings({ log, books, goods }: Scene): string[] {
  const promises = promisesIn(log.events);
  const highest = [...promises.keys()].reduce((most, id) => Math.max(most, id), 0);
  const faults: string[] = [];
  for (const one of goods.values()) {
    const promised = promises.get(one.id);
    if (promised !== undefined) faults.push(...faultsOfPromise(promised, one));
    // What was listed after the log was read belongs to the next audit.
    else if (log.isWhole && one.id <= highest) faults.push(`listing ${one.id} has no event that tells of it`);
  }
  if (!log.isWhole) return faults;
  const paid = new Set(books.fees.map(({ listing_id }) => listing_id));
  for (const [id, { isPaid, name }] of promises)
    if (isPaid && !paid.has(id)) faults.push(`${name} tells of listing ${id}, and no fee was paid for it`);
  for (const { id, listing_id: listing } of books.fees) {
    if (listing !== null && listing <= highest && promises.get(listing)?.isPaid !== true)
      faults.push(`fee ${id} is for listing ${listing}, and no event tells of that as paid`);
  }
  return faults;
}

async function proveAll({ chain, prover, say }: Scene, what: string, payments: readonly Payment[]): Promise<string[]> {
  const faults: string[] = [];
  for (let at = 0; at < payments.length; at += AT_ONCE) {
    faults.push(...(await Promise.all(payments.slice(at, at + AT_ONCE).map(prover.faultsOf))).flat());
    chain.forget();
    say(`${Math.min(payments.length, at + AT_ONCE)} of ${payments.length} ${what} held against the chain`);
  }
  return faults;
}

async function faultsOfSales(scene: Scene, sales: readonly PublicSale[]): Promise<string[]> {
  const goods = (sale: PublicSale): Goods | null => scene.goods.get(sale.listingId) ?? null;
  const payments = sales.map((sale) => paymentOf(sale, goods(sale))).filter((payment) => payment !== null);
  return [...sales.flatMap((sale) => faultsOfTerms(sale, goods(sale))), ...(await proveAll(scene, 'sales', payments))];
}

async function faultsOfFees(scene: Scene): Promise<string[]> {
  const { books, log, treasury, fee } = scene;
  const faults: string[] = [];
  // The maintainer may let less count as a fee, and does so in public.
  const delivered = log.events.filter(({ detail }) => detail.action === 'fee_review' && detail.outcome === 'deliver');
  const low = books.fees.filter(({ amount_usdc }) => BigInt(unitsOf(amount_usdc)) < BigInt(fee));
  if (low.length > delivered.length)
    faults.push(
      `${low.length} fees are below ${fee} units, and ${delivered.length} were decided to count: ${idsOf(low)}`,
    );
  const payments = books.fees.map((line) => ({
    name: `fee ${line.id}`,
    txHash: line.tx_hash.toLowerCase(),
    to: treasury,
    units: BigInt(unitsOf(line.amount_usdc)),
    isAuthorized: line.verified_via === 'x402',
    blockTime: Date.parse(line.block_time),
  }));
  return [...faults, ...(await proveAll(scene, 'fees', payments))];
}

const idsOf = (fees: readonly FeeRecord[]): string => fees.map(({ id }) => id).join(', ');

type Range = { from: number; to: number } | null;

async function rangeOf(scene: Scene, fromBlock: number | undefined, before: State | null, to: number): Promise<Range> {
  const { chain, log, prover } = scene;
  const blocks = [...prover.proven.values()].map(({ block }) => block);
  const lowest = blocks.reduce((least, block) => Math.min(least, block), to);
  const [oldest] = log.events;
  const first = { block: lowest, second: oldest === undefined ? null : Date.parse(String(oldest.at)) / 1000 };
  const from = fromBlock ?? (before === null ? await firstBlock(chain, first) : before.block.number + 1);
  return from === null ? null : { from, to };
}

async function readIncoming(
  { chain, goods, log, treasury, prover, say }: Scene,
  named: string | undefined,
  range: Range,
  before: State | null,
): Promise<Pick<MarketAudit, 'treasuries' | 'to_treasury' | 'to_sellers'>> {
  const treasuries = [...new Set([treasury, ...(named === undefined ? [] : [named.toLowerCase()])])];
  const promised = [...promisesIn(log.events).values()].map(({ wallet }) => wallet);
  const wallets = new Set([...[...goods.values()].map(({ wallet }) => wallet), ...promised]);
  const sellers = [...wallets].filter((wallet) => wallet !== null && !treasuries.includes(wallet));
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
    to_sellers: await look(
      `${sellers.length} sellers`,
      sellers.filter((wallet) => wallet !== null),
      null,
    ),
  };
}

function stateOf(
  { client, chain, log, books, prover }: Scene,
  seen: State['block'],
  unbooked: State['unbooked'],
): State {
  const ahead = [...prover.proven.values()].filter(({ block }) => block > seen.number).map(keyOf);
  return {
    version: 1,
    of: 'market',
    market: client.baseUrl,
    chain_id: chain.id.toString(),
    token: chain.token,
    block: seen,
    event: log.last,
    unbooked,
    books: null,
    public: { fee_id: books.lastId, fees_units: books.units.toString(), ahead },
  };
}

function describe({ client, log, books, goods, prover }: Scene, sales: readonly PublicSale[]) {
  const hashes = new Set(books.fees.map(({ tx_hash }) => tx_hash.toLowerCase()));
  const ofFees = [...prover.proven.values()].filter(({ txHash }) => hashes.has(txHash)).length;
  return {
    market: client.baseUrl,
    log: {
      read: log.events.length,
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
    listings: goods.size,
  };
}
