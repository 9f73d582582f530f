import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { nearText, ownText } from '../support/listing-desk.ts';
import { type Answer, type Member, type SignedProof, startWorld, type World } from '../support/market-world.ts';
import { seedFee } from '../support/seed.ts';
import { fundedWallet, type GoodsBody, listGoods, newGoods, signFee } from '../support/trade.ts';

// Tests the near-copy guard and new versions while fees are in flight.

let world: World;
let made = 0;
beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
});
afterAll(() => world?.stop());

function merchant(): Promise<Member> {
  made += 1;
  return world.join(`merchant-${made}`);
}

const statusAndReason = ({ status, body }: Answer) => [status, body['reason'] ?? body['status'] ?? 'ok'];
const creditsOf = async (member: Member) => (await world.ask('GET', '/api/me', { key: member.key })).body['credits'];

interface Pending {
  payer: TestAccount;
  proof: SignedProof;
}

async function withFeeUnderWay(member: Member, body: GoodsBody): Promise<Pending> {
  const payer = await fundedWallet(world);
  const proof = await signFee(world, payer);
  expect(statusAndReason(await listGoods(world, member, body, { proof: proof.v2 }))).toEqual([202, 'payment_pending']);
  return { payer, proof };
}

/** Starts a fee that can never be paid, because its payer is blocked and then cancels the authorization. */
async function withFeeThatFails(member: Member, body: GoodsBody): Promise<void> {
  const payer = await fundedWallet(world);
  const proof = await signFee(world, payer);
  const admin = usdcAdmin(world.chain);
  await admin.blacklist(payer.address);
  expect((await listGoods(world, member, body, { proof: proof.v2 })).status).toBe(402);
  await admin.cancelAuthorization(WORLD_ACCOUNTS.stranger, payer, proof.authorization.nonce);
}

async function settleAll(): Promise<void> {
  await world.finalize();
  await world.running.payments.reconcileOnce();
}

async function listed(member: Member, body: GoodsBody): Promise<number> {
  await seedFee(world.db.database, member.id);
  const answer = await listGoods(world, member, body);
  expect(answer.status).toBe(201);
  return Number(answer.body['listing_id']);
}

const placesOf = (member: Member) =>
  world.db.database.rows(
    sql`select listing_id, payment_id is not null as is_pending, taken_from, taken_until, expires_at
      from artifact_guards where merchant_id = ${member.id}`,
  );

it('near copies whose fees are under way at once: one goes live, and the other fee becomes a credit', async () => {
  const artifact = ownText();
  const rivals = [await merchant(), await merchant()] as const;
  const bodies = [newGoods({ artifact }), newGoods({ artifact: nearText(artifact) })] as const;
  for (const at of [0, 1] as const) await withFeeUnderWay(rivals[at], bodies[at]);
  await settleAll();
  const credits = await Promise.all(rivals.map(creditsOf));
  expect(credits.toSorted()).toEqual([0, 1]);
  const loser = credits[0] === 1 ? 0 : 1;
  const { listings } = await world.db.database.one<{ listings: bigint }>(
    sql`select count(*) as listings from listings where merchant_id = any(${rivals.map(({ id }) => id)}::bigint[])`,
  );
  expect(listings).toBe(1n);
  expect(await placesOf(rivals[loser])).toEqual([]);
  const again = await listGoods(world, rivals[loser], bodies[loser]);
  expect([...statusAndReason(again), again.body['do_not_pay_again']]).toEqual([409, 'duplicate_listing', true]);
  expect((await listGoods(world, rivals[loser], newGoods({ artifact: ownText() }))).status).toBe(201);
});

it('a version of the same goods takes the place of the one before, and passes it to its listing', async () => {
  const member = await merchant();
  const body = newGoods({ artifact: ownText() });
  const first = await listed(member, body);
  const version = { ...body, price_usdc: 7, supersedes: first, entitles_previous_buyers: true };
  await withFeeUnderWay(member, version);
  expect(await placesOf(member)).toMatchObject([{ listing_id: null, is_pending: true, taken_from: BigInt(first) }]);
  await settleAll();
  const answer = await listGoods(world, member, version);
  expect(answer).toMatchObject({ status: 201, body: { listing: { supersedes: first, price_usdc: 7 } } });
  expect(await placesOf(member)).toMatchObject([
    { listing_id: BigInt(Number(answer.body['listing_id'])), is_pending: false, taken_from: null, taken_until: null },
  ]);
});

it('a place that was taken over goes back when the fee ends unpaid, for as long as it was had', async () => {
  const member = await merchant();
  const body = newGoods({ artifact: ownText() });
  const first = await listed(member, body);
  const before = await placesOf(member);
  expect(before).toMatchObject([{ listing_id: BigInt(first), is_pending: false, taken_from: null }]);
  await withFeeThatFails(member, { ...body, price_usdc: 7, supersedes: first });
  expect(await placesOf(member)).toMatchObject([{ listing_id: null, is_pending: true, taken_from: BigInt(first) }]);
  await settleAll();
  expect(await placesOf(member)).toEqual(before);
  const copy = await listGoods(world, await merchant(), { ...body, description: 'Mine now' });
  expect(copy.body).toMatchObject({ reason: 'duplicate_listing', listing_id: first });
});

it('a version that a rival overtakes is a credit, its place goes back, and the answer to it is no second fee', async () => {
  const member = await merchant();
  const body = newGoods({ artifact: ownText() });
  const first = await listed(member, body);
  const before = await placesOf(member);
  const late = { ...body, price_usdc: 7, supersedes: first };
  await withFeeUnderWay(member, late);
  const rival = await listed(member, newGoods({ artifact: ownText(), supersedes: first }));
  await settleAll();
  expect(await creditsOf(member)).toBe(1);
  expect(await placesOf(member)).toEqual(expect.arrayContaining(before));
  const again = await listGoods(world, member, late);
  expect(again.body).toMatchObject({ reason: 'already_superseded', listing_id: rival, do_not_pay_again: true });
  const next = await listGoods(world, member, { ...late, supersedes: rival });
  expect(next).toMatchObject({ status: 201, body: { listing: { supersedes: rival } } });
});
