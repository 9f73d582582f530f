import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, eventsOf, holdTransactionOpen, openPayment, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  pinListing as pinInTable,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endWorldListing, seedWorldListing } from '../../../test/support/world-listing.ts';
import { endpoints } from '../../contract/index.ts';
import { REMOVAL_REASON_CODES } from '../../contract/moderation.ts';
import type { Market } from '../context.ts';
import { lockListing, markWithdrawn } from '../listings/changes/store.ts';
import { withdrawListing as withdraw } from '../listings/changes/withdraw-listing.ts';
import { pinListing } from './pin-listing.ts';
import { removeListing } from './remove-listing.ts';
import { markRemoved } from './store.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let seller: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  seller = await seedMerchant(db.database);
});

type Removal = { reason_code: (typeof REMOVAL_REASON_CODES)[number]; reason: string };
const REMOVAL: Removal = { reason_code: 'fraud', reason: 'It holds\nnothing' };
const remove = (id: bigint, removal: Removal = REMOVAL) =>
  act(market, endpoints.removeListing, removeListing, { body: { listing_id: Number(id), ...removal }, caller: keeper });
const pin = (id: bigint, pinned: boolean) =>
  act(market, endpoints.pinListing, pinListing, { body: { listing_id: Number(id), pinned }, caller: keeper });
const createListing = async (): Promise<bigint> =>
  (await seedListing(db.database, seller.id, { title: 'As it was called' })).id;
const createEndedListing = async (state: 'sold' | 'canceled'): Promise<bigint> => {
  const { id } = await seedWorldListing(db.database, seller.id);
  await endWorldListing(db.database, id, state);
  return id;
};
const removalsOf = (id: bigint) =>
  db.database.rows(
    sql`select reason_code, reason, removed_by, removed_at, restored_at from removals where listing_id = ${id}`,
  );
const periodsOf = (id: bigint) =>
  db.database.rows<{ began: bigint; ended: bigint | null }>(
    sql`select began, ended from pin_periods where listing_id = ${id} order by began`,
  );

describe('a removal', () => {
  it('hides title and preview, keeps them in the row, and tells so in one event', async () => {
    const id = await createListing();
    const { listing } = await remove(id);
    expect(listing).toMatchObject({
      id: Number(id),
      state: 'removed',
      removed: true,
      removed_at: expect.stringMatching(/Z$/),
      removed_reason: REMOVAL.reason,
      removed_reason_code: 'fraud',
      preview: '',
      withdrawn: false,
    });
    expect(listing.title).not.toContain('As it was');
    const removal = { removed_by: keeper.id, removed_at: new Date(listing.removed_at ?? ''), restored_at: null };
    expect(await removalsOf(id)).toEqual([{ ...REMOVAL, ...removal }]);
    expect(await db.database.one(sql`select title, preview from listings where id = ${id}`)).toEqual({
      title: 'As it was called',
      preview: 'A look at it',
    });
    expect(await eventsOf(db.database, id)).toEqual([
      {
        kind: 'moderation',
        actor: 'the-keeper',
        detail: {
          action: 'remove',
          listing_id: Number(id),
          merchant_id: Number(seller.id),
          reason_code: 'fraud',
        },
      },
    ]);
  });

  it('takes every code that the market knows, and needs a reason', async () => {
    for (const reason_code of REMOVAL_REASON_CODES) {
      expect((await remove(await createListing(), { reason_code, reason: 'x' })).listing.removed_reason_code).toBe(
        reason_code,
      );
    }
    const { body } = endpoints.removeListing;
    expect(body.safeParse({ listing_id: 1, ...REMOVAL, reason_code: 'mood' }).success).toBe(false);
    expect(body.safeParse({ listing_id: 1, ...REMOVAL, reason: '' }).success).toBe(false);
    expect(body.safeParse({ listing_id: 1, reason_code: 'spam' }).success).toBe(false);
  });

  it('again, or ten times at once, is answered with the first: one time, one reason, one event', async () => {
    const id = await createListing();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => remove(id, { reason_code: 'spam', reason: `reason ${n}` })),
    );
    answers.push(await remove(id));
    expect(new Set(answers.map(({ listing }) => JSON.stringify(listing))).size).toBe(1);
    expect(await eventsOf(db.database, id)).toHaveLength(1);
    expect(await removalsOf(id)).toHaveLength(1);
  });

  it('waits for a withdrawal that is just being made, and keeps it', async () => {
    const id = await createListing();
    const withdrawing = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      markWithdrawn(tx, id, 'enough', new Date());
      await tx.rows(sql`select 1`);
    });
    const removing = remove(id);
    await untilWaiting(db.database);
    await withdrawing.commit();
    expect((await removing).listing).toMatchObject({ state: 'removed', withdrawn: true, withdrawn_reason: null });
  });

  it('that is just being made is waited for by a withdrawal, which is refused then', async () => {
    const id = await createListing();
    const removing = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      markRemoved(tx, id, { reasonCode: 'spam', reason: 'x', removedBy: keeper.id, now: new Date() });
      await tx.rows(sql`select 1`);
    });
    const withdrawing = reasonOf(act(market, endpoints.withdrawListing, withdraw, { id, caller: seller }));
    await untilWaiting(db.database);
    await removing.commit();
    expect(await withdrawing).toBe('listing_closed');
    expect(await db.database.one(sql`select state, withdrawn_at from listings where id = ${id}`)).toEqual({
      state: 'removed',
      withdrawn_at: null,
    });
  });

  it('and a withdrawal at once leave one of each at most, and as many events as acts', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await createListing();
      const [, refused] = await Promise.all([
        remove(id),
        reasonOf(act(market, endpoints.withdrawListing, withdraw, { id, caller: seller })),
      ]);
      const { withdrawn_at: withdrawnAt, state } = await db.database.one<{ withdrawn_at: Date | null; state: string }>(
        sql`select withdrawn_at, state from listings where id = ${id}`,
      );
      expect([state, refused]).toEqual(['removed', withdrawnAt === null ? 'listing_closed' : 'none']);
      const kinds = (await eventsOf(db.database, id)).map(({ kind }) => kind);
      expect(kinds).toEqual(withdrawnAt === null ? ['moderation'] : ['withdrawal', 'moderation']);
    }
  });

  it('reaches a withdrawn listing, which stays withdrawn and shows no reason of its merchant', async () => {
    const id = await createListing();
    await withdrawListing(db.database, id);
    expect((await remove(id)).listing).toMatchObject({
      state: 'removed',
      removed: true,
      withdrawn: true,
      withdrawn_reason: null,
    });
  });

  it('leaves purchases alone', async () => {
    const id = await createListing();
    await seedPaidPurchase(db.database, id);
    expect((await remove(id)).listing.sales).toBe(1);
  });

  it('waits for a payment that is just being submitted, and comes after it', async () => {
    const id = await createListing();
    const submitting = await holdTransactionOpen(db.database, async (tx) => {
      await tx.one(sql`select id from listings where id = ${id} for share`);
      await openPayment(tx, id);
    });
    const removing = remove(id);
    await untilWaiting(db.database);
    const before = market.clock.now();
    await submitting.commit();
    const { listing } = await removing;
    expect(Date.parse(listing.removed_at ?? '')).toBeGreaterThanOrEqual(before);
  });

  it('is for what was on a shelf: not for what ended, nor for what is none', async () => {
    const id = await createEndedListing('canceled');
    expect(await reasonOf(remove(id))).toBe('listing_closed');
    expect(await reasonOf(remove(999_999n))).toBe('not_found');
    expect(await eventsOf(db.database, id)).toEqual([]);
  });
});

describe('a pin', () => {
  const actionsOf = async (id: bigint) => (await eventsOf(db.database, id)).map(({ detail }) => detail['action']);

  it('is put on and taken off, each with one event and one act', async () => {
    const id = await createListing();
    expect((await pin(id, true)).listing.pinned).toBe(true);
    expect((await pin(id, true)).listing.pinned).toBe(true);
    expect(await periodsOf(id)).toEqual([{ began: expect.any(BigInt), ended: null }]);
    expect((await pin(id, false)).listing.pinned).toBe(false);
    expect((await pin(id, false)).listing.pinned).toBe(false);
    expect(await periodsOf(id)).toEqual([{ began: expect.any(BigInt), ended: expect.any(BigInt) }]);
    expect(await actionsOf(id)).toEqual(['pin', 'unpin']);
    expect((await eventsOf(db.database, id))[0]).toEqual({
      kind: 'moderation',
      actor: 'the-keeper',
      detail: { action: 'pin', listing_id: Number(id), merchant_id: Number(seller.id) },
    });
  });

  it('put on ten times at once is one pin', async () => {
    const id = await createListing();
    await Promise.all(Array.from({ length: 10 }, () => pin(id, true)));
    expect(await actionsOf(id)).toEqual(['pin']);
    expect(await periodsOf(id)).toHaveLength(1);
  });

  it('put on and off at once leaves as many events as acts, and the last of them holds', async () => {
    const id = await createListing();
    await Promise.all(Array.from({ length: 20 }, (_, n) => pin(id, n % 2 === 0)));
    const actions = await actionsOf(id);
    const { pinned } = await db.database.one<{ pinned: boolean }>(sql`select pinned from listings where id = ${id}`);
    expect(actions.at(-1)).toBe(pinned ? 'pin' : 'unpin');
    expect(actions).toEqual(actions.map((_, n) => (n % 2 === 0 ? 'pin' : 'unpin')));
    const acts = (await periodsOf(id)).flatMap(({ began, ended }) => (ended === null ? [began] : [began, ended]));
    expect(acts).toHaveLength(actions.length);
  });

  it.each(['withdrawn', 'sold'] as const)('cannot be put on a %s listing, and can be taken off', async (state) => {
    const id = state === 'withdrawn' ? await createListing() : await createEndedListing(state);
    if (state === 'withdrawn') await withdrawListing(db.database, id);
    expect(await reasonOf(pin(id, true))).toBe('listing_closed');
    await pinInTable(db.database, id, true);
    expect((await pin(id, false)).listing.pinned).toBe(false);
    expect(await actionsOf(id)).toEqual(['unpin']);
  });

  it('is on a listing', async () => {
    expect(await reasonOf(pin(999_999n, true))).toBe('not_found');
  });
});
