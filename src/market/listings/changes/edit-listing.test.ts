import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import {
  act,
  eventsOf,
  holdTransactionOpen,
  openPayment,
  untilWaiting,
} from '../../../../test/support/listing-life.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededMerchant,
  type SeedListing,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../../test/support/seed.ts';
import { endpoints } from '../../../contract/index.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { toHex } from '../../../platform/hex.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { editListing } from './edit-listing.ts';
import { lockListing, updateTexts } from './store.ts';

const db = testDatabase();
let market: Market;
let seller: SeededMerchant;
let other: SeededMerchant;

type Body = Record<string, unknown>;
const LONG = 'goods of two hundred characters or more '.repeat(6);

beforeAll(async () => {
  market = marketContext({ database: db.database });
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
  other = await seedMerchant(db.database);
});

const edit = (id: bigint, body: Body, caller: SeededMerchant = seller, of: Market = market) =>
  act(of, endpoints.editListing, editListing, { id, body, caller });

const made = async (given: SeedListing = {}): Promise<bigint> => (await seedListing(db.database, seller.id, given)).id;
const free = (given: SeedListing = {}): Promise<bigint> => made({ priceUnits: 0n, ...given });

const rowOf = (id: bigint) =>
  db.database.one<Record<string, unknown> & { artifact_commitment: Buffer; salt: Buffer; content: Buffer }>(
    sql`select l.*, a.salt, a.content from listings l join artifacts a on a.listing_id = l.id where l.id = ${id}`,
  );

async function refusalOf(attempt: Promise<unknown>): Promise<{ reason: string; paths: string[] }> {
  try {
    await attempt;
  } catch (error) {
    const { reason, options } = error as Refusal;
    return { reason, paths: (options.errors ?? []).map(({ path }) => path) };
  }
  return { reason: 'none', paths: [] };
}

/** Expects the refusal, and expects listing, goods and log to be unchanged. */
async function expectUntouched(id: bigint, attempt: () => Promise<unknown>, reason: string, paths: string[] = []) {
  const before = [await rowOf(id), await eventsOf(db.database, id)];
  expect(await refusalOf(attempt())).toEqual({ reason, paths });
  expect([await rowOf(id), await eventsOf(db.database, id)]).toEqual(before);
}

const PRICED_EDIT = {
  description: 'New words\nabout it',
  preview: '',
  tags: ['one', 'two'],
  keywords: ['three', 'a need'],
  aisle: 'tools',
};

describe('a priced listing without a buyer', () => {
  it('takes a new description, preview, tags, keywords and aisle, and keeps what is not named', async () => {
    const id = await made({ title: 'As it was' });
    const before = await rowOf(id);
    const { listing } = await edit(id, PRICED_EDIT);
    expect(listing).toMatchObject({ ...PRICED_EDIT, id: Number(id), title: 'As it was', price_usdc: 2.5 });
    const after = await rowOf(id);
    expect(after).toEqual({ ...before, ...PRICED_EDIT, edited_act: expect.any(BigInt) });
    expect(after['edited_act']).not.toEqual(before['edited_act']);
    expect(await eventsOf(db.database, id)).toEqual([
      {
        kind: 'listing_edit',
        actor: 'the-seller',
        detail: {
          listing_id: Number(id),
          merchant_id: Number(seller.id),
          fields: ['description', 'preview', 'tags', 'keywords', 'aisle'],
        },
      },
    ]);
  });

  it('keeps title and goods, and says so of each field; nothing of a mixed edit is applied', async () => {
    const goods = {
      title: 'Another title',
      artifact: 'other goods',
      artifact_encoding: 'utf-8',
      artifact_media_type: 'text/html',
      artifact_filename: 'goods.html',
    };
    const id = await made();
    await expectUntouched(id, () => edit(id, { ...PRICED_EDIT, ...goods }), 'field_fixed', Object.keys(goods));
  });
});

it.each([2_500_000n, 0n])(
  'price and wallet of a listing for %s units never change, not even to what they are',
  async (priceUnits) => {
    const { id, wallet } = await seedListing(db.database, seller.id, { priceUnits });
    await expectUntouched(id, () => edit(id, { price_usdc: Number(priceUnits) / 1e6 }), 'field_fixed', ['price_usdc']);
    await expectUntouched(id, () => edit(id, { ...PRICED_EDIT, seller_wallet: wallet }), 'field_fixed', [
      'seller_wallet',
    ]);
  },
);

describe('a free listing without takers', () => {
  it('takes a new title and new goods, under a new salt and commitment', async () => {
    const id = await free({ artifact: 'old goods' });
    const before = await rowOf(id);
    const { listing } = await edit(id, { title: 'A new title', artifact: 'new goods', artifact_filename: 'new.txt' });
    const after = await rowOf(id);
    expect(after.content.toString()).toBe('new goods');
    expect(after.salt).toHaveLength(32);
    expect(after.salt.equals(before.salt)).toBe(false);
    const commitment = toHex(sha256(after.salt, after.content));
    expect(listing).toMatchObject({ title: 'A new title', artifact_commitment: commitment, artifact_bytes: 9 });
    expect(after['artifact_filename']).toBe('new.txt');
    expect(await eventsOf(db.database, id)).toEqual([
      {
        kind: 'listing_edit',
        actor: 'the-seller',
        detail: {
          listing_id: Number(id),
          merchant_id: Number(seller.id),
          artifact_commitment: commitment,
          fields: ['title', 'artifact', 'artifact_filename'],
        },
      },
    ]);
  });

  it('keeps its commitment when only texts change, and when the same goods are sent again', async () => {
    const id = await free({ artifact: 'the same goods' });
    const { artifact_commitment: commitment, salt } = await rowOf(id);
    await edit(id, { title: 'Only a new title', artifact: 'the same goods' });
    expect(await rowOf(id)).toMatchObject({ artifact_commitment: commitment, salt, title: 'Only a new title' });
    expect((await eventsOf(db.database, id)).map(({ detail }) => detail['fields'])).toEqual([['title']]);
  });

  it('keeps media type and name of new goods of the same encoding, and forgets the type with another encoding', async () => {
    const id = await free();
    await edit(id, { artifact_media_type: 'text/markdown', artifact_filename: 'a.md' });
    await edit(id, { artifact: 'other words' });
    expect(await rowOf(id)).toMatchObject({ artifact_media_type: 'text/markdown', artifact_filename: 'a.md' });
    await edit(id, { artifact: 'AAEC', artifact_encoding: 'base64' });
    const row = await rowOf(id);
    expect(row).toMatchObject({
      artifact_encoding: 'base64',
      artifact_media_type: 'application/octet-stream',
      artifact_bytes: 3,
    });
    expect([...row.content]).toEqual([0, 1, 2]);
    await edit(id, { artifact: 'words again' });
    expect(await rowOf(id)).toMatchObject({
      artifact_encoding: 'utf-8',
      artifact_media_type: 'text/plain; charset=utf-8',
    });
  });

  it.each<[string, Body, string]>([
    ['goods above the ceiling', { artifact: 'x'.repeat(2_000) }, 'artifact'],
    ['base64 that is spelled wrongly', { artifact: 'YR==', artifact_encoding: 'base64' }, 'artifact'],
    ['half a character', { artifact: 'a\ud800b' }, 'artifact'],
    ['an encoding without goods', { artifact_encoding: 'base64' }, 'artifact_encoding'],
  ])('refuses %s', async (_, body, path) => {
    const id = await free();
    const small = marketContext({ database: db.database, limits: { artifact_bytes: 1_000 } });
    await expectUntouched(id, () => edit(id, body, seller, small), 'invalid_fields', [path]);
  });
});

it('an edit that changes nothing leaves no event, and the same edit twice leaves one', async () => {
  const id = await free({ tags: ['a', 'b'], artifact: 'what it holds' });
  const same = { description: 'What it is', tags: ['a', 'b'], aisle: 'other', artifact: 'what it holds' };
  const before = await rowOf(id);
  await edit(id, same);
  expect([await rowOf(id), await eventsOf(db.database, id)]).toEqual([before, []]);
  for (const _ of [1, 2]) await edit(id, { tags: ['b', 'a'], artifact: 'new' });
  expect(await eventsOf(db.database, id)).toHaveLength(1);
});

it('an empty edit, and one of unknown fields, is refused by the schema', () => {
  const { body } = endpoints.editListing;
  expect(body.safeParse({}).success).toBe(false);
  for (const field of ['id', 'votes', 'state', 'pinned', 'merchant', 'created_at', 'artifact_commitment', 'sales']) {
    expect(body.safeParse({ description: 'x', [field]: 1 }).success, field).toBe(false);
  }
});

it('goes to the world aisle as little as a new listing does', async () => {
  const id = await made();
  await expectUntouched(id, () => edit(id, { aisle: 'world' }), 'world_needs_draft');
});

it('only its merchant edits a listing, and not the maintainer; of no listing there is nothing to edit', async () => {
  const id = await free();
  const maintainer = { id: 1n, handle: 'the-keeper' };
  for (const caller of [other, maintainer]) {
    for (const body of [{ preview: 'mine' }, { artifact: 'mine' }, { price_usdc: 1 }]) {
      await expectUntouched(id, () => edit(id, body, caller), 'not_owner');
    }
  }
  expect(await reasonOf(edit(999_999n, { preview: 'x' }))).toBe('not_found');
});

describe('a closed listing', () => {
  const closings: [string, bigint, (id: bigint) => Promise<unknown>][] = [
    ['sold once', 2_500_000n, (id) => seedPaidPurchase(db.database, id)],
    ['taken once for nothing', 0n, (id) => seedFreePurchase(db.database, id, other.id)],
    ['withdrawn', 0n, (id) => withdrawListing(db.database, id)],
    ['removed', 0n, (id) => removeListing(db.database, id)],
  ];
  it.each(closings)('that was %s takes no edit of any field', async (_, priceUnits, close) => {
    const id = await made({ priceUnits });
    await close(id);
    for (const body of [{ preview: 'x' }, { tags: [] }, { title: 'A new title', artifact: 'new' }, { price_usdc: 1 }]) {
      await expectUntouched(id, () => edit(id, body), 'listing_closed', Object.keys(body));
    }
  });
});

describe('while a payment of it is under way', () => {
  const setStatus = (payment: bigint, status: string) =>
    db.database.run(sql`
      update payments set status = ${status}::text, updated_at = now(),
        settling_at = case when ${status}::text = 'settling' then now() end,
        ended_at = case when ${status}::text = 'settling' then null else now() end,
        end_reason = case when ${status}::text = 'settling' then null else 'a reason' end
      where id = ${payment}`);

  it('a listing takes no edit once money may move, and takes it again once that ended unpaid', async () => {
    const id = await made();
    const payment = await db.database.transaction((tx) => openPayment(tx, id));
    await setStatus(payment.id, 'settling');
    await expectUntouched(id, () => edit(id, PRICED_EDIT), 'purchase_pending');
    await expectUntouched(id, () => edit(id, { title: 'Fixed all the same' }), 'field_fixed', ['title']);
    await setStatus(payment.id, 'unpaid');
    expect((await edit(id, PRICED_EDIT)).listing).toMatchObject(PRICED_EDIT);
  });

  it('one that waits for a decision of the seller holds nothing up', async () => {
    const id = await made();
    const payment = await db.database.transaction((tx) => openPayment(tx, id));
    await db.database.run(sql`
      insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units,
        written_at)
      values (${Buffer.alloc(32, 1)}, 'purchase', ${payment.id}, 2, ${Buffer.alloc(32, 2)}, now(), 0, 1, now())`);
    await setStatus(payment.id, 'needs_review');
    expect((await edit(id, { preview: 'new' })).listing.preview).toBe('new');
  });

  it('an edit waits for free goods that are just being taken, and is refused', async () => {
    const id = await free();
    const taking = await holdTransactionOpen(db.database, async (tx) => {
      await tx.one(sql`select id from listings where id = ${id} for share`);
      await tx.run(sql`
        insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
        values (${id}, ${other.id}, 0, 0, 'free', now())`);
    });
    const edited = refusalOf(edit(id, { artifact: 'other goods' }));
    await untilWaiting(db.database);
    await taking.commit();
    expect(await edited).toEqual({ reason: 'listing_closed', paths: ['artifact'] });
  });

  it('a payment waits for an edit that is just being made, and opens on what it made', async () => {
    const id = await made();
    const editing = await holdTransactionOpen(db.database, async (tx) => {
      const listing = await lockListing(tx, id);
      if (listing?.goods) await updateTexts(tx, id, { ...listing.goods, description: 'Edited first' });
    });
    const opening = db.database.transaction(async (tx) => {
      const seen = await tx.one(sql`select description from listings where id = ${id} for share`);
      await openPayment(tx, id);
      return seen;
    });
    await untilWaiting(db.database);
    await editing.commit();
    expect(await opening).toEqual({ description: 'Edited first' });
  });
});

describe('the duplicate guard', () => {
  it('refuses goods that the merchant lists already, and names the other listing', async () => {
    const first = await free();
    await edit(first, { title: 'The one title', artifact: 'the one artifact' });
    const second = await free({ artifact: 'the one artifact' });
    const copy = () => edit(second, { title: 'The  ONE title' });
    await expectUntouched(second, copy, 'duplicate_listing');
    await expect(copy()).rejects.toMatchObject({ options: { fields: { listing_id: Number(first) } } });
    await edit(second, { title: 'The one title indeed' });
  });

  it('refuses long goods of another merchant, and short ones only of the same merchant', async () => {
    const mine = await free();
    await edit(mine, { title: 'Shared title', artifact: LONG });
    const { id: theirs } = await seedListing(db.database, other.id, { priceUnits: 0n });
    expect(await reasonOf(edit(theirs, { title: 'Shared title', artifact: LONG }, other))).toBe('duplicate_listing');
    await edit(mine, { title: 'Shared title', artifact: 'short' });
    await edit(theirs, { title: 'Shared title', artifact: 'short' }, other);
  });

  it('keeps the place of the old goods for seven days, and lets the listing go back to them', async () => {
    const mine = await free();
    await edit(mine, { title: 'There and back', artifact: `${LONG} first` });
    await edit(mine, { artifact: 'short goods' });
    const { id: theirs } = await seedListing(db.database, other.id, { priceUnits: 0n });
    const copy = { title: 'There and back', artifact: `${LONG} first` };
    expect(await reasonOf(edit(theirs, copy, other))).toBe('duplicate_listing');
    expect((await edit(mine, { artifact: `${LONG} first` })).listing.title).toBe('There and back');
    await edit(mine, { artifact: 'short goods' });
    await db.database.run(sql`update artifact_guards set expires_at = now() - interval '1 second'`);
    expect((await edit(theirs, copy, other)).listing.title).toBe('There and back');
  });

  it('lets one of two listings have the goods that both are edited to at once', async () => {
    const ids = [await free(), await free()];
    const outcomes = await Promise.all(
      ids.map((id) => reasonOf(edit(id, { title: 'Wanted by two', artifact: 'one' }))),
    );
    expect(outcomes.sort()).toEqual(['duplicate_listing', 'none']);
    const rows = await db.database.rows(sql`select id from listings where title = 'Wanted by two'`);
    expect(rows).toHaveLength(1);
  });

  it('runs as often a day as for new listings; the same edit again, other fields and hopeless edits count for nothing', async () => {
    const asker = await seedMerchant(db.database);
    const few = marketContext({ database: db.database, limits: { guard_runs_per_merchant_day: 2 } });
    const { id } = await seedListing(db.database, asker.id, { priceUnits: 0n });
    const foreign = await free();
    const priced = (await seedListing(db.database, asker.id)).id;
    for (const _ of [1, 2, 3]) {
      expect(await reasonOf(edit(foreign, { artifact: 'x' }, asker, few))).toBe('not_owner');
      expect(await reasonOf(edit(priced, { title: 'Another title' }, asker, few))).toBe('field_fixed');
      await edit(id, { preview: 'without the guard' }, asker, few);
      await edit(id, { artifact: 'the first run' }, asker, few);
    }
    await edit(id, { title: 'The second run' }, asker, few);
    expect(await reasonOf(edit(id, { title: 'The third run' }, asker, few))).toBe('rate_limited');
    await edit(id, { title: 'The second run', artifact: 'the first run' }, asker, few).catch(() => {});
    expect((await rowOf(id))['title']).toBe('The second run');
  });
});

it('two edits at once are one after the other: both events, one of the two texts', async () => {
  const id = await made();
  const texts = Array.from({ length: 8 }, (_, n) => `Words ${n}`);
  await Promise.all(texts.map((description) => edit(id, { description, preview: description })));
  const row = await rowOf(id);
  expect(texts).toContain(row['description']);
  expect(row['preview']).toBe(row['description']);
  expect(await eventsOf(db.database, id)).toHaveLength(8);
});

it('the database itself exchanges no goods that cost something or that a buyer has', async () => {
  const seller = await seedMerchant(db.database);
  const buyer = await seedMerchant(db.database);
  const priced = (await seedListing(db.database, seller.id)).id;
  const taken = (await seedListing(db.database, seller.id, { priceUnits: 0n })).id;
  const free = (await seedListing(db.database, seller.id, { priceUnits: 0n })).id;
  await seedFreePurchase(db.database, taken, buyer.id);
  const exchange = (id: bigint) =>
    db.database.run(sql`update artifacts set content = ${Buffer.from('others')} where listing_id = ${id}`);
  await expect(exchange(priced)).rejects.toMatchObject({ constraint: 'artifact_is_fixed' });
  await expect(exchange(taken)).rejects.toMatchObject({ constraint: 'artifact_is_fixed' });
  await expect(
    db.database.run(sql`update listings set artifact_commitment = ${Buffer.alloc(32, 1)} where id = ${priced}`),
  ).rejects.toMatchObject({ constraint: 'commitment_is_fixed' });
  expect(await exchange(free)).toBe(1);
});
