import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { listingDesk, nearText, ownText } from '../../../../test/support/listing-desk.ts';
import { act, holdTransactionOpen, untilWaiting } from '../../../../test/support/listing-life.ts';
import { removeListing, type SeededMerchant, seedFee, seedMerchant } from '../../../../test/support/seed.ts';
import { newGoods } from '../../../../test/support/trade.ts';
import { endpoints } from '../../../contract/index.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import { LISTINGS_LOCK } from '../add-listing.ts';
import { editListing } from '../changes/edit-listing.ts';
import { withdrawListing } from '../changes/withdraw-listing.ts';
import { countCredits } from '../fees/store.ts';

const NOW = Date.UTC(2026, 0, 20, 12);
const DAY_MS = 86_400_000;

const db = testDatabase();
const desk = listingDesk(db, { startMs: NOW });
let keeper: SeededMerchant;
let seller: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
});

/** Seeds a merchant with a paid, unspent fee. */
async function seedWithCredit(): Promise<SeededMerchant> {
  const merchant = await seedMerchant(db.database);
  await seedFee(db.database, merchant.id);
  return merchant;
}

async function refusalOf(attempt: Promise<unknown>): Promise<Pick<Refusal, 'reason' | 'options'> | null> {
  try {
    await attempt;
    return null;
  } catch (error) {
    const { reason, options } = error as Refusal;
    return { reason, options };
  }
}

const duplicateOf = (id: number) => ({
  reason: 'duplicate_listing',
  options: { detail: `Listing ${id} has the same goods, or nearly the same.`, fields: { listing_id: id } },
});

const edit = (caller: SeededMerchant, id: number, body: Record<string, unknown>) =>
  act(desk.market, endpoints.editListing, editListing, { id: BigInt(id), body, caller });
const free = (caller: SeededMerchant, artifact: string) => desk.list(caller, { price_usdc: 0, artifact });
const bandsOf = async (id: number) =>
  (await db.database.rows<{ bands: number[] }>(sql`select bands from artifact_shapes where listing_id = ${id}`))[0]
    ?.bands;

describe('goods that are nearly those of a listing', () => {
  it('are refused in a dry run, before a fee is asked, for a credit and for the maintainer, in the words for the same goods', async () => {
    const artifact = ownText();
    const { id } = await desk.list(keeper, { title: 'First of its kind', artifact });
    const creditor = await seedWithCredit();
    const near = newGoods({ artifact: nearText(artifact) });
    const same = newGoods({ title: ' first  OF its kind', artifact });
    for (const body of [near, same]) {
      expect(await refusalOf(desk.ask(seller, body, 'true'))).toEqual(duplicateOf(id));
      expect(await refusalOf(desk.ask(seller, body))).toEqual(duplicateOf(id));
      expect(await refusalOf(desk.ask(keeper, body))).toEqual(duplicateOf(id));
      expect(await refusalOf(desk.ask(creditor, body))).toMatchObject({
        ...duplicateOf(id),
        options: { ...duplicateOf(id).options, doNotPayAgain: true },
      });
    }
    expect(await countCredits(db.database, creditor.id)).toBe(1n);
    expect(await reasonOf(desk.ask(seller, newGoods({ artifact: ownText() })))).toBe('payment_required');
  });

  it('are found under base64 too, and are other goods where fewer words are the same', async () => {
    const artifact = ownText();
    const { id } = await desk.list(keeper, { artifact });
    const coded = Buffer.from(nearText(artifact)).toString('base64');
    const body = newGoods({ artifact: coded, artifact_encoding: 'base64' });
    expect(await refusalOf(desk.ask(seller, body, 'true'))).toEqual(duplicateOf(id));
    const third = artifact
      .split(' ')
      .map((word, at) => (at % 3 === 0 ? `other${word}` : word))
      .join(' ');
    expect((await desk.ask(seller, newGoods({ artifact: third }), 'true')).status).toBe(200);
  });

  it('may be listed where both are shorter than 200 characters', async () => {
    const artifact = 'goods of less than two hundred characters are alike by chance';
    await desk.list(keeper, { artifact });
    await desk.list(keeper, { artifact });
    expect((await desk.ask(seller, newGoods({ artifact }), 'true')).status).toBe(200);
  });

  it('may be listed once that one was removed, or was withdrawn seven days ago', async () => {
    const [removed, withdrawn] = [ownText(), ownText()];
    const first = await desk.list(keeper, { artifact: removed });
    const second = await desk.list(keeper, { artifact: withdrawn });
    const tryIt = (artifact: string) => refusalOf(desk.ask(seller, newGoods({ artifact: nearText(artifact) }), 'true'));
    expect(await tryIt(removed)).toEqual(duplicateOf(first.id));
    await removeListing(db.database, BigInt(first.id));
    expect(await tryIt(removed)).toBeNull();
    await act(desk.market, endpoints.withdrawListing, withdrawListing, { id: BigInt(second.id), caller: keeper });
    desk.clock.set(NOW + 6 * DAY_MS);
    expect(await tryIt(withdrawn)).toEqual(duplicateOf(second.id));
    desk.clock.set(NOW + 8 * DAY_MS);
    expect(await tryIt(withdrawn)).toBeNull();
    desk.clock.set(NOW);
  });

  it('are named by the oldest listing that has them', async () => {
    const artifact = ownText();
    const first = await desk.list(keeper, { artifact });
    await desk.list(keeper, { artifact: nearText(artifact), supersedes: first.id });
    expect(await refusalOf(desk.ask(seller, newGoods({ artifact }), 'true'))).toEqual(duplicateOf(first.id));
  });

  it('of two who list them at once one comes through, and the other keeps its fee', async () => {
    const artifact = ownText();
    const rivals = [await seedWithCredit(), await seedWithCredit()];
    const before = await holdTransactionOpen(db.database, (tx) => tx.lock(LISTINGS_LOCK));
    const asked = rivals.map((rival, at) =>
      reasonOf(desk.ask(rival, newGoods({ artifact: at === 0 ? artifact : nearText(artifact) }))),
    );
    // Both transactions have checked and found nothing.
    await untilWaiting(db.database, 2);
    await before.commit();
    expect((await Promise.all(asked)).sort()).toEqual(['duplicate_listing', 'none']);
    const credits = await Promise.all(rivals.map(({ id }) => countCredits(db.database, id)));
    expect(credits.sort()).toEqual([0n, 1n]);
  });
});

describe('an edit', () => {
  it('to goods that are nearly those of another listing is refused, and changes nothing', async () => {
    const [artifact, own] = [ownText(), ownText()];
    const other = await desk.list(keeper, { artifact });
    const { id } = await free(keeper, own);
    const bands = await bandsOf(id);
    const near = nearText(artifact);
    expect(await refusalOf(edit(keeper, id, { artifact: near, preview: 'new' }))).toEqual(duplicateOf(other.id));
    const row = await db.database.one(
      sql`select l.preview, convert_from(a.content, 'UTF8') as content from listings l join artifacts a on a.listing_id = l.id
        where l.id = ${id}`,
    );
    expect(row).toEqual({ preview: 'A look at it', content: own });
    expect(await bandsOf(id)).toEqual(bands);
  });

  it('takes the guard along: the new goods are held against others, the old ones are not, and short ones hold nothing', async () => {
    const [before, after] = [ownText(), ownText()];
    const { id } = await free(keeper, before);
    const tryIt = (artifact: string) => refusalOf(desk.ask(seller, newGoods({ artifact: nearText(artifact) }), 'true'));
    expect(await tryIt(before)).toEqual(duplicateOf(id));
    await edit(keeper, id, { artifact: after });
    expect([await tryIt(before), await tryIt(after)]).toEqual([null, duplicateOf(id)]);
    await edit(keeper, id, { artifact: 'short' });
    expect([await tryIt(after), await bandsOf(id)]).toEqual([null, undefined]);
    await edit(keeper, id, { artifact: nearText(before) });
    expect(await tryIt(before)).toEqual(duplicateOf(id));
  });

  it('may leave the goods nearly as they are, and bring them near to an older or newer version', async () => {
    const artifact = ownText();
    const first = await free(keeper, artifact);
    const second = await desk.list(keeper, { price_usdc: 0, artifact: ownText(), supersedes: first.id });
    await edit(keeper, first.id, { artifact: nearText(artifact) });
    await edit(keeper, second.id, { artifact: nearText(artifact) });
    await edit(keeper, first.id, { artifact });
    // Equal goods, whose guard entry another version holds.
    const same = { title: 'The same in both', artifact };
    await edit(keeper, first.id, same);
    await edit(keeper, second.id, same);
  });

  it('waits for its turn before it locks the listing, so that it never blocks the request that it waits for', async () => {
    const artifact = ownText();
    const { id } = await free(keeper, ownText());
    const { creditor, listing } = {
      creditor: await seedWithCredit(),
      listing: await holdTransactionOpen(db.database, (tx) => tx.lock(LISTINGS_LOCK)),
    };
    const edited = reasonOf(edit(keeper, id, { artifact }));
    await untilWaiting(db.database);
    await db.database.transaction((tx) => tx.one(sql`select id from listings where id = ${id} for update nowait`));
    const listed = reasonOf(desk.ask(creditor, newGoods({ artifact: nearText(artifact) })));
    await untilWaiting(db.database, 2);
    await listing.commit();
    expect((await Promise.all([edited, listed])).sort()).toEqual(['duplicate_listing', 'none']);
  });
});

it('what the public can read has no part of a shape', async () => {
  const listing = await desk.list(keeper, { artifact: ownText() });
  const shown = JSON.stringify(listing);
  for (const key of (await bandsOf(listing.id)) ?? expect.fail('no shape')) expect(shown).not.toContain(String(key));
});
