import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { expect } from 'vitest';
import type { BodyGiven, EndpointShape, ResultOf } from '../../src/contract/endpoint.ts';
import type { Aisle, ListingState } from '../../src/contract/vocabulary.ts';
import type { Market, MarketCall, MarketOperation, Merchant } from '../../src/market/context.ts';
import { findListingTerms } from '../../src/market/listings/store.ts';
import { type OpeningContext, openAttempt } from '../../src/market/payments/paths/x402/store.ts';
import type { Payment } from '../../src/market/payments/payment.ts';
import { takeFreeGoods } from '../../src/market/purchases/buy-listing.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import type { Database, Tx } from '../../src/platform/database/database.ts';
import { constraintOf } from '../../src/platform/database/database-error.ts';
import { toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { TestMarket } from './market-context.ts';
import { removeListing, SEED_TIME, type SeededMerchant, withdrawListing } from './seed.ts';
import { endWorldListing } from './world-listing.ts';

interface Acting<E extends EndpointShape> {
  id?: bigint;
  body?: BodyGiven<E>;
  caller: Pick<Merchant, 'id' | 'handle'>;
}

/** Calls a writing operation as the server would: body and answer are checked against its schemas. */
export async function answerTo<E extends EndpointShape>(
  market: Market,
  endpoint: E,
  operation: MarketOperation<E>,
  given: Acting<E>,
): Promise<ResultOf<E>> {
  const call = {
    params: given.id === undefined ? undefined : endpoint.params?.parse({ id: given.id.toString() }),
    body: endpoint.body?.parse(given.body ?? {}),
    rawBody: given.body ?? {},
    caller: { ...given.caller, maintainer: given.caller.id === 1n },
  } as MarketCall<E>;
  const { status, body: answered } = await operation(market, call);
  const body: unknown = endpoint.answers[status]?.parse(answered);
  assert.deepEqual(answered, body, 'the answer holds what its schema does not name');
  return { status, body } as ResultOf<E>;
}

/** Like `answerTo`, but returns only the body. */
export async function act<E extends EndpointShape>(
  market: Market,
  endpoint: E,
  operation: MarketOperation<E>,
  given: Acting<E>,
): Promise<ResultOf<E>['body']> {
  return (await answerTo(market, endpoint, operation, given)).body;
}

/** Returns an opener for a random token, so that its rows differ from all others. */
export function opener(now: number): OpeningContext {
  const network = { chainId: 8453n, usdc: toHex(systemRandom.bytes(20)) };
  return { config: { network, facilitatorUrl: 'http://127.0.0.1:1' }, clock: { now: () => now } };
}

/** Builds an authorization. Addresses and nonce are random if omitted. */
export function authorizationOf(given: Partial<Authorization>): Authorization {
  return {
    from: toHex(systemRandom.bytes(20)),
    to: toHex(systemRandom.bytes(20)),
    value: 1n,
    validAfter: 0n,
    validBefore: 2_000_000_000n,
    nonce: toHex(systemRandom.bytes(32)),
    ...given,
  };
}

/** Inserts the row that an x402 purchase opens before it asks the facilitator. */
export async function openPayment(tx: Tx, listingId: bigint): Promise<Payment> {
  const row = await tx.one<{ price_units: bigint }>(sql`select price_units from listings where id = ${listingId}`);
  const payment = await openAttempt(opener(SEED_TIME.getTime()), tx, {
    ...{ purpose: 'purchase', listingId, merchantId: null, bodyHash: null, valueUnits: row.price_units },
    ...{ payee: toHex(systemRandom.bytes(20)), proof: { authorization: authorizationOf({}) } },
    ...{ openedBlock: 1n, deliveryTokenHash: null },
  });
  if (payment === null) throw new Error('no payment was opened');
  return payment;
}

export interface LoggedEvent {
  kind: string;
  actor: string;
  detail: Record<string, unknown>;
}

/** Returns all events that name this listing, numbered or not, in the order they were queued. */
export async function eventsOf(database: Database, listingId: bigint): Promise<LoggedEvent[]> {
  const rows = await database.rows<{ canonical: Buffer }>(sql`select canonical from events order by queue_id`);
  return rows
    .map(({ canonical }) => JSON.parse(canonical.toString('utf8')) as LoggedEvent & { at: string })
    .filter(({ detail }) => detail['listing_id'] === Number(listingId))
    .map(({ kind, actor, detail }) => ({ kind, actor, detail }));
}

/** Runs `act` in a transaction that stays open, with its locks, until `commit` is called. */
export async function holdTransactionOpen(
  database: Database,
  act: (tx: Tx) => Promise<unknown>,
): Promise<{ commit(): Promise<void> }> {
  const done = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const whole = database.transaction(async (tx) => {
    await act(tx);
    done.resolve();
    await told.promise;
  });
  await Promise.race([done.promise, whole]);
  return {
    commit: async () => {
      told.resolve();
      await whole;
    },
  };
}

/** Resolves once exactly that many sessions of this database wait for a lock. */
export async function untilWaiting(database: Database, sessions = 1): Promise<void> {
  await expect
    .poll(
      () =>
        database.one(sql`
          select count(*) as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`),
      { interval: 5, timeout: 5_000 },
    )
    .toEqual({ waiting: BigInt(sessions) });
}

/** A listing state, and how a live listing gets there. */
export interface ListingSetup {
  name: string;
  state: ListingState;
  isWithdrawn: boolean;
  /** True if only listings of a city's things can have this state. */
  ofThings: boolean;
  bring(database: Database, id: bigint): Promise<void>;
}

const ending = (state: 'sold' | 'canceled' | 'stale'): ListingSetup => ({
  name: state,
  state,
  isWithdrawn: false,
  ofThings: true,
  bring: (database, id) => endWorldListing(database, id, state),
});

export const LISTING_SETUPS: readonly ListingSetup[] = [
  { name: 'live', state: 'live', isWithdrawn: false, ofThings: false, bring: async () => {} },
  { name: 'withdrawn', state: 'withdrawn', isWithdrawn: true, ofThings: false, bring: withdrawListing },
  { name: 'removed', state: 'removed', isWithdrawn: false, ofThings: false, bring: removeListing },
  {
    name: 'withdrawn, then removed',
    state: 'removed',
    isWithdrawn: true,
    ofThings: false,
    bring: async (database, id) => {
      await withdrawListing(database, id);
      await removeListing(database, id);
    },
  },
  ending('sold'),
  ending('canceled'),
  ending('stale'),
];

/** Returns the constraint (or SQLSTATE) that the attempt violates, or `none` if it succeeds. Rethrows other errors. */
export async function ruleAgainst(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    const broken = constraintOf(error);
    if (broken === null) throw error;
    return broken.constraint ?? broken.sqlstate;
  }
  return 'none';
}

/** Keeps sales of this aisle from committing once they have an id, until `commit` is called. */
export function holdSales(database: Database, aisle: Aisle): Promise<{ commit(): Promise<void> }> {
  return holdTransactionOpen(database, async (tx) => {
    await tx.run(
      sql`insert into aisle_counters (aisle, slot) select ${aisle}, generate_series(0, 15) on conflict do nothing`,
    );
    await tx.rows(sql`select from aisle_counters where aisle = ${aisle} for update`);
  });
}

/** Takes a free listing as `POST /api/buy/:id` does. Resolves after the commit. */
export async function takeFree(market: TestMarket, listingId: bigint, buyer: SeededMerchant): Promise<void> {
  const listing = await findListingTerms(market.database, listingId);
  if (listing === null) throw new TypeError('no such listing');
  await takeFreeGoods(market, listing, { ...buyer, maintainer: false, keyId: 0n });
}
