import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { seedOffer, seedResident, seedThing } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { ruleAgainst } from '../../../test/support/listing-life.ts';
import { OFFER_PHASES, type OfferPhase } from '../../contract/world-records.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Resident } from '../context.ts';
import { applyAct, nextPhase, OFFER_STEPS, type OfferAct } from './offer-steps.ts';
import { lockOffer } from './store.ts';

const db = testDatabase({ site: 'city' });
let seller: Resident;
let buyer: Resident;

beforeAll(async () => {
  seller = await seedResident(db.database, { handle: 'steps-seller' });
  buyer = await seedResident(db.database, { handle: 'steps-buyer' });
});

const ACTS = Object.keys(OFFER_STEPS) as OfferAct[];
const followersOf = (from: OfferPhase): OfferPhase[] =>
  ACTS.flatMap((act) => nextPhase(from, act) ?? []).filter((to, at, all) => all.indexOf(to) === at);

/** Returns the shortest path to the phase along the table's steps. */
function wayTo(phase: OfferPhase): OfferPhase[] {
  const ways: OfferPhase[][] = [['listed']];
  for (const way of ways) {
    const last = way.at(-1) ?? 'listed';
    if (last === phase) return way.slice(1);
    ways.push(...followersOf(last).map((next) => [...way, next]));
  }
  throw new Error(`no way leads to ${phase}`);
}

interface Made {
  offerId: bigint;
  thingId: bigint;
  reservationId: bigint;
}

async function make(tx: Tx, thingId: bigint): Promise<Made> {
  const offerId = await seedOffer(tx, thingId);
  const { id: reservationId } = await tx.one<{ id: bigint }>(sql`
    insert into reservations (offer_id, resident_id, market_checkout_id, market_buyer, payer_wallet, reserved_at, reserved_until,
      opened_block, nonce, challenge, created_at)
    values (${offerId}, ${buyer.id}, 1, 'm', ${Buffer.alloc(20, 3)}, '2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z', 1, 'n', 'c', now())
    returning id`);
  await tx.run(sql`
    insert into sale_proofs (tx_hash, offer_id, reservation_id, block_number, block_hash, block_time, log_index, value_units, written_at)
    values (${Buffer.alloc(32, 1)}, ${offerId}, ${reservationId}, 2, ${Buffer.alloc(32, 2)}, '2026-01-01T00:01:00Z', 0, 2500000, now())`);
  return { offerId, thingId, reservationId };
}

/** Sets all other columns that the schema requires, so that only the step itself can fail. */
async function step(
  tx: Tx,
  { offerId, thingId, reservationId }: Made,
  from: OfferPhase,
  to: OfferPhase,
): Promise<void> {
  const begins = from === 'listed' && to !== 'canceled';
  const frees = to === 'listed';
  const isSold = to === 'claimed';
  await tx.run(sql`
    update offers set phase = ${to}::text,
      reservation_id = case when ${begins} then ${reservationId}::int8 when ${frees} then null else reservation_id end,
      pending_since = case when ${to}::text = 'payment_pending' then now() else pending_since end,
      tx_hash = case when ${isSold} then ${Buffer.alloc(32, 1)}::bytea end, block_number = case when ${isSold} then 2 end,
      block_time = case when ${isSold} then timestamptz '2026-01-01T00:01:00Z' end,
      claimed_at = case when ${isSold} then now() end, canceled_at = case when ${to}::text = 'canceled' then now() end
    where id = ${offerId}`);
  if (!isSold) return;
  await tx.run(sql`update things set owner_id = ${buyer.id} where id = ${thingId}`);
  await tx.run(sql`
    insert into thing_owners (thing_id, nth, owner_id, owned_from, offer_id)
    select ${thingId}, count(*) + 1, ${buyer.id}, now(), ${offerId} from thing_owners where thing_id = ${thingId}`);
}

class TakenBack extends Error {}

/** Returns the violated rule, including rules checked at commit. */
async function attempt(from: OfferPhase, to: OfferPhase): Promise<string> {
  const thingId = await seedThing(db.database, seller.id);
  try {
    return await ruleAgainst(
      db.database.transaction(async (tx) => {
        const made = await make(tx, thingId);
        let at: OfferPhase = 'listed';
        for (const next of [...wayTo(from), to]) {
          await step(tx, made, at, next);
          at = next;
        }
        await tx.run(sql`set constraints all immediate`);
        throw new TakenBack();
      }),
    );
  } catch (error) {
    if (error instanceof TakenBack) return 'none';
    throw error;
  }
}

it.each(OFFER_PHASES)('an offer that is %s goes exactly where the table says', async (from) => {
  for (const to of OFFER_PHASES.filter((phase) => phase !== from)) {
    const isLegal = followersOf(from).includes(to);
    expect([to, await attempt(from, to)]).toEqual([to, isLegal ? 'none' : 'offers_step']);
  }
});

it('begins as listed: nothing else can be written', async () => {
  const thingId = await seedThing(db.database, seller.id);
  for (const phase of OFFER_PHASES.filter((one) => one !== 'listed')) {
    const begun = db.database.run(sql`
      insert into offers (id, thing_id, seller_id, price_units, seller_wallet, market_origin, market_draft_id, market_seller, chain_id,
        asset, created_at, phase)
      values (999, ${thingId}, ${seller.id}, 1, ${Buffer.alloc(20)}, 'm', 999, 's', 1, ${Buffer.alloc(20)}, now(), ${phase})`);
    expect([phase, await ruleAgainst(begun)]).toEqual([phase, expect.stringMatching(/^offers_check/)]);
  }
});

it('an act that the phase does not allow is a fault of the code, and changes nothing', async () => {
  const thingId = await seedThing(db.database, seller.id);
  const offerId = await db.database.transaction((tx) => seedOffer(tx, thingId));
  for (const act of ACTS.filter((one) => nextPhase('listed', one) === null)) {
    const tried = db.database.transaction(async (tx) => {
      const offer = await lockOffer(tx, offerId);
      if (offer !== null) await applyAct(tx, offer, act, {});
    });
    await expect(tried).rejects.toThrow(`no step ${act} leads from there`);
  }
});

it('a thing is free again after exactly the ends that the index names, and a seller ends what ended unsold', async () => {
  const { rule } = await db.database.one<{ rule: string }>(sql`
    select pg_get_expr(indpred, indrelid) as rule from pg_index where indexrelid = 'offers_one_open_per_thing'::regclass`);
  expect(OFFER_PHASES.filter((phase) => rule.includes(`'${phase}'`))).toEqual(
    OFFER_PHASES.filter((phase) => followersOf(phase).length === 0),
  );
  const endedUnsold = ['payment_invalid', 'payment_expired', 'founder_review'];
  expect(OFFER_PHASES.filter((phase) => nextPhase(phase, 'cancel') !== null)).toEqual(['listed', ...endedUnsold]);
});
