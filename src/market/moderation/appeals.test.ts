import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, answerTo, eventsOf, holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  removeListing as removeInTable,
  type SeededMerchant,
  type SeedListing,
  seedListing,
  seedMerchant,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { APPEAL_OUTCOMES, type AppealOutcome } from '../../contract/appeals.ts';
import { endpoints } from '../../contract/index.ts';
import { readListingDetail } from '../catalog/present-listing.ts';
import type { Market } from '../context.ts';
import { lockListing } from '../listings/changes/store.ts';
import { appealRemoval, decideAppeal } from './appeals.ts';
import { removeListing } from './remove-listing.ts';
import { insertAppeal, markDecided, markRestored } from './store.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let seller: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
  other = await seedMerchant(db.database);
});

const WORDS = 'It is what it says.\nLook again, please.';

const remove = (id: bigint) =>
  act(market, endpoints.removeListing, removeListing, {
    body: { listing_id: Number(id), reason_code: 'fraud', reason: 'It holds nothing' },
    caller: keeper,
  });
const appeal = (id: bigint, statement = WORDS, caller = seller) =>
  answerTo(market, endpoints.appealRemoval, appealRemoval, { body: { listing_id: Number(id), statement }, caller });
const decide = (id: number, outcome: AppealOutcome, reason = 'Looked at again') =>
  act(market, endpoints.decideAppeal, decideAppeal, { body: { appeal_id: id, outcome, reason }, caller: keeper });
const detailOf = (id: bigint) => readListingDetail(db.database, id);

const createListing = async (given: SeedListing = {}): Promise<bigint> => {
  const { id } = await seedListing(db.database, seller.id, { title: 'As it was called', ...given });
  return id;
};
const createRemovedListing = async (): Promise<bigint> => {
  const id = await createListing();
  await remove(id);
  return id;
};
const createAppealedListing = async (): Promise<{ id: bigint; appealId: number }> => {
  const id = await createRemovedListing();
  return { id, appealId: (await appeal(id)).body.appeal.id };
};
const actsOf = async (id: bigint) =>
  (await eventsOf(db.database, id)).map(({ kind, detail }) => detail['action'] ?? kind);
/** Returns for each removal, in order, whether it was undone. */
const removalsOf = async (id: bigint) => {
  const rows = await db.database.rows<{ restored: boolean }>(
    sql`select restored_at is not null as restored from removals where listing_id = ${id} order by id`,
  );
  return rows.map(({ restored }) => restored);
};
const countAppeals = async (id: bigint): Promise<number> => {
  const rows = await db.database.rows(sql`select from appeals where listing_id = ${id}`);
  return rows.length;
};

describe('an appeal', () => {
  it('is public in the listing, and told of in one event that has none of its words', async () => {
    const id = await createRemovedListing();
    const { status, body } = await appeal(id);
    expect([status, body.appeal]).toEqual([
      201,
      {
        id: expect.any(Number),
        listing_id: Number(id),
        statement: WORDS,
        created_at: expect.stringMatching(/Z$/),
        outcome: null,
        outcome_reason: null,
        decided_at: null,
      },
    ]);
    expect(await detailOf(id)).toMatchObject({ state: 'removed', preview: '', appeal: body.appeal });
    const events = await eventsOf(db.database, id);
    expect(events.slice(1)).toEqual([
      {
        kind: 'appeal',
        actor: 'the-seller',
        detail: { appeal_id: body.appeal.id, listing_id: Number(id), merchant_id: Number(seller.id) },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain('Look again');
  });

  it('is made once per removal: the same words are answered with it, and other words are refused', async () => {
    const id = await createRemovedListing();
    const first = await appeal(id);
    expect(await appeal(id)).toEqual({ status: 200, body: first.body });
    expect(await reasonOf(appeal(id, 'Other words'))).toBe('already_appealed');
    expect(await actsOf(id)).toEqual(['remove', 'appeal']);
  });

  it('decided against, is answered with its outcome, and is no reason for another one', async () => {
    const { id, appealId } = await createAppealedListing();
    const { appeal: decided } = await decide(appealId, 'removal_upheld');
    expect(await appeal(id)).toEqual({ status: 200, body: { appeal: decided } });
    expect(await reasonOf(appeal(id, 'Other words'))).toBe('already_appealed');
  });

  it('is the merchant’s own, against a removal that is in force', async () => {
    const id = await createRemovedListing();
    for (const caller of [other, keeper]) expect(await reasonOf(appeal(id, WORDS, caller))).toBe('not_owner');
    expect(await reasonOf(appeal(999_999n))).toBe('not_found');
    expect(await reasonOf(appeal(await createListing()))).toBe('not_removed');
    expect(await countAppeals(id)).toBe(0);
  });

  it('has 1 to 4,000 characters, line breaks among them', () => {
    const { body } = endpoints.appealRemoval;
    for (const statement of ['x', 'é'.repeat(4_000), 'one\ntwo']) {
      expect(body.safeParse({ listing_id: 1, statement }).success).toBe(true);
    }
    for (const statement of ['', 'x'.repeat(4_001), 'a\u0000b', 7]) {
      expect(body.safeParse({ listing_id: 1, statement }).success).toBe(false);
    }
  });

  it('made ten times at once is one appeal and one event, and one answer says that it was made', async () => {
    const id = await createRemovedListing();
    const answers = await Promise.all(Array.from({ length: 10 }, () => appeal(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await actsOf(id)).toEqual(['remove', 'appeal']);
  });

  it('made at once in other words each time is the one that came first', async () => {
    const id = await createRemovedListing();
    const reasons = await Promise.all(Array.from({ length: 10 }, (_, n) => reasonOf(appeal(id, `words ${n}`))));
    expect(reasons.sort()).toEqual([...Array(9).fill('already_appealed'), 'none']);
    expect([await countAppeals(id), await actsOf(id)]).toEqual([1, ['remove', 'appeal']]);
  });

  it('waits for another one that is just being made, and is refused', async () => {
    const id = await createRemovedListing();
    const making = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      await insertAppeal(tx, id, 'First', new Date());
    });
    const second = reasonOf(appeal(id));
    await untilWaiting(db.database);
    await making.commit();
    expect(await second).toBe('already_appealed');
  });

  it('waits for a restoration that is just being made, and finds nothing to appeal against', async () => {
    const { id, appealId } = await createAppealedListing();
    const restoring = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      markDecided(tx, BigInt(appealId), { outcome: 'restored', reason: 'x', now: new Date() });
      markRestored(tx, id, 'live', new Date());
      await tx.rows(sql`select 1`);
    });
    const late = reasonOf(appeal(id));
    await untilWaiting(db.database);
    await restoring.commit();
    expect(await late).toBe('not_removed');
    expect(await countAppeals(id)).toBe(1);
  });
});

describe('a decision that restores', () => {
  it('brings the listing back as it was, and tells so in one event', async () => {
    const id = await createListing({ pinned: true });
    const before = await detailOf(id);
    await remove(id);
    const { appeal: open } = (await appeal(id)).body;
    const answer = await decide(open.id, 'restored', 'It does hold something');
    const decided = {
      ...open,
      outcome: 'restored',
      outcome_reason: 'It does hold something',
      decided_at: expect.stringMatching(/Z$/),
    };
    expect(answer).toEqual({ appeal: decided, listing: { ...before, appeal: decided } });
    expect(answer.listing).toMatchObject({ title: 'As it was called', preview: 'A look at it', state: 'live' });
    expect(await removalsOf(id)).toEqual([true]);
    expect((await eventsOf(db.database, id)).slice(2)).toEqual([
      {
        kind: 'moderation',
        actor: 'the-keeper',
        detail: {
          action: 'decide_appeal',
          appeal_id: open.id,
          listing_id: Number(id),
          merchant_id: Number(seller.id),
          outcome: 'restored',
        },
      },
    ]);
  });

  it('leaves a listing withdrawn that was withdrawn before its removal', async () => {
    const id = await createListing();
    await withdrawListing(db.database, id);
    const before = await detailOf(id);
    await remove(id);
    const { listing } = await decide((await appeal(id)).body.appeal.id, 'restored');
    expect(listing).toEqual({ ...before, appeal: expect.objectContaining({ outcome: 'restored' }) });
    expect(listing).toMatchObject({ state: 'withdrawn', withdrawn: true, withdrawn_reason: 'enough', removed: false });
  });

  it('can be followed by another removal and another appeal; the listing shows the appeal of the last one', async () => {
    const { id, appealId: first } = await createAppealedListing();
    await decide(first, 'restored');
    expect(await detailOf(id)).toMatchObject({ removed: false, appeal: { id: first } });
    await remove(id);
    expect(await detailOf(id)).toMatchObject({ removed: true, appeal: null });
    // Repeating the old decision does not undo a later removal.
    expect(await decide(first, 'restored')).toMatchObject({ appeal: { id: first }, listing: { state: 'removed' } });
    const { body, status } = await appeal(id);
    expect([status, body.appeal.id > first]).toEqual([201, true]);
    expect(await detailOf(id)).toMatchObject({ appeal: { id: body.appeal.id, outcome: null } });
    await decide(body.appeal.id, 'restored');
    expect(await detailOf(id)).toMatchObject({ state: 'live', appeal: { id: body.appeal.id, outcome: 'restored' } });
    expect(await removalsOf(id)).toEqual([true, true]);
    const acts = ['remove', 'appeal', 'decide_appeal'];
    expect(await actsOf(id)).toEqual([...acts, ...acts]);
  });

  it('is waited for by the next removal, which is another one', async () => {
    const { id, appealId } = await createAppealedListing();
    const restoring = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      markDecided(tx, BigInt(appealId), { outcome: 'restored', reason: 'x', now: new Date() });
      markRestored(tx, id, 'live', new Date());
      await tx.rows(sql`select 1`);
    });
    const removing = remove(id);
    await untilWaiting(db.database);
    await restoring.commit();
    expect((await removing).listing).toMatchObject({ state: 'removed', appeal: null });
    expect(await removalsOf(id)).toEqual([true, false]);
  });
});

describe('a decision', () => {
  it('that upholds the removal changes nothing but the appeal', async () => {
    const { id, appealId } = await createAppealedListing();
    const before = await detailOf(id);
    const { appeal: decided, listing } = await decide(appealId, 'removal_upheld', 'It is empty');
    expect(decided).toMatchObject({ outcome: 'removal_upheld', outcome_reason: 'It is empty' });
    expect(listing).toEqual({ ...before, appeal: decided });
    expect(await removalsOf(id)).toEqual([false]);
    expect((await eventsOf(db.database, id)).at(-1)?.detail).toMatchObject({
      action: 'decide_appeal',
      outcome: 'removal_upheld',
    });
  });

  it.each(APPEAL_OUTCOMES)('stands: %s again changes nothing, the other outcome is refused', async (outcome) => {
    const { id, appealId } = await createAppealedListing();
    const first = await decide(appealId, outcome, 'the first reason');
    expect(await decide(appealId, outcome, 'another reason')).toEqual(first);
    const otherwise = outcome === 'restored' ? 'removal_upheld' : 'restored';
    expect(await reasonOf(decide(appealId, otherwise))).toBe('appeal_decided');
    expect(await detailOf(id)).toEqual(first.listing);
    expect(await actsOf(id)).toEqual(['remove', 'appeal', 'decide_appeal']);
  });

  it('is about an appeal: nothing is restored without one', async () => {
    const id = await createRemovedListing();
    expect(await reasonOf(decide(999_999, 'restored'))).toBe('not_found');
    expect(await detailOf(id)).toMatchObject({ state: 'removed' });
  });

  it('made both ways at once is one decision, with one event', async () => {
    const { id, appealId } = await createAppealedListing();
    const asked = Array.from({ length: 10 }, (_, n) => APPEAL_OUTCOMES[n % 2] ?? expect.fail());
    const reasons = await Promise.all(asked.map((outcome) => reasonOf(decide(appealId, outcome))));
    const standing = (await detailOf(id))?.appeal?.outcome;
    expect(reasons).toEqual(asked.map((outcome) => (outcome === standing ? 'none' : 'appeal_decided')));
    expect(await actsOf(id)).toEqual(['remove', 'appeal', 'decide_appeal']);
    expect(await removalsOf(id)).toEqual([standing === 'restored']);
  });

  it('waits for another one that is just being made, and is judged by it', async () => {
    const { id, appealId } = await createAppealedListing();
    const deciding = await holdTransactionOpen(db.database, async (tx) => {
      await lockListing(tx, id);
      markDecided(tx, BigInt(appealId), { outcome: 'removal_upheld', reason: 'x', now: new Date() });
      await tx.rows(sql`select 1`);
    });
    const late = reasonOf(decide(appealId, 'restored'));
    await untilWaiting(db.database);
    await deciding.commit();
    expect(await late).toBe('appeal_decided');
    expect(await detailOf(id)).toMatchObject({ state: 'removed' });
  });
});

describe('where the log takes no event', () => {
  const silently = async (attempt: () => Promise<unknown>): Promise<void> => {
    await db.database.run(sql`alter table events add constraint nothing_is_told check (kind = 'none') not valid`);
    try {
      await expect(attempt()).rejects.toThrow('nothing_is_told');
    } finally {
      await db.database.run(sql`alter table events drop constraint nothing_is_told`);
    }
  };

  it('there is no removal, no appeal and no decision either', async () => {
    const id = await createListing();
    await silently(() => remove(id));
    expect([await detailOf(id), await removalsOf(id)]).toMatchObject([{ state: 'live' }, []]);
    await removeInTable(db.database, id);
    await silently(() => appeal(id));
    expect(await countAppeals(id)).toBe(0);
    const { body } = await appeal(id);
    for (const outcome of APPEAL_OUTCOMES) await silently(() => decide(body.appeal.id, outcome));
    expect(await detailOf(id)).toMatchObject({ state: 'removed', appeal: body.appeal });
    expect(await removalsOf(id)).toEqual([false]);
  });
});
