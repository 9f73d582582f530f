import sql, { type Sql } from 'sql-template-tag';
import { expect } from 'vitest';
import { type TestAccount, testAccount, USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { audit } from '../audit/audit.ts';
import { type LivingMarket, startKillHttp, startLivingMarket } from './kill-market.ts';
import { createKillSwitch, type KillSwitch, startKillPostgres, type Trap } from './kill-postgres.ts';
import { type ProcessWorld, type ProcessWorldOptions, type ServiceUrls, startProcessWorld } from './market-process.ts';
import { type Answer, type AskOptions, BASE_URL, type Member, type ProofTerms } from './market-world.ts';
import { GAS_WEI, newGoods, PRICE } from './trade.ts';

/** A request and its acknowledged (2xx) answer. */
interface Ack {
  method: string;
  path: string;
  body: Record<string, unknown>;
  status: number;
  said: Record<string, unknown>;
}

/** All acknowledged requests except reads, for later comparison with the database. */
interface AckBook {
  note(method: string, path: string, body: unknown, answer: Answer): void;
  size(): number;
  /** Number of acknowledgements by method, endpoint and status. */
  counts(): Record<string, number>;
  /** Describes the acknowledgements from index `from` on that no longer hold. */
  broken(database: Database, from?: number): Promise<string[]>;
}

function createAckBook(): AckBook {
  const acks: Ack[] = [];
  return {
    note: (method, path, body, { status, body: said }) => {
      if (method === 'GET' || status < 200 || status > 299) return;
      acks.push({ method, path, body: (body ?? {}) as Record<string, unknown>, status, said });
    },
    size: () => acks.length,
    counts: () => {
      const kinds = Map.groupBy(acks, ({ method, path, status }) => `${method} ${path.split('/')[2]} ${status}`);
      return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]).sort());
    },
    broken: async (database, from = 0) => {
      const faults: string[] = [];
      for (const ack of acks.slice(from)) {
        for (const proof of proofsOf(ack)) {
          if ((await database.rows(proof)).length === 1) continue;
          faults.push(`${ack.method} ${ack.path} was answered ${ack.status} ${JSON.stringify(ack.said).slice(0, 400)}`);
        }
      }
      return faults;
    },
  };
}

const record = (value: unknown): Record<string, unknown> | null =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;

/** Returns a query for each claim in the answer. It finds exactly one row as long as the claim is true. */
function proofsOf({ path, body, said, method }: Ack): Sql[] {
  const proofs: Sql[] = [];
  const payment = record(said['payment']);
  if (payment !== null) proofs.push(ofPayment(payment));
  const intent = record(said['purchase_intent']) ?? record(said['fee_intent']);
  if (intent !== null) {
    const id = Buffer.from(String(intent['id']), 'hex');
    proofs.push(sql`select from payment_intents where id = ${id} and challenge = ${intent['challenge']}`);
  }
  const purchase = record(said['purchase']);
  if (purchase !== null) proofs.push(ofPurchase(purchase, said));
  const listing = record(said['listing']);
  if (method === 'PATCH' && listing !== null) proofs.push(ofEdit(listing, body));
  else if (path.endsWith('/withdraw') || method === 'DELETE') {
    proofs.push(sql`select from listings where id = ${listing?.['id']} and state = 'withdrawn'
      and withdrawn_reason is not distinct from ${body['reason'] ?? null}`);
  } else if ('listing_id' in said && listing !== null) proofs.push(ofListing(said, body));
  if (path === '/api/vote') {
    proofs.push(
      sql`select where (select count(*) from votes where listing_id = ${said['listing_id']}) >= ${said['votes']}`,
    );
  }
  if (said['status'] === 'confirmed') {
    proofs.push(sql`select from merchants where id = ${said['merchant_id']} and handle = ${said['handle']}`);
  }
  // A staged change shows a key that belongs to no merchant yet; it promises only that it can be confirmed.
  if (proofs.length === 0 && said['status'] !== 'staged')
    throw new Error(`what does ${path} say? ${JSON.stringify(said)}`);
  return proofs;
}

/**
 * Returns a query for one payment. A payment that was pending may not have ended as unpaid or rejected. A reviewed payment must keep its
 * outcome.
 */
function ofPayment(payment: Record<string, unknown>): Sql {
  const outcome = payment['outcome'] ?? null;
  return payment['payment_status'] === 'payment_pending'
    ? sql`select from payments where id = ${payment['id']} and status not in ('unpaid', 'rejected')`
    : sql`select from payments where id = ${payment['id']} and review_outcome = ${outcome}`;
}

function ofPurchase(purchase: Record<string, unknown>, said: Record<string, unknown>): Sql {
  const hash = Buffer.from(String(purchase['tx_hash']).slice(2), 'hex');
  return sql`select from purchases p join artifacts a using (listing_id) where p.id = ${purchase['id']}
    and p.listing_id = ${said['listing_id']} and p.tx_hash = ${hash} and convert_from(a.content, 'UTF8') = ${said['artifact']}`;
}

function ofEdit(listing: Record<string, unknown>, body: Record<string, unknown>): Sql {
  return sql`select from listings where id = ${listing['id']} and description = ${body['description']}`;
}

function ofListing(said: Record<string, unknown>, body: Record<string, unknown>): Sql {
  const fee = record(said['fee']);
  const txHash = fee?.['tx_hash'];
  const hash = typeof txHash === 'string' ? Buffer.from(txHash.slice(2), 'hex') : null;
  return sql`select from listings l left join fees f on f.id = l.fee_id where l.id = ${said['listing_id']}
    and l.title = ${body['title']} and f.tx_hash is not distinct from ${hash}`;
}

export const SELLER = testAccount('seller under fire');
const WALLETS_AT_ONCE = 40;
const RETRY_MS = 100;
/** Clients must not be rate limited for retrying while processes are killed. */
const LIMITS = {
  registration_per_ip_hour: 100_000,
  registration_per_hour: 100_000,
  confirm_per_ip_hour: 100_000,
  votes_per_merchant_day: 100_000,
  guard_runs_per_merchant_day: 100_000,
  open_fee_attempts_per_merchant: 1_000,
};

type Asked = Answer & { method: string; path: string };

export interface KillGoods {
  id: bigint;
  artifact: string;
  terms: ProofTerms;
}

/** A world whose market is killed, with helpers for clients. */
export interface KillWorld {
  world: ProcessWorld;
  market: LivingMarket;
  acks: AckBook;
  /** All answers, in order. */
  answers: readonly Asked[];
  keeper: Member;
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  member(): Promise<Member>;
  wallet(): Promise<TestAccount>;
  /** Lists goods as the maintainer, who pays no fee. */
  goods(): Promise<KillGoods>;
  /** Sets the point at which the market dies: on a connection, or in its own code. */
  arm(point: Trap | CrashPoint): Promise<void>;
  /** Resolves once all earlier events are numbered. */
  waitForNumbers(): Promise<void>;
  /** Waits until nothing is pending. Returns how the database differs from acknowledgements and chain. */
  finish(): Promise<string[]>;
  /** Describes a stuck test: open requests, last answers, and database sessions. */
  describeState(): Promise<string>;
  stop(): Promise<void>;
}

export async function openKillWorld(
  options: Omit<ProcessWorldOptions, 'serviceUrls' | 'limits'> = {},
): Promise<KillWorld> {
  const trap = createKillSwitch();
  const wires = await openWires(trap);
  const world = await startProcessWorld({ ...options, limits: LIMITS, serviceUrls: wires.lay });
  const keeper = await world.join('the-keeper');
  // This market fills the compile cache; later ones are killed before they could.
  await (await world.startMarket()).stop();
  const market = await startLivingMarket(world.startMarket);
  const acks = createAckBook();
  const answers: Asked[] = [];
  const open = new Set<{ method: string; path: string; at: string }>();
  const ask = async (method: string, path: string, asked: AskOptions = {}): Promise<Answer> => {
    const one = { method, path, at: new Date().toISOString() };
    open.add(one);
    const answer = await market.ask(method, path, asked).finally(() => open.delete(one));
    answers.push({ method, path, ...answer });
    acks.note(method, path, asked.body, answer);
    return answer;
  };
  let made = 0;
  return {
    world,
    market,
    acks,
    answers,
    keeper,
    ask,
    member: () => {
      made += 1;
      return world.join(`person-${made}`);
    },
    wallet: createWalletSupply(world),
    goods: () => listGoods(ask, keeper),
    arm: async (point) => {
      if (typeof point === 'string') return await market.replaceBy(point);
      const { kill } = await market.current();
      trap.arm(point, kill);
    },
    waitForNumbers: () => untilNumbered(world),
    finish: async () => {
      await endAllPayments(world);
      const { faults } = await audit({
        databaseUrl: world.db.url,
        rpcUrl: world.chain.url,
        token: USDC_ADDRESS,
        quiet: true,
      });
      return [...faults, ...(await acks.broken(world.db.database))];
    },
    describeState: async () => {
      const unanswered = [...open].map(({ method, path, at }) => `${at} ${method} ${path}`);
      const last = answers.slice(-ANSWERS_TOLD);
      const answered = last.map(
        ({ method, path, status, body }) => `${method} ${path} ${status} ${body['reason'] ?? ''}`,
      );
      const sessions = await readSessions(world.db.database).catch(String);
      return ['without an answer:', ...unanswered, 'answered last:', ...answered, 'sessions:', sessions].join('\n');
    },
    stop: async () => {
      await market.stop();
      await wires.close();
      await world.stop();
    },
  };
}

const ANSWERS_TOLD = 30;

async function readSessions(database: Database): Promise<string> {
  const sessions = await database.rows<{ session: string }>(sql`
    select concat_ws(' ', pid, backend_type, state, wait_event_type, wait_event, now() - state_change, pg_blocking_pids(pid)::text, left(query, 120)) as session
    from pg_stat_activity where datname = current_database() or state is null`);
  return sessions.map(({ session }) => session).join('\n');
}

async function openWires(trap: KillSwitch) {
  const closing: (() => Promise<void>)[] = [];
  return {
    lay: async (straight: ServiceUrls): Promise<ServiceUrls> => {
      const database = await startKillPostgres(straight.databaseUrl, trap);
      const chain = await startKillHttp(straight.rpcUrl, 'chain', trap);
      const facilitator = await startKillHttp(straight.facilitatorUrl, 'facilitator', trap);
      closing.push(database.close, chain.close, facilitator.close);
      return { databaseUrl: database.url, rpcUrl: chain.url, facilitatorUrl: facilitator.url };
    },
    close: async (): Promise<void> => {
      for (const close of closing) await close();
    },
  };
}

/** Returns a function that hands out a new wallet each time, so that payments can be counted. Wallets are funded in batches. */
function createWalletSupply(world: ProcessWorld): () => Promise<TestAccount> {
  let made = 0;
  let ready: TestAccount[] = [];
  let filling: Promise<void> | null = null;
  const fill = async (): Promise<void> => {
    const fresh = Array.from({ length: WALLETS_AT_ONCE }, (_, n) => testAccount(`wallet ${made + n} under fire`));
    made += WALLETS_AT_ONCE;
    const given = { usdcUnits: 3n * PRICE, wei: GAS_WEI };
    await fund(
      world.chain,
      [...fresh, SELLER].map(({ address }) => ({ address, ...given })),
    );
    ready = [...ready, ...fresh];
    filling = null;
  };
  const take = async (): Promise<TestAccount> => {
    const taken = ready.shift();
    if (taken !== undefined) return taken;
    filling ??= fill();
    await filling;
    return await take();
  };
  return take;
}

async function listGoods(ask: KillWorld['ask'], keeper: Member): Promise<KillGoods> {
  const body = newGoods({ price_usdc: 2.5, seller_wallet: SELLER.address });
  const list = (): Promise<Answer> => ask('POST', '/api/listing', { key: keeper.key, body });
  let answer = await list();
  while (answer.status === 503) {
    await systemClock.sleep(RETRY_MS);
    answer = await list();
  }
  const { status, body: said } = answer;
  if (status !== 201 && status !== 200) throw new Error(`not listed: ${JSON.stringify(said)}`);
  const id = BigInt(said['listing_id'] as number);
  const payTo: Hex = SELLER.address;
  return { id, artifact: body.artifact, terms: { payTo, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` } };
}

/** Finalizes everything and waits until the market's background jobs have ended every payment. */
async function endAllPayments(world: ProcessWorld): Promise<void> {
  await world.finalize();
  const open = sql`select id from payments where status in ('verifying', 'settling')`;
  await expect.poll(() => world.db.database.rows(open), { timeout: 20_000, interval: 50 }).toEqual([]);
  await untilNumbered(world);
}

async function untilNumbered({ db }: ProcessWorld): Promise<void> {
  const waiting = sql`select kind from events where id is null`;
  await expect.poll(() => db.database.rows(waiting), { timeout: 20_000, interval: 20 }).toEqual([]);
}
