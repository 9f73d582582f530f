import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { makeGetListing } from '../catalog/get-listing.ts';
import { readListingDetail } from '../catalog/present-listing.ts';
import { makeGetStore } from '../merchants/get-store.ts';
import { makeListMerchants } from '../merchants/list-merchants.ts';
import { setStoreLine } from '../merchants/set-store-line.ts';
import { writeStoreLine } from '../merchants/store.ts';
import { appealRemoval, decideAppeal, readRemovalNotices } from './appeals.ts';
import { removeListing } from './remove-listing.ts';
import { removeText } from './remove-text.ts';
import { clearStoreLine } from './store.ts';

const WORDS = 'Words that must not stay';
const db = testDatabase();
let market: TestMarket;
let keeper: SeededMerchant;
let seller: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
});
beforeEach(async () => {
  market = marketContext({ database: db.database });
  seller = await seedMerchant(db.database);
});

type Target = 'store_line' | 'appeal';
const remove = async (target_type: Target, target_id: bigint | number, reason_code: 'spam' | 'policy' = 'spam') =>
  (
    await act(market, endpoints.removeText, removeText, {
      body: { target_type, target_id: Number(target_id), reason_code, reason: 'Why it was\ntaken off' },
      caller: keeper,
    })
  ).removal;
const write = (line: string) => act(market, endpoints.setStoreLine, setStoreLine, { body: { line }, caller: seller });
/** Returns all logged removals of the merchant's texts, in log order. */
const loggedRemovalsOf = async ({ id }: SeededMerchant) => {
  const rows = await db.database.rows<{ canonical: Buffer }>(sql`select canonical from events order by queue_id`);
  return rows
    .map(({ canonical }) => JSON.parse(canonical.toString('utf8')) as { detail: Record<string, unknown>; kind: string })
    .filter(({ kind, detail }) => kind === 'moderation' && detail['merchant_id'] === Number(id))
    .filter(({ detail }) => ['remove_store_line', 'remove_statement'].includes(String(detail['action'])));
};
const createAppealedListing = async () => {
  const { id } = await seedListing(db.database, seller.id);
  const reason = { reason_code: 'fraud', reason: 'x' } as const;
  await act(market, endpoints.removeListing, removeListing, {
    body: { listing_id: Number(id), ...reason },
    caller: keeper,
  });
  const statement = { listing_id: Number(id), statement: WORDS };
  const { appeal } = await act(market, endpoints.appealRemoval, appealRemoval, { body: statement, caller: seller });
  return {
    id,
    appeal,
    again: () => act(market, endpoints.appealRemoval, appealRemoval, { body: statement, caller: seller }),
  };
};

describe('a store line that is emptied', () => {
  it('is shown nowhere any more, and is told of in one event that has none of its words', async () => {
    await write(WORDS);
    const removal = await remove('store_line', seller.id);
    expect(removal).toEqual({
      id: expect.any(Number),
      target_type: 'store_line',
      target_id: Number(seller.id),
      merchant: seller.handle,
      reason_code: 'spam',
      removed_at: expect.stringMatching(/Z$/),
    });
    const store = await ask(market, endpoints.getStore, makeGetStore(market.catalog), {
      params: { handle: seller.handle },
    });
    expect(store.merchant.store_line).toBe('');
    const listed = await ask(market, endpoints.listMerchants, makeListMerchants(market.catalog));
    expect(JSON.stringify(listed)).not.toContain(WORDS);
    const events = await loggedRemovalsOf(seller);
    expect(events).toEqual([
      {
        kind: 'moderation',
        actor: 'the-keeper',
        at: expect.any(String),
        detail: { action: 'remove_store_line', merchant_id: Number(seller.id), reason_code: 'spam' },
      },
    ]);
    expect(JSON.stringify(events)).not.toMatch(/Words|taken off/);
  });

  it('can be written again by its merchant, and emptied again; where it is empty nothing changes', async () => {
    await write(WORDS);
    const first = await remove('store_line', seller.id);
    expect(await remove('store_line', seller.id, 'policy')).toEqual(first);
    expect((await write('A better line')).merchant.store_line).toBe('A better line');
    const second = await remove('store_line', seller.id, 'policy');
    expect([second.id > first.id, second.reason_code]).toEqual([true, 'policy']);
    expect(await loggedRemovalsOf(seller)).toHaveLength(2);
  });

  it('ten times at once is one act and one event', async () => {
    await write(WORDS);
    const removals = await Promise.all(Array.from({ length: 10 }, () => remove('store_line', seller.id)));
    expect(new Set(removals.map(({ id }) => id)).size).toBe(1);
    expect(await loggedRemovalsOf(seller)).toHaveLength(1);
  });

  it('waits for one that is just being written, and empties it; a line written meanwhile waits and stands', async () => {
    await write(WORDS);
    const writing = await holdTransactionOpen(db.database, (tx) => writeStoreLine(tx, seller.id, 'Just written'));
    const removing = remove('store_line', seller.id);
    await untilWaiting(db.database);
    await writing.commit();
    await removing;
    expect(await loggedRemovalsOf(seller)).toHaveLength(1);
    await write(WORDS);
    const emptying = await holdTransactionOpen(db.database, async (tx) => void (await clearStoreLine(tx, seller.id)));
    const late = write('Later');
    await untilWaiting(db.database);
    await emptying.commit();
    expect((await late).merchant.store_line).toBe('Later');
  });

  it('is one of a merchant who has one', async () => {
    for (const id of [seller.id, 999_999]) expect(await reasonOf(remove('store_line', id))).toBe('not_found');
    expect(await loggedRemovalsOf(seller)).toEqual([]);
  });
});

describe('a statement that is emptied', () => {
  it('is shown neither on the listing nor to its merchant, and is told of without a word of it', async () => {
    const { id, appeal } = await createAppealedListing();
    const removal = await remove('appeal', appeal.id);
    expect(removal).toMatchObject({ target_type: 'appeal', target_id: appeal.id, merchant: seller.handle });
    expect(await remove('appeal', appeal.id, 'policy')).toEqual(removal);
    const { listing } = await ask(market, endpoints.getListing, makeGetListing(market.catalog), {
      params: { id: String(id) },
    });
    expect(listing.appeal).toEqual({ ...appeal, statement: '' });
    expect((await readListingDetail(db.database, id))?.appeal).toEqual(listing.appeal);
    expect(await readRemovalNotices(db.database, seller.id)).toMatchObject([{ appeal: { statement: '' } }]);
    expect(await loggedRemovalsOf(seller)).toEqual([
      {
        kind: 'moderation',
        actor: 'the-keeper',
        at: expect.any(String),
        detail: {
          action: 'remove_statement',
          appeal_id: appeal.id,
          listing_id: Number(id),
          merchant_id: Number(seller.id),
          reason_code: 'spam',
        },
      },
    ]);
  });

  it('is of an appeal that goes on: the same words are it, and it is decided', async () => {
    const { appeal, again } = await createAppealedListing();
    await remove('appeal', appeal.id);
    expect((await again()).appeal).toEqual({ ...appeal, statement: '' });
    const { appeal: decided } = await act(market, endpoints.decideAppeal, decideAppeal, {
      body: { appeal_id: appeal.id, outcome: 'removal_upheld', reason: 'It stands' },
      caller: keeper,
    });
    expect(decided).toMatchObject({ statement: '', outcome: 'removal_upheld', outcome_reason: 'It stands' });
  });

  it('is one of an appeal that there is', async () => {
    expect(await reasonOf(remove('appeal', 999_999))).toBe('not_found');
  });
});
