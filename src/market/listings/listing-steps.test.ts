import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, eventsOf, LISTING_SETUPS, type ListingSetup, ruleAgainst } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { seedWorldListing, seedWorldSale } from '../../../test/support/world-listing.ts';
import { endpoints } from '../../contract/index.ts';
import { LISTING_STATES, type ListingState } from '../../contract/vocabulary.ts';
import type { Market } from '../context.ts';
import { appealRemoval } from '../moderation/appeals.ts';
import { pinListing } from '../moderation/pin-listing.ts';
import { removeListing } from '../moderation/remove-listing.ts';
import { postComment } from '../reactions/post-comment.ts';
import { raiseFlag } from '../reactions/raise-flag.ts';
import { voteListing } from '../reactions/vote-listing.ts';
import { editListing } from './changes/edit-listing.ts';
import { withdrawListing } from './changes/withdraw-listing.ts';
import { isRefused, judgeStep, LISTING_STEPS, type ListingAct, nextState } from './listing-steps.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let seller: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  const limits = { voices_per_merchant_day: 1_000, votes_per_merchant_day: 1_000 };
  market = marketContext({ database: db.database, limits });
  keeper = await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
  other = await seedMerchant(db.database);
});

const ACTS = Object.keys(LISTING_STEPS) as ListingAct[];
const OF_CITIES: readonly ListingAct[] = ['world_sale', 'world_cancel', 'world_lapse'];
const STANDINGS_OF_GOODS = LISTING_SETUPS.filter(({ ofThings }) => !ofThings);

const standingOf = ({ state, isWithdrawn }: ListingSetup) => ({ state, withdrawnAt: isWithdrawn ? new Date(0) : null });
const rowOf = (id: bigint) =>
  db.database.one<{ state: ListingState; withdrawn: boolean }>(
    sql`select state, withdrawn_at is not null as withdrawn from listings where id = ${id}`,
  );

/** Lists the states, except the present one, to which these acts lead from this setup. */
function nextStates(standing: ListingSetup, acts = ACTS): ListingState[] {
  const steps = acts.map((of) => judgeStep(standingOf(standing), of));
  return LISTING_STATES.filter((state) => state !== standing.state && steps.includes(state));
}

/** Changes the state by plain SQL, together with the other columns that the state needs. */
const moveTo = (id: bigint, state: ListingState) =>
  ruleAgainst(
    db.database.run(sql`
      update listings set state = ${state}::text,
        removed_at = case when ${state}::text = 'removed' then coalesce(removed_at, now()) else removed_at end,
        withdrawn_at = case when ${state}::text = 'withdrawn' then coalesce(withdrawn_at, now()) else withdrawn_at end
      where id = ${id}`),
  );

interface Kind {
  make(): Promise<{ id: bigint }>;
  /** Returns the database rule that forbids the state, or `none` if it is allowed. */
  ruleTo(standing: ListingSetup, state: ListingState): string;
  /** Returns the database rule that forbids the move. */
  move(id: bigint, from: ListingState, to: ListingState): Promise<string>;
}

const GOODS: Kind = {
  make: () => seedListing(db.database, seller.id),
  ruleTo: (standing, to) => {
    if (!nextStates(standing).includes(to)) return 'listing_states_step';
    const acts = ACTS.filter((name) => !OF_CITIES.includes(name));
    return nextStates(standing, acts).includes(to) ? 'none' : 'listings_kind';
  },
  move: (id, _, to) => moveTo(id, to),
};

const THING: Kind = {
  make: () => seedWorldListing(db.database, seller.id),
  ruleTo: (standing, to) => (nextStates(standing).includes(to) ? 'none' : 'listing_states_step'),
  move: (id, from, to) =>
    to === 'sold' && from !== 'sold'
      ? ruleAgainst(seedWorldSale(db.database, id, { merchantId: other.id }))
      : moveTo(id, to),
};

const CASES = [
  ...STANDINGS_OF_GOODS.map((standing) => ({ name: `goods that are ${standing.name}`, standing, kind: GOODS })),
  ...LISTING_SETUPS.map((standing) => ({ name: `a thing that is ${standing.name}`, standing, kind: THING })),
];

describe.each(CASES)('$name', ({ standing, kind }) => {
  const brought = async (): Promise<bigint> => {
    const { id } = await kind.make();
    await standing.bring(db.database, id);
    return id;
  };

  it('are let by the database into exactly the states to which the table leads', async () => {
    for (const to of LISTING_STATES) {
      const id = await brought();
      expect(await rowOf(id)).toEqual({ state: standing.state, withdrawn: standing.isWithdrawn });
      const rule = to === standing.state ? 'none' : kind.ruleTo(standing, to);
      expect([to, await kind.move(id, standing.state, to)]).toEqual([to, rule]);
      expect((await rowOf(id)).state).toBe(rule === 'none' ? to : standing.state);
    }
  });

  it('keep their withdrawal, or the lack of one, as long as they do not step from live to withdrawn', async () => {
    const id = await brought();
    const before = await rowOf(id);
    const marks = standing.isWithdrawn ? [sql`null`, sql`now()`] : [sql`now()`];
    for (const mark of marks) {
      const attempt = db.database.run(sql`update listings set withdrawn_at = ${mark} where id = ${id}`);
      expect(await ruleAgainst(attempt)).toBe('listing_states_step');
    }
    expect(await rowOf(id)).toEqual(before);
  });

  it.each(ACTS.filter((name) => name in OPERATIONS))('answer %s as the table says', async (name) => {
    const id = await brought();
    // A thing of a city cannot be edited in any state.
    const isFixed = kind === THING && name === 'edit';
    const step = isFixed ? 'listing_closed' : judgeStep(standingOf(standing), name);
    const reason = await reasonOf(OPERATIONS[name]?.(id) ?? expect.fail());
    expect(reason).toBe(isRefused(step) ? step : 'none');
    const after = isRefused(step) ? standing.state : nextState(standingOf(standing), name);
    expect((await rowOf(id)).state).toBe(after);
    const isSilent = isRefused(step) || step === 'nothing' || SILENT.includes(name);
    expect(await eventsOf(db.database, id)).toHaveLength(isSilent ? 0 : 1);
  });
});

it('a thing is sold when, and only when, there is its sale', async () => {
  const { id } = await seedWorldListing(db.database, seller.id);
  expect(await moveTo(id, 'sold')).toBe('sold_is_recorded');
  expect((await rowOf(id)).state).toBe('live');
});

/** Operations that need nothing but a listing in that state. Others are tested elsewhere, such as restoring with the appeals. */
const OPERATIONS: Partial<Record<ListingAct, (id: bigint) => Promise<unknown>>> = {
  edit: (id) => act(market, endpoints.editListing, editListing, { id, body: { preview: 'new' }, caller: seller }),
  withdraw: (id) => act(market, endpoints.withdrawListing, withdrawListing, { id, caller: seller }),
  remove: (id) =>
    act(market, endpoints.removeListing, removeListing, {
      body: { listing_id: Number(id), reason_code: 'spam', reason: 'x' },
      caller: keeper,
    }),
  appeal: (id) =>
    act(market, endpoints.appealRemoval, appealRemoval, {
      body: { listing_id: Number(id), statement: 'It is good' },
      caller: seller,
    }),
  pin: (id) => pin(id, true),
  unpin: (id) => pin(id, false),
  vote: (id) => act(market, endpoints.voteListing, voteListing, { body: { listing_id: Number(id) }, caller: other }),
  comment: (id) =>
    act(market, endpoints.postComment, postComment, {
      body: { listing_id: Number(id), body: 'a word' },
      caller: other,
    }),
  flag: (id) =>
    act(market, endpoints.raiseFlag, raiseFlag, {
      body: { target_type: 'listing', target_id: Number(id), reason: 'look' },
      caller: other,
    }),
};

/** Acts without an event: a vote records none, and unpinning an unpinned listing changes nothing. */
const SILENT: readonly ListingAct[] = ['vote', 'unpin'];

function pin(id: bigint, pinned: boolean): Promise<unknown> {
  return act(market, endpoints.pinListing, pinListing, { body: { listing_id: Number(id), pinned }, caller: keeper });
}

it('every act has a step from every state, and every state is reached by one', () => {
  for (const steps of Object.values(LISTING_STEPS))
    expect(Object.keys(steps).sort()).toEqual([...LISTING_STATES].sort());
  const reached = new Set(LISTING_SETUPS.flatMap((standing) => nextStates(standing)));
  expect([...reached].sort()).toEqual([...LISTING_STATES].sort());
});
