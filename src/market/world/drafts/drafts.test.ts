import sql from 'sql-template-tag';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { ask, reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { act, holdTransactionOpen, untilWaiting } from '../../../../test/support/listing-life.ts';
import {
  marketContext,
  type SettableClock,
  settableClock,
  type TestMarket,
} from '../../../../test/support/market-context.ts';
import { resultIs, startRpcServer } from '../../../../test/support/rpc-server.ts';
import { sendJson, startScriptedCity } from '../../../../test/support/scripted-city.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { seedWorldListing } from '../../../../test/support/world-listing.ts';
import { endpoints } from '../../../contract/index.ts';
import { createRpc } from '../../../platform/chain/rpc.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';
import { systemRandom } from '../../../platform/random.ts';
import { cancelWorldDraft, draftWorld } from './draft-world.ts';
import { getWorldDraft } from './get-world-draft.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 5, 1);
const NOT_BLOCKED = `0x${'0'.repeat(64)}`;
const BLOCKED = `0x${'1'.padStart(64, '0')}`;

const city = await startScriptedCity();
const chain = await startRpcServer();
afterAll(() => Promise.all([city.close(), chain.close()]));
const db = testDatabase();
let clock: SettableClock;
let market: TestMarket;
let seller: SeededMerchant;
let wallet: Hex;

beforeEach(async () => {
  clock = settableClock(START);
  const plain = marketContext({ database: db.database, clock, changes: { rpc: createRpc({ url: chain.url }) } });
  market = { ...plain, config: { ...plain.config, cityUrl: city.url } };
  chain.answer(resultIs(NOT_BLOCKED));
  city.answerAll(null);
  seller = await seedLinked();
  wallet = toHex(systemRandom.bytes(20));
});

/** Seeds a merchant and a resident who name each other. */
async function seedLinked(): Promise<SeededMerchant> {
  const merchant = await seedMerchant(db.database);
  await db.database.run(sql`update merchants set city_handle = ${`r-${merchant.id}`} where id = ${merchant.id}`);
  city.showResident(`r-${merchant.id}`, merchant.handle);
  return merchant;
}

async function draft(given: { caller?: SeededMerchant; changes?: Record<string, unknown> } = {}) {
  const texts = {
    title: 'A lamp',
    description: 'What it is',
    preview: '',
    tags: ['light'],
    keywords: ['a lamp for desks'],
  };
  const terms = { price_usdc: 4.5, seller_wallet: wallet, thing_id: 7 };
  const body = { ...texts, ...terms, ...given.changes };
  return (await act(market, endpoints.draftWorld, draftWorld, { body, caller: given.caller ?? seller })).draft;
}

const cancel = async (id: number, caller = seller) =>
  (await act(market, endpoints.cancelWorldDraft, cancelWorldDraft, { id: BigInt(id), caller })).draft;

const read = async (id: number) =>
  (await ask(market, endpoints.getWorldDraft, getWorldDraft, { params: { id: id.toString() } })).draft;

const rowOf = (id: number) =>
  db.database.one<{ state: string; ended_at: Date | null }>(
    sql`select state, ended_at from world_drafts where id = ${id}`,
  );

const countOf = async (merchant = seller): Promise<number> =>
  (await db.database.rows(sql`select from world_drafts where merchant_id = ${merchant.id}`)).length;

/** Puts the draft into the state in which a newly opened fee leaves it. */
async function payFor(on: Queryable, id: number): Promise<void> {
  await on.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(wallet)}, 'world')`);
  await on.run(sql`
    with fee as (
      insert into payments (purpose, path, status, merchant_id, body_hash, chain_id, asset, payee, payer, value_units, nonce,
        valid_after, valid_before, opened_block, created_at, updated_at)
      values ('listing_fee', 'x402', 'verifying', ${seller.id}, ${systemRandom.bytes(32)}, 8453, ${systemRandom.bytes(20)},
        ${systemRandom.bytes(20)}, ${systemRandom.bytes(20)}, 1000000, ${systemRandom.bytes(32)}, 0, 2000000000, 1, now(), now())
      returning id)
    update world_drafts set state = 'fee_pending', offer_id = 1, payment_id = (select id from fee), held_wallet = seller_wallet
    where id = ${id}`);
}

describe('a draft', () => {
  it('is public for an hour as it was written, and holds no wallet', async () => {
    const made = await draft();
    expect(made).toMatchObject({
      seller: seller.handle,
      title: 'A lamp',
      price_usdc: 4.5,
      thing_id: 7,
      tags: ['light'],
      keywords: ['a lamp for desks'],
      state: 'pending',
      listing_id: null,
      created_at: '2026-06-01T00:00:00.000Z',
      expires_at: '2026-06-01T01:00:00.000Z',
    });
    expect(made.seller_wallet.toLowerCase()).toBe(wallet);
    expect(await read(made.id)).toEqual(made);
    expect(await db.database.rows(sql`select from wallet_uses where wallet = ${toBytes(wallet)}`)).toEqual([]);
    clock.set(START + HOUR - 1);
    expect((await read(made.id)).state).toBe('pending');
    clock.set(START + HOUR);
    // An expired draft shows no texts, because they sell nothing and nobody could remove them.
    const none = { title: '', description: '', preview: '', tags: [], keywords: [] };
    expect(await read(made.id)).toMatchObject({ state: 'expired', ...none });
  });

  it('is one at a time: the open one is named, and one that is over is written down and makes room', async () => {
    const first = await draft();
    await expect(draft()).rejects.toMatchObject({
      reason: 'draft_pending',
      options: { fields: { draft_id: first.id } },
    });
    clock.set(START + HOUR);
    const second = await draft();
    expect(second.id).toBeGreaterThan(first.id);
    expect(await rowOf(first.id)).toEqual({ state: 'expired', ended_at: new Date(START + HOUR) });
    await cancel(second.id);
    expect((await draft()).state).toBe('pending');
  });

  it('is one for twenty requests that come at once', async () => {
    const reasons = await Promise.all(Array.from({ length: 20 }, () => reasonOf(draft())));
    expect(reasons.sort()).toEqual([...Array(19).fill('draft_pending'), 'none']);
    expect(await countOf()).toBe(1);
  });

  it('gets its number in the order of commits, for every merchant', async () => {
    const sellers = await Promise.all(Array.from({ length: 6 }, seedLinked));
    const before = await draft();
    const made = await Promise.all(sellers.map((caller) => draft({ caller })));
    expect(made.map(({ id }) => id).sort((a, b) => a - b)).toEqual(made.map((_, n) => before.id + n + 1));
  });

  it('whose fee is under way is not over, however late it is', async () => {
    const { id } = await draft();
    await payFor(db.database, id);
    clock.set(START + 5 * HOUR);
    expect((await read(id)).state).toBe('fee_pending');
    await expect(draft()).rejects.toMatchObject({ reason: 'draft_pending', options: { fields: { draft_id: id } } });
    await expect(cancel(id)).rejects.toMatchObject({ reason: 'draft_fee_pending' });
    expect((await rowOf(id)).state).toBe('fee_pending');
  });
});

describe('a draft is canceled', () => {
  it('by its merchant, once, and is told the same again', async () => {
    const { id } = await draft();
    const canceled = await cancel(id);
    expect(canceled).toMatchObject({
      id,
      state: 'canceled',
      title: '',
      description: '',
      preview: '',
      tags: [],
      keywords: [],
    });
    clock.set(START + 2 * HOUR);
    expect(await cancel(id)).toEqual(canceled);
    expect(await rowOf(id)).toEqual({ state: 'canceled', ended_at: new Date(START) });
  });

  it('by no other merchant, who is told the same as of an unknown draft', async () => {
    const { id } = await draft();
    expect(await reasonOf(cancel(id, await seedLinked()))).toBe('not_found');
    expect(await reasonOf(cancel(99_999))).toBe('not_found');
    expect((await read(id)).state).toBe('pending');
  });

  it('no more when it is over, or listed', async () => {
    const { id } = await draft();
    clock.set(START + HOUR);
    expect(await reasonOf(cancel(id))).toBe('draft_closed');
    const listed = await seedWorldListing(db.database, seller.id);
    expect(await reasonOf(cancel(Number(listed.draftId)))).toBe('draft_closed');
  });

  it('unless its fee is opened first: a cancel that comes meanwhile waits, and is refused', async () => {
    const { id } = await draft();
    const fee = await holdTransactionOpen(db.database, (tx) => payFor(tx, id));
    const asked = reasonOf(cancel(id));
    await untilWaiting(db.database);
    await fee.commit();
    expect(await asked).toBe('draft_fee_pending');
  });
});

describe('nothing is drafted', () => {
  test.each<[string, () => Promise<unknown> | unknown, string]>([
    ['without a link', () => city.showResident(`r-${seller.id}`, null), 'link_missing'],
    ['while the city is away', () => city.answerAll((to) => sendJson(to, 500, {})), 'city_unavailable'],
    ['while the chain says nothing', () => chain.answer((to) => to.destroy()), 'payment_check_unavailable'],
    ['for a wallet that USDC blocks', () => chain.answer(resultIs(BLOCKED)), 'seller_wallet_refused'],
    ['for a wallet that sells goods', () => seedListing(db.database, seller.id, { wallet }), 'wallet_in_use'],
  ])('%s', async (_name, bring, reason) => {
    await bring();
    expect(await reasonOf(draft())).toBe(reason);
    expect(await countOf()).toBe(0);
  });

  it('for the zero address, the token or the treasury', async () => {
    const { network, treasury } = market.config;
    for (const refused of [`0x${'0'.repeat(40)}`, network.usdc, treasury]) {
      expect(await reasonOf(draft({ changes: { seller_wallet: refused } }))).toBe('seller_wallet_refused');
    }
    expect(await countOf()).toBe(0);
  });

  it('for a price of nothing, or without a thing', () => {
    const whole = { title: 'A lamp', description: 'x', preview: '', price_usdc: 1, seller_wallet: wallet, thing_id: 7 };
    const judged = (changes: object) => endpoints.draftWorld.body.safeParse({ ...whole, ...changes }).success;
    expect(judged({})).toBe(true);
    const bad = [{ price_usdc: 0 }, { thing_id: 0 }, { thing_id: undefined }, { artifact: 'x' }, { aisle: 'world' }];
    expect(bad.map(judged)).toEqual(bad.map(() => false));
  });
});

it('a wallet that sells things already may sell another', async () => {
  const { wallet: used } = await seedWorldListing(db.database, seller.id);
  expect((await draft({ changes: { seller_wallet: used } })).state).toBe('pending');
});

it('a market without a city says so, and one draft too many is 404', async () => {
  expect(await reasonOf(read(99_999))).toBe('not_found');
  const { id } = await draft();
  market = { ...market, config: { ...market.config, cityUrl: null } };
  const asked = [draft(), read(id), cancel(id)];
  expect(await Promise.all(asked.map(reasonOf))).toEqual(Array(3).fill('world_closed'));
});
