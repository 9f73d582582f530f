import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { sha256 } from '../../src/platform/canonical-json.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { eventsOf } from '../support/listing-life.ts';
import { type Answer, type Member, signProof, TEST_PEPPER } from '../support/market-world.ts';
import { seedFee, seedListing } from '../support/seed.ts';
import { GAS_WEI, type Goods, newGoods, PRICE, testTrade } from '../support/trade.ts';

// Two operations on one listing start within a few milliseconds of each other, in varying order. Answers, tables and log must agree on one
// order.

const ROUNDS = Number(process.env['OPENAISLE_RACES'] ?? rotatedRounds(import.meta.filename, 25));
const SEED = Number(process.env['OPENAISLE_RACES_SEED'] ?? Date.now() % 1_000_000);
const BATCH = 20;
const MAX_APART_MS = 6;
const STEP_MS = 3;
const many = 1_000_000;
const trade = testTrade({
  limits: { voices_per_merchant_day: many, votes_per_merchant_day: many, guard_runs_per_merchant_day: many },
});
const { world, seller, buyer } = trade;
const time = { timeout: 3_600_000 };

/** Delay of each race's first operation, or of the second if negative. Adjusted after every round, so that each side wins some. */
const delays = new Map<string, number>();

/** Runs both at about the same time; call `adjustDelay` to record which came first. The same seed and outcomes give the same delays. */
async function raceBoth<A, B>(
  name: string,
  round: number,
  one: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B]> {
  const [a = 0, b = 0] = sha256(`${SEED} ${name} ${round}`);
  const delay = delays.get(name) ?? 0;
  const before = Math.max(0, delay) + (a / 255) * MAX_APART_MS;
  const after = Math.max(0, -delay) + (b / 255) * MAX_APART_MS;
  return await Promise.all([pause(before).then(one), pause(after).then(other)]);
}

function adjustDelay(name: string, isOneFirst: boolean): void {
  delays.set(name, (delays.get(name) ?? 0) + (isOneFirst ? STEP_MS : -STEP_MS));
}

const said = ({ status, body }: Answer): string => (status < 400 ? String(status) : `${status} ${body['reason']}`);

async function kindsOf(id: bigint): Promise<string[]> {
  const events = await eventsOf(world.db.database, id);
  return events.map(({ kind }) => kind).toSorted();
}

function countOutcome(counts: Map<string, number>, outcome: string): void {
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}

/** Prints how often each side came first. */
function printOutcomes(name: string, counts: Map<string, number>): void {
  const outcomes = JSON.stringify(Object.fromEntries([...counts].toSorted()));
  process.stdout.write(`${name}: seed ${SEED}, ${ROUNDS} rounds, ${outcomes}\n`);
}

const isRefused = (bought: Answer): boolean => said(bought) === '404 listing_unavailable';

const edit = (id: bigint, body: object) => world.ask('PATCH', `/api/listing/${id}`, { key: seller.key, body });
const withdraw = (id: bigint) => world.ask('DELETE', `/api/listing/${id}`, { key: seller.key });

let payerMade = 0;
/** Creates a wallet with enough money for a whole test. */
async function richWallet() {
  payerMade += 1;
  const account = testAccount(`racer ${payerMade}`);
  await fund(world.chain, [{ address: account.address, usdcUnits: PRICE * 2_000n, wei: GAS_WEI }]);
  return account;
}

/** Finalizes everything submitted so far and decides all payments. */
async function settleAll(): Promise<void> {
  await world.finalize();
  await world.running.payments.reconcileOnce();
}

test('edit against taking free goods: a taker has what the commitment says', time, async () => {
  const counts = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await seedListing(world.db.database, seller.id, { priceUnits: 0n, artifact: `before ${round}` });
    const [edited, taken] = await raceBoth(
      'free edit',
      round,
      () => edit(id, { artifact: `after ${round}` }),
      () => world.buy(id, { key: buyer.key }),
    );
    expect(taken.status, said(taken)).toBe(200);
    const row = await world.db.database.one<{ artifact_commitment: Buffer }>(
      sql`select artifact_commitment from listings where id = ${id}`,
    );
    const salt = Buffer.from(String(taken.body['artifact_salt']).slice(2), 'hex');
    const kept = await world.buy(id, { key: buyer.key });
    expect(
      sha256(salt, Buffer.from(String(taken.body['artifact']))).equals(row.artifact_commitment),
      `round ${round}`,
    ).toBe(true);
    expect(kept.body['artifact']).toBe(taken.body['artifact']);
    const isEdited = edited.status === 200;
    if (!isEdited) expect(said(edited)).toBe('409 listing_closed');
    expect(taken.body['artifact']).toBe(isEdited ? `after ${round}` : `before ${round}`);
    expect(await kindsOf(id)).toEqual(isEdited ? ['listing_edit', 'sale'] : ['sale']);
    countOutcome(counts, said(edited));
    adjustDelay('free edit', isEdited);
  }
  printOutcomes('edit against taking free goods', counts);
});

interface Bought {
  id: bigint;
  goods: Goods;
  other: Answer;
  bought: Answer;
}

/** Races an x402 purchase against another operation in every round, and lets `judge` check the final state of each. */
async function raceAgainstPurchases(
  name: string,
  act: (id: bigint) => Promise<Answer>,
  judge: (round: Bought, end: { purchases: bigint; statuses: string[] }) => Promise<string>,
): Promise<void> {
  const counts = new Map<string, number>();
  const payer = await richWallet();
  for (let from = 0; from < ROUNDS; from += BATCH) {
    const rounds: Bought[] = [];
    for (let round = from; round < Math.min(ROUNDS, from + BATCH); round += 1) {
      const goods = await trade.goods();
      const proof = await signProof(world.chain, payer, goods.terms);
      const [other, bought] = await raceBoth(
        name,
        round,
        () => act(goods.id),
        () => world.buy(goods.id, { key: buyer.key, proof: proof.v2 }),
      );
      // The edit came second if it was refused, and the removal came second if the purchase was accepted.
      adjustDelay(name, name.startsWith('remove') ? isRefused(bought) : other.status === 200);
      rounds.push({ id: goods.id, goods, other, bought });
    }
    await settleAll();
    for (const round of rounds) {
      const end = await world.db.database.one<{ purchases: bigint; statuses: string[] }>(sql`
        select (select count(*) from purchases where listing_id = ${round.id}) as purchases,
          array(select status from payments where listing_id = ${round.id}) as statuses`);
      countOutcome(counts, await judge(round, end));
    }
  }
  printOutcomes(name, counts);
}

test('edit against a purchase: no buyer pays for what was changed under way', time, () =>
  raceAgainstPurchases(
    'edit against a purchase',
    (id) => edit(id, { description: 'Edited words' }),
    async ({ id, goods, other, bought }, end) => {
      // The edit came between opening and submitting the payment, so no money moved, and none will.
      if (said(bought) === '409 listing_changed') {
        expect([said(other), end]).toEqual(['200', { purchases: 0n, statuses: ['verifying'] }]);
        expect(said(await world.buy(id, { key: buyer.key }))).toBe('409 listing_changed');
        return 'stopped';
      }
      expect(said(bought)).toBe('202');
      expect(end).toEqual({ purchases: 1n, statuses: ['completed'] });
      const isEdited = other.status === 200;
      if (!isEdited) expect(['409 purchase_pending', '409 listing_closed']).toContain(said(other));
      const row = await world.db.database.one(sql`select description from listings where id = ${id}`);
      expect(row).toEqual({ description: isEdited ? 'Edited words' : 'What it is' });
      const collected = await world.buy(id, { key: buyer.key });
      expect(collected.body).toMatchObject({ artifact: goods.artifact, purchase: { price_usdc: 2.5 } });
      expect(await kindsOf(id)).toEqual(isEdited ? ['listing_edit', 'sale'] : ['sale']);
      return said(other);
    },
  ),
);

test('remove against a purchase: what was paid before is delivered, what was not is not asked for', time, async () => {
  const maintainer = await world.db.database.one<{ handle: string }>(sql`select handle from merchants where id = 1`);
  const keeper = await keyOf(maintainer.handle);
  await raceAgainstPurchases(
    'remove against a purchase',
    (id) =>
      world.ask('POST', '/api/mod/remove', {
        key: keeper,
        body: { listing_id: Number(id), reason_code: 'policy', reason: 'a reason' },
      }),
    async ({ id, other, bought }, { purchases, statuses }) => {
      expect(said(other)).toBe('200');
      const kinds = await kindsOf(id);
      expect(kinds).toEqual(purchases === 1n ? ['moderation', 'sale'] : ['moderation']);
      // Money that moved ends as a purchase or a review. Otherwise the payment is unpaid or was never submitted.
      if (isRefused(bought)) {
        expect({ purchases, statuses }).toEqual({ purchases: 0n, statuses: [] });
      } else if (purchases === 1n) expect(statuses).toEqual(['completed']);
      else expect(['needs_review', 'unpaid', 'verifying']).toContain(statuses[0]);
      return `${said(bought)} ${statuses[0] ?? 'nothing'}`;
    },
  );
});

async function keyOf(handle: string): Promise<string> {
  const key = makeMerchantKey(systemRandom, 'aisle');
  await world.db.database.transaction(async (tx) => {
    await tx.run(sql`update merchant_keys set revoked_at = now()
      where revoked_at is null and merchant_id = (select id from merchants where handle = ${handle})`);
    await tx.run(sql`insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
      select ${TEST_PEPPER.hash(key)}, 1, id, now() from merchants where handle = ${handle}`);
  });
  return key;
}

test('withdraw against claim: a transfer for an intent that was opened before is delivered', time, async () => {
  const counts = new Map<string, number>();
  const payer = await richWallet();
  for (let from = 0; from < ROUNDS; from += BATCH) {
    const ready = [];
    for (let round = from; round < Math.min(ROUNDS, from + BATCH); round += 1) {
      const goods = await trade.goods();
      const intent = await openIntent(world, buyer, goods.id);
      const signature = await signChallenge(payer, intent);
      const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
      ready.push({ round, goods, claiming: { intent, txHash, signature } });
    }
    await world.finalize();
    for (const { round, goods, claiming } of ready) {
      const [ended, claimed] = await raceBoth(
        'withdraw claim',
        round,
        () => withdraw(goods.id),
        () => claim(world, buyer, goods.id, claiming),
      );
      expect([said(ended), said(claimed)]).toEqual(['200', '200']);
      expect(claimed.body['artifact']).toBe(goods.artifact);
      expect(await kindsOf(goods.id)).toEqual(['sale', 'withdrawal']);
      const events = await eventsOf(world.db.database, goods.id);
      countOutcome(counts, `${events[0]?.kind} first`);
      adjustDelay('withdraw claim', events[0]?.kind === 'withdrawal');
    }
  }
  printOutcomes('withdraw against claim', counts);
});

async function withCredit(name: string): Promise<Member> {
  const member = await world.join(name);
  await seedFee(world.db.database, member.id);
  return member;
}

const LONG = Array.from({ length: 120 }, (_, at) => `word${at}`).join(' ');

test.each([
  ['the same goods', (round: number) => `${LONG} ${round}`],
  ['nearly the same goods', (round: number, which: number) => `${LONG} ${which} ${'x'.repeat(round + 1)}`],
])('two copies at once, %s: one is listed, the other keeps its fee', time, async (name, artifact) => {
  const counts = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each round uses its own words, because goods would otherwise count as copies of an earlier round's.
    const own = (which: number) => artifact(round, which).replaceAll('word', `w${name.length}r${round}n`);
    const members = [await withCredit(`one-${name.length}-${round}`), await withCredit(`two-${name.length}-${round}`)];
    const list = (which: number) => () =>
      world.ask('POST', '/api/listing', {
        key: members[which]?.key ?? '',
        body: newGoods({
          title: `Copied ${name} ${round}`,
          artifact: own(which),
          seller_wallet: WORLD_ACCOUNTS.sellerOne.address,
        }),
      });
    const answers = await raceBoth(`copies ${name}`, round, list(0), list(1));
    expect(answers.map(said).toSorted()).toEqual(['201', '409 duplicate_listing']);
    const { listings, credits } = await world.db.database.one<{ listings: bigint; credits: bigint }>(sql`
      select (select count(*) from listings where title = ${`Copied ${name} ${round}`}) as listings,
        (select count(*) from fees f where f.merchant_id in (${members[0]?.id}, ${members[1]?.id})
          and not exists (select from listings l where l.fee_id = f.id)) as credits`);
    expect({ listings, credits }).toEqual({ listings: 1n, credits: 1n });
    countOutcome(counts, `the ${answers[0]?.status === 201 ? 'first' : 'second'} is listed`);
  }
  printOutcomes(`two copies, ${name}`, counts);
});

test('two votes at once: one for one merchant, two for two', time, async () => {
  const other = await world.join('other-voter');
  const vote = (member: Pick<Member, 'key'>, id: bigint) => () =>
    world.ask('POST', '/api/vote', { key: member.key, body: { listing_id: Number(id) } });
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await seedListing(world.db.database, seller.id);
    const same = await raceBoth('same vote', round, vote(buyer, id), vote(buyer, id));
    expect(same.map(({ status, body }) => [status, body['votes']])).toEqual([
      [200, 1],
      [200, 1],
    ]);
    await raceBoth('two votes', round, vote(other, id), vote(buyer, id));
    const { votes } = await world.db.database.one<{ votes: bigint }>(
      sql`select count(*) as votes from votes where listing_id = ${id}`,
    );
    expect(votes).toBe(2n);
  }
  process.stdout.write(`two votes: seed ${SEED}, ${ROUNDS} rounds\n`);
});
