import assert from 'node:assert/strict';
import { afterAll, beforeAll } from 'vitest';
import type { ResultOf } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import type { Limits } from '../../src/contract/vocabulary.ts';
import type { MarketCall } from '../../src/market/context.ts';
import { makeCreateListing } from '../../src/market/listings/create-listing.ts';
import { completeFee } from '../../src/market/listings/fees/complete-fee.ts';
import { createPayments } from '../../src/market/payments/payments.ts';
import { completePurchase } from '../../src/market/purchases/complete-purchase.ts';
import { createThingFees } from '../../src/market/world/drafts/list-world.ts';
import { createRpc } from '../../src/platform/chain/rpc.ts';
import type { TestDatabase } from './database.ts';
import { marketContext, type SettableClock, settableClock, type TestMarket } from './market-context.ts';
import { resultIs, startRpcServer } from './rpc-server.ts';
import type { SeededMerchant } from './seed.ts';
import { newGoods } from './trade.ts';

let made = 0;

/** Returns a text of 120 words that no other text contains. */
export function ownText(): string {
  made += 1;
  return Array.from({ length: 120 }, (_, at) => `w${made}x${at}`).join(' ');
}

/** Returns a copy in upper case with another last word and line breaks. Both texts share 115 of their 117 distinct five-word runs. */
export function nearText(text: string): string {
  made += 1;
  return [...text.toUpperCase().split(' ').slice(0, -1), `another${made}`].join('\n');
}

export type Made = Extract<ResultOf<typeof endpoints.createListing>['body'], { listing_id: number }>;

/** Lists goods without a payment: for free, or for a fee paid earlier. */
interface ListingDesk {
  market: TestMarket;
  clock: SettableClock;
  /** Returns the answer, whatever its status. */
  ask(
    caller: SeededMerchant,
    body: Record<string, unknown>,
    dryRun?: 'true',
  ): Promise<ResultOf<typeof endpoints.createListing>>;
  list(caller: SeededMerchant, changes?: Record<string, unknown>): Promise<Made['listing']>;
}

const FALSE = `0x${'0'.repeat(64)}`;

/** Creates one desk for all tests of a file, readable only while tests run. Its chain only answers that no wallet is blocked. */
export function listingDesk(db: TestDatabase, options: { limits?: Partial<Limits>; startMs: number }): ListingDesk {
  let open: { market: TestMarket; stop(): Promise<void> } | null = null;
  const clock = settableClock(options.startMs);
  const market = (): TestMarket => {
    if (open === null) throw new Error('the desk is open only while tests run');
    return open.market;
  };
  beforeAll(async () => {
    const chain = await startRpcServer();
    chain.answer(resultIs(FALSE));
    const changes = { rpc: createRpc({ url: chain.url }) };
    const { limits } = options;
    const made = marketContext({ database: db.database, clock, changes, ...(limits ? { limits } : {}) });
    open = { market: made, stop: chain.close };
  });
  afterAll(() => open?.stop());

  const desk: ListingDesk = {
    get market() {
      return market();
    },
    clock,
    ask: async (caller, body, dryRun) => {
      const on = market();
      const completions = { purchase: completePurchase(on), listing_fee: completeFee(on, createThingFees(on)) };
      const payments = createPayments(on, completions, {
        reconcileEveryMs: 1_000,
        watchEveryMs: 1_000,
        longestPauseMs: 0,
      });
      const { createListing: endpoint } = endpoints;
      const call = {
        query: endpoint.query.parse(dryRun ? { dry_run: dryRun } : {}),
        body: endpoint.body.parse(body),
        rawBody: body,
        payment: { v1: null, v2: null, deliveryToken: null },
        caller: { ...caller, maintainer: caller.id === 1n },
      } as MarketCall<typeof endpoint>;
      const { status, body: answered } = await makeCreateListing(payments)(on, call);
      const parsed: unknown = endpoint.answers[status].parse(answered);
      assert.deepEqual(answered, parsed, 'the answer holds what its schema does not name');
      return { status, body: parsed } as ResultOf<typeof endpoint>;
    },
    list: async (caller, changes = {}) => {
      const { body } = await desk.ask(caller, newGoods(changes));
      if (!('listing' in body)) throw new Error('no listing was made');
      return body.listing;
    },
  };
  return desk;
}
