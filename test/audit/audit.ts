import { createFaults } from './bounds.ts';
import {
  createBookedBy,
  createClaimsCheck,
  faultsOfLine,
  faultsOfPayment,
  faultsOfThing,
  type Scene,
} from './faults-of-payments.ts';
import { arrivalsAt, firstBlock, type Incoming, sortArrivals } from './incoming.ts';
import { faultsOfState, readState, type State, settle, unsettled, writeState } from './keep-state.ts';
import { type Books, readBooks } from './read-books.ts';
import { openChain } from './read-chain.ts';

export interface AuditOrder {
  databaseUrl: string;
  rpcUrl: string;
  /** Address of USDC, if it differs from the chain's known one. */
  token?: string | undefined;
  /** Further wallet that receives fees, besides those in the books. */
  treasury?: string | undefined;
  /** True if every payment has had time to end, so that an open one is a fault. */
  quiet?: boolean;
  /** First block to check transfers from. Default: derived from the books. */
  fromBlock?: number | undefined;
  /** File that stores how far the last clean audit came. */
  statePath?: string | undefined;
  say?(progress: string): void;
}

export interface Audit {
  payments: number;
  proofs: number;
  fees: number;
  purchases: number;
  listings: number;
  /** Number of listings for which the log promises only the price, as older events did. */
  price_only: number;
  /** Number of payments on other chains than the endpoint's. They are not checked. */
  elsewhere: number;
  /** Number of payments checked against the chain now. All other payments are unchanged since their last check. */
  checked: number;
  /** First and last block in which transfers were checked. Null if there was nothing to check. */
  blocks: { chain_id: string; from: number; to: number } | null;
  log: {
    events: number;
    first_id: string | null;
    last_id: string | null;
    running_hash: string;
    hashed_from: string | null;
  };
  artifacts: { count: number; bytes: number; elsewhere: number; erased: number };
  /** Wallets of the treasury. Empty if no fee was ever requested. */
  treasuries: string[];
  to_treasury: Incoming;
  to_sellers: Incoming;
  /** Faults as sentences. Empty if books and chain agree. */
  faults: string[];
}

/** Number of payments checked in one batch. Their data is dropped after each batch. */
const AT_ONCE = 200;

/**
 * Checks the books against the chain and the chain against the books: every delivery has its final transfer, no transaction pays for two
 * things, and every final transfer that pays for something here has a delivery, a pending payment or a review. Also lists other transfers
 * to the treasury and to sellers, by sender, and checks log and artifacts against their hashes. Reads SQL and logs, and shares no code with
 * the market.
 */
export async function audit(order: AuditOrder): Promise<Audit> {
  const say = order.say ?? (() => {});
  const before = order.statePath === undefined ? null : readState(order.statePath, { of: 'books', market: null });
  const chain = await openChain(order.rpcUrl, order.token);
  const { token } = chain;
  const refused = before === null ? [] : await faultsOfState(before, chain, token);
  // Check transfers up to the head that was final before the books were read, because the books may lack later ones.
  const seen = chain.final;
  const rememberedId = before?.event?.id ?? null;
  const books = await readBooks({ databaseUrl: order.databaseUrl, chainId: chain.id, rememberedId, say });
  await chain.refresh();
  const scene: Scene = { books, chain, token };
  const faults = createFaults();
  faults.add([...books.broken, ...books.artifacts.faults]);
  if (before !== null) refused.push(...faultsOfRemembered(before, books));
  faults.add(refused);
  const state = refused.length === 0 ? before : null;
  const due = unsettled(books, state?.books ?? null);
  faults.add(await faultsAgainstChain(scene, due, order.quiet ?? false, say));
  const range = await rangeOf(scene, order.fromBlock, state, seen.number);
  const incoming = await readIncoming(scene, { treasury: order.treasury, range, unbooked: state?.unbooked ?? [] }, say);
  if (order.statePath !== undefined && faults.count() === 0)
    writeState(order.statePath, stateOf(scene, seen, incoming.to_treasury.unbooked));
  return { ...describe(scene, due.payments.length, range), ...incoming, faults: faults.list() };
}

function faultsOfRemembered({ event }: State, { log }: Books): string[] {
  if (event === null || log.remembered?.toString('hex') === event.running_hash) return [];
  return log.remembered === null
    ? [
        `the log has no event ${event.id}, which the state remembers: history was lost, or the state is of another market`,
      ]
    : [
        `the log up to event ${event.id} is not what the state remembers: it was changed, or the state is of another market`,
      ];
}

interface Due {
  payments: Books['payments'];
  things: Books['things'];
}

async function faultsAgainstChain(
  scene: Scene,
  due: Due,
  quiet: boolean,
  say: (progress: string) => void,
): Promise<string[]> {
  const { books, chain } = scene;
  const faults = createFaults();
  for (const line of books.payments) faults.add(faultsOfLine(line, books.log.told.salesOf(line.id), quiet));
  const each = async <Line>(what: string, lines: readonly Line[], check: (line: Line) => Promise<string[]>) => {
    for (let at = 0; at < lines.length; at += AT_ONCE) {
      faults.add((await Promise.all(lines.slice(at, at + AT_ONCE).map(check))).flat());
      chain.forget();
      say(`${Math.min(lines.length, at + AT_ONCE)} of ${lines.length} ${what} held against the chain`);
    }
  };
  const ids = new Set(due.payments.map(({ id }) => id));
  await each('payments', due.payments, (line) => faultsOfPayment(scene, line));
  const claims = books.claimed.filter(({ payment_id }) => ids.has(payment_id));
  await each('claimed transactions', claims, createClaimsCheck(scene));
  await each('things', due.things, (line) => faultsOfThing(scene, line));
  return faults.list();
}

type Range = { from: number; to: number } | null;

async function rangeOf({ books, chain }: Scene, fromBlock: number | undefined, state: State | null, to: number) {
  const from = fromBlock ?? (state === null ? await firstBlock(chain, books.first) : state.block.number + 1);
  return from === null ? null : { from, to };
}

interface Wanted {
  treasury: string | undefined;
  range: Range;
  /** Transfers that were not in the books at the last audit. */
  unbooked: State['unbooked'];
}

async function readIncoming(
  scene: Scene,
  { treasury, range, unbooked }: Wanted,
  say: (progress: string) => void,
): Promise<Pick<Audit, 'treasuries' | 'to_treasury' | 'to_sellers'>> {
  const { books, chain } = scene;
  const treasuries = [...new Set([...books.treasuries, ...(treasury === undefined ? [] : [treasury.toLowerCase()])])];
  const sellers = books.sellers.filter((wallet) => !treasuries.includes(wallet));
  const isBooked = createBookedBy(scene);
  const look = (what: string, wallets: readonly string[], again: State['unbooked'] | null): Promise<Incoming> => {
    say(`transfers to ${what}`);
    const arrivals = arrivalsAt(chain, wallets, range ?? { from: 1, to: 0 }, again ?? []);
    return sortArrivals(arrivals, { wallets, isBooked, named: again !== null });
  };
  return {
    treasuries,
    to_treasury: await look('the treasury', treasuries, unbooked),
    to_sellers: await look(`${sellers.length} sellers`, sellers, null),
  };
}

function stateOf({ books, chain, token }: Scene, seen: State['block'], unbooked: State['unbooked']): State {
  const { lastId, lastHash, hash } = books.log;
  const event = lastId === null ? null : { id: lastId, hash: lastHash, running_hash: hash.toString('hex') };
  return {
    version: 1,
    of: 'books',
    market: null,
    chain_id: chain.id.toString(),
    token,
    block: seen,
    event,
    unbooked,
    books: settle(books.payments, books.things),
    public: null,
  };
}

function describe({ books, chain }: Scene, checked: number, range: Range) {
  const { log, artifacts } = books;
  return {
    payments: books.payments.length,
    proofs: books.payments.filter((line) => line.proof_hash !== null).length + books.things.length,
    fees: books.fees,
    purchases: books.purchases,
    listings: books.listings,
    price_only: log.priceOnly,
    elsewhere: books.elsewhere,
    checked,
    blocks: range && { chain_id: chain.id.toString(), ...range },
    log: {
      events: log.events,
      first_id: log.firstId,
      last_id: log.lastId,
      running_hash: log.hash.toString('hex'),
      hashed_from: log.hashedFrom,
    },
    artifacts: {
      count: artifacts.count,
      bytes: artifacts.bytes,
      elsewhere: artifacts.elsewhere,
      erased: artifacts.erased,
    },
  };
}
