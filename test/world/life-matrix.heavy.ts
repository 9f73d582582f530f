import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ERRORS, type Reason } from '../../src/contract/errors.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { markSettling } from '../../src/market/payments/store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { openPayment } from '../support/listing-life.ts';
import { type Member, startWorld, TEST_PEPPER, type World } from '../support/market-world.ts';
import { SEED_TIME, seedListing, seedPaidPurchase, withdrawListing } from '../support/seed.ts';
import { newGoods } from '../support/trade.ts';

/** Checks the answers of every route that reads or changes a listing, for every kind of caller, in every state. */

const CALLERS = ['none', 'rotated', 'owner', 'other', 'buyer', 'maintainer'] as const;
type Caller = (typeof CALLERS)[number];

/** From `bought` on there is a buyer. `ended` was withdrawn, then removed. `again` was restored, then removed once more. */
const STATES = [
  'live',
  'pending',
  'bought',
  'withdrawn',
  'removed',
  'appealed',
  'restored',
  'ended',
  'upheld',
  'again',
] as const;
type State = (typeof STATES)[number];

/**
 * One line per route and group of callers: a status, or the reason for a refusal. A single cell covers all states. `=` means that the
 * request changes no row, because it only reads or the change was made before.
 */
const EXPECTED = `
route     callers                      live             pending          bought           withdrawn           removed             appealed            restored         ended               upheld              again
detail    all                          200=
edit      none                         key_required
edit      rotated                      key_invalid
edit      other,buyer,maintainer       not_owner
edit      owner                        200              purchase_pending listing_closed   listing_closed      listing_closed      listing_closed      listing_closed   listing_closed      listing_closed      listing_closed
fixed     owner                        field_fixed      field_fixed      listing_closed   listing_closed      listing_closed      listing_closed      listing_closed   listing_closed      listing_closed      listing_closed
fixed     other,buyer,maintainer       not_owner
fixed     none                         key_required
fixed     rotated                      key_invalid
delete    none                         key_required
delete    rotated                      key_invalid
delete    other,buyer,maintainer       not_owner
delete    owner                        200              200              200              200=                listing_closed      listing_closed      200              200=                listing_closed      listing_closed
withdraw  none                         key_required
withdraw  rotated                      key_invalid
withdraw  other,buyer,maintainer       not_owner
withdraw  owner                        200              200              200              200=                listing_closed      listing_closed      200              200=                listing_closed      listing_closed
buy       rotated                      key_invalid
buy       none,other,maintainer        payment_required payment_required payment_required listing_unavailable listing_unavailable listing_unavailable payment_required listing_unavailable listing_unavailable listing_unavailable
buy       owner                        own_goods        own_goods        own_goods        listing_unavailable listing_unavailable listing_unavailable own_goods        listing_unavailable listing_unavailable listing_unavailable
buy       buyer                        payment_required payment_required 200=             200=                200=                200=                200=             200=                200=                200=
intent    none                         key_required
intent    rotated                      key_invalid
intent    other,maintainer             201              201              201              listing_unavailable listing_unavailable listing_unavailable 201              listing_unavailable listing_unavailable listing_unavailable
intent    owner                        own_goods        own_goods        own_goods        listing_unavailable listing_unavailable listing_unavailable own_goods        listing_unavailable listing_unavailable listing_unavailable
intent    buyer                        201              201              purchase_exists  purchase_exists     purchase_exists     purchase_exists     purchase_exists  purchase_exists     purchase_exists     purchase_exists
vote      none                         key_required
vote      rotated                      key_invalid
vote      owner                        own_listing
vote      other,buyer,maintainer       200              200              200              listing_closed      listing_closed      listing_closed      200              listing_closed      listing_closed      listing_closed
comment   none                         key_required
comment   rotated                      key_invalid
comment   owner,other,buyer,maintainer 201              201              201              201                 listing_closed      listing_closed      201              listing_closed      listing_closed      listing_closed
flag      none                         key_required
flag      rotated                      key_invalid
flag      owner                        own_target
flag      other,buyer,maintainer       201
appeal    none                         key_required
appeal    rotated                      key_invalid
appeal    other,buyer,maintainer       not_owner
appeal    owner                        not_removed      not_removed      not_removed      not_removed         201                 already_appealed    not_removed      201                 already_appealed    201
supersede none                         key_required
supersede rotated                      key_invalid
supersede other,buyer,maintainer       not_owner
supersede owner                        200=
remove    none                         key_required
remove    rotated                      key_invalid
remove    owner,other,buyer            maintainer_only
remove    maintainer                   200              200              200              200                 200=                200=                200              200=                200=                200=
pin       none                         key_required
pin       rotated                      key_invalid
pin       owner,other,buyer            maintainer_only
pin       maintainer                   200              200              200              listing_closed      listing_closed      listing_closed      200              listing_closed      listing_closed      listing_closed
unpin     none                         key_required
unpin     rotated                      key_invalid
unpin     owner,other,buyer            maintainer_only
unpin     maintainer                   200=
silence   none                         key_required
silence   rotated                      key_invalid
silence   owner,other,buyer            maintainer_only
silence   maintainer                   200
decide    none                         key_required
decide    rotated                      key_invalid
decide    owner,other,buyer            maintainer_only
decide    maintainer                   not_found        not_found        not_found        not_found           not_found           200                 appeal_decided   not_found           200=                appeal_decided
restore   none                         key_required
restore   rotated                      key_invalid
restore   owner,other,buyer            maintainer_only
restore   maintainer                   not_found        not_found        not_found        not_found           not_found           200                 200=             not_found           appeal_decided      200=
`;

interface Placed {
  id: bigint;
  commentId: bigint;
  appealId: bigint;
}

type Request = [method: string, path: string, body?: unknown];

const ROUTES: Record<string, (placed: Placed) => Request> = {
  detail: ({ id }) => ['GET', `/api/listing/${id}`],
  edit: ({ id }) => ['PATCH', `/api/listing/${id}`, { description: 'Other words' }],
  fixed: ({ id }) => ['PATCH', `/api/listing/${id}`, { description: 'Other words', price_usdc: 1 }],
  delete: ({ id }) => ['DELETE', `/api/listing/${id}`],
  withdraw: ({ id }) => ['POST', `/api/listing/${id}/withdraw`, { reason: 'enough' }],
  buy: ({ id }) => ['POST', `/api/buy/${id}`, {}],
  intent: ({ id }) => ['POST', `/api/purchase-intent/${id}`, {}],
  vote: ({ id }) => ['POST', '/api/vote', { listing_id: Number(id) }],
  comment: ({ id }) => ['POST', '/api/comment', { listing_id: Number(id), body: 'A word about it' }],
  flag: ({ id }) => ['POST', '/api/flag', { target_type: 'listing', target_id: Number(id), reason: 'look at it' }],
  appeal: ({ id }) => ['POST', '/api/appeal', { listing_id: Number(id), statement: 'It is good' }],
  supersede: ({ id }) => ['POST', '/api/listing?dry_run=true', newGoods({ supersedes: Number(id) })],
  remove: ({ id }) => ['POST', '/api/mod/remove', { listing_id: Number(id), reason_code: 'spam', reason: 'spam' }],
  pin: ({ id }) => ['POST', '/api/mod/pin', { listing_id: Number(id), pinned: true }],
  unpin: ({ id }) => ['POST', '/api/mod/pin', { listing_id: Number(id), pinned: false }],
  silence: ({ commentId }) => [
    'POST',
    '/api/mod/comment',
    { comment_id: Number(commentId), reason_code: 'spam', reason: 'spam' },
  ],
  decide: ({ appealId }) => [
    'POST',
    '/api/mod/appeal',
    { appeal_id: Number(appealId), outcome: 'removal_upheld', reason: 'it stands' },
  ],
  restore: ({ appealId }) => [
    'POST',
    '/api/mod/appeal',
    { appeal_id: Number(appealId), outcome: 'restored', reason: 'it is back' },
  ],
};

let world: World;
let members: Record<Exclude<Caller, 'none'>, Member>;

beforeAll(async () => {
  const many = 100_000;
  world = await startWorld({
    limits: { voices_per_merchant_day: many, votes_per_merchant_day: many, guard_runs_per_merchant_day: many },
  });
  const maintainer = await world.join('the-keeper');
  const owner = await world.join('the-owner');
  const rotated = { ...owner, key: makeMerchantKey(systemRandom, 'aisle') };
  await world.db.database.run(sql`
    insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at, revoked_at)
    values (${TEST_PEPPER.hash(rotated.key)}, 1, ${owner.id}, now() - interval '1 day', now())`);
  const [other, buyer] = [await world.join('some-other'), await world.join('the-buyer')];
  members = { maintainer, owner, rotated, other, buyer };
});
afterAll(() => world?.stop());
// This chain mines only on request, and an intent opens only if the latest block is close to the market's time, which a busy machine would
// miss.
beforeEach(() => world.chain.mine());

/** Creates a listing in that state, with a comment by an otherwise inactive merchant. */
async function placeListing(state: State): Promise<Placed> {
  const { database } = world.db;
  const { id } = await seedListing(database, members.owner.id, { wallet: WORLD_ACCOUNTS.sellerOne.address });
  const { id: commentId } = await database.one<{ id: bigint }>(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at)
    select coalesce(max(id), 0) + 1, ${id}, ${members.other.id}, 'first', now() from comments returning id`);
  let appealId = 999_999n;
  if (state === 'pending')
    await database.transaction(async (tx) => markSettling(tx, (await openPayment(tx, id)).id, SEED_TIME));
  if (STATES.indexOf(state) >= STATES.indexOf('bought')) {
    await seedPaidPurchase(database, id, { merchantId: members.buyer.id });
  }
  if (state === 'withdrawn' || state === 'ended') await withdrawListing(database, id);
  if (STATES.indexOf(state) >= STATES.indexOf('removed')) await takeOff(id);
  if (['appealed', 'restored', 'upheld', 'again'].includes(state)) appealId = await appeal(id);
  if (state === 'upheld') await uphold(id);
  if (state === 'restored' || state === 'again') await putBack(id);
  if (state === 'again') await takeOff(id);
  return { id, commentId, appealId };
}

const takeOff = (id: bigint) =>
  world.db.database.transaction(async (tx) => {
    await tx.run(sql`update listings set state = 'removed', removed_at = now(), removed_reason = 'r',
      removed_reason_code = 'policy' where id = ${id}`);
    await tx.run(sql`insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
      values (${id}, 'policy', 'r', 1, now())`);
  });

async function appeal(id: bigint): Promise<bigint> {
  const row = await world.db.database.one<{ id: bigint }>(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'It was good', now() from removals where listing_id = ${id} returning id`);
  return row.id;
}

const putBack = (id: bigint) =>
  world.db.database.transaction(async (tx) => {
    await tx.run(sql`update listings set state = 'live', removed_at = null, removed_reason = null, removed_reason_code = null
      where id = ${id}`);
    await tx.run(sql`update removals set restored_at = now() where listing_id = ${id}`);
    await tx.run(sql`update appeals set outcome = 'restored', outcome_reason = 'good', decided_at = now()
      where listing_id = ${id}`);
  });

const uphold = (id: bigint) =>
  world.db.database.run(sql`
    update appeals set outcome = 'removal_upheld', outcome_reason = 'bad', decided_at = now() where listing_id = ${id}`);

type Cell = { route: string; caller: Caller; state: State; expected: string };

function cellsOf(table: string): Cell[] {
  const lines = table.trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [route = '', who = '', ...given] = line.trim().split(/\s+/);
    const callers = who === 'all' ? CALLERS : CALLERS.filter((caller) => who.split(',').includes(caller));
    return callers.flatMap((caller) =>
      STATES.map((state, at) => ({ route, caller, state, expected: given[given.length === 1 ? 0 : at] ?? '' })),
    );
  });
}

const cells = cellsOf(EXPECTED);

it('the table has one cell for each route, caller and state', () => {
  const named = cells.map(({ route, caller, state }) => `${route} ${caller} ${state}`);
  const all = Object.keys(ROUTES).flatMap((route) =>
    CALLERS.flatMap((caller) => STATES.map((state) => `${route} ${caller} ${state}`)),
  );
  expect(named.toSorted()).toEqual(all.toSorted());
  expect(cells.filter(({ expected }) => !/^20[01]=?$/.test(expected) && !(expected in ERRORS))).toEqual([]);
});

it.each(Object.keys(ROUTES))(
  '%s answers every caller in every state as the table says, and nothing else',
  async (route) => {
    const mine = cells.filter((cell) => cell.route === route);
    const wrong: string[] = [];
    for (const { caller, state, expected } of mine) {
      const placed = await placeListing(state);
      if (route === 'detail') await world.running.eventsSettled();
      const before = await storedState(placed.id);
      const [method, path, body] = (ROUTES[route] as (placed: Placed) => Request)(placed);
      const key = caller === 'none' ? {} : { key: members[caller].key };
      const answer = await world.ask(method, path, { ...key, ...(body === undefined ? {} : { body }) });
      const refused = answer.status >= 400;
      const said = refused ? String(answer.body['reason']) : String(answer.status);
      const cell = `${caller} ${state}: ${said}, not ${expected}`;
      if (said !== expected.replace('=', '')) wrong.push(cell);
      if (refused && answer.status !== ERRORS[said as Reason].status)
        wrong.push(`${cell} with status ${answer.status}`);
      // A refused request changes no row.
      const isStill = refused || expected.endsWith('=');
      const changed = (await storedState(placed.id)) !== before;
      if (changed === isStill) wrong.push(`${cell}, and ${changed ? 'something' : 'nothing'} has changed`);
    }
    expect(wrong).toEqual([]);
  },
);

/** Returns everything stored about a listing as text, including payments, since a 402 must open none. */
async function storedState(id: bigint): Promise<string> {
  const row = await world.db.database.one<{ stand: unknown }>(sql`
    select json_build_array(
      (select to_json(l) from listings l where id = ${id}), (select json_agg(c) from comments c where listing_id = ${id}),
      (select json_agg(f) from flags f where listing_id = ${id}), (select json_agg(v) from votes v where listing_id = ${id}),
      (select json_agg(r) from removals r where listing_id = ${id}), (select json_agg(a) from appeals a where listing_id = ${id}),
      (select json_agg(p) from purchases p where listing_id = ${id}), (select json_agg(p) from payments p where listing_id = ${id}),
      (select json_agg(i) from payment_intents i where listing_id = ${id}), (select count(*) from events)
    ) as stand`);
  return JSON.stringify(row.stand);
}
