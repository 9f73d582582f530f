import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { testAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { countRows } from '../support/database.ts';
import { nearText, ownText } from '../support/listing-desk.ts';
import { type Answer, type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listGoods, listPaid, newGoods, signFee } from '../support/trade.ts';

const { treasury, buyerTwo } = WORLD_ACCOUNTS;
const LONG = 200;

let world: World;
let keeper: Member;
let made = 0;

beforeAll(async () => {
  world = await startWorld();
  keeper = await world.join('the-keeper');
});
afterAll(() => world?.stop());

/** Creates a merchant. Each one has its own daily limit of guard runs. */
function merchant(): Promise<Member> {
  made += 1;
  return world.join(`merchant-${made}`);
}

const statusAndReason = ({ status, body }: Answer) => [status, body['reason'] ?? body['status'] ?? 'ok'];

/** Expects the refusal with a valid proof, in a dry run and without a proof, so nobody pays for goods that would be refused. */
async function expectNothingTaken(member: Member, body: unknown, refusal: [number, string]): Promise<Answer> {
  const payer = await fundedWallet(world);
  const proof = await signFee(world, payer);
  const before = await countRows(world.db.database);
  const answer = await listGoods(world, member, body, { proof: proof.v2 });
  expect(statusAndReason(answer)).toEqual(refusal);
  expect(statusAndReason(await listGoods(world, member, body))).toEqual(refusal);
  expect(statusAndReason(await listGoods(world, member, body, { dryRun: true }))).toEqual(refusal);
  expect(await countRows(world.db.database)).toEqual(before);
  expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([]);
  return answer;
}

describe('the same goods', () => {
  it('of two merchants are refused from 200 characters on, naming the listing and nothing of it', async () => {
    const body = newGoods({ artifact: 'x'.repeat(LONG) });
    const [first, second] = [await merchant(), await merchant()];
    const listed = await listPaid(world, first, body, await fundedWallet(world));
    expect(listed.status).toBe(201);
    const copy = { ...body, title: `  ${body.title.toUpperCase()} `.replace(' ', '   '), description: 'Other words' };
    const answer = await expectNothingTaken(second, copy, [409, 'duplicate_listing']);
    expect(answer.body['listing_id']).toBe(listed.body['listing_id']);
    expect(answer.body['detail']).toContain(`Listing ${listed.body['listing_id']}`);
    expect(JSON.stringify(answer.body)).not.toContain('xxxx');
  });

  it('are refused while the fee of the first is on its way', async () => {
    const body = newGoods({ artifact: `${'y'.repeat(LONG)}` });
    const [first, second] = [await merchant(), await merchant()];
    const proof = await signFee(world, await fundedWallet(world));
    expect((await listGoods(world, first, body, { proof: proof.v1 })).status).toBe(202);
    await expectNothingTaken(second, body, [409, 'duplicate_listing']);
    await expectNothingTaken(first, { ...body, price_usdc: 3 }, [409, 'duplicate_listing']);
  });

  it('as bytes are counted as bytes, and as text as characters', async () => {
    const [first, second, third] = [await merchant(), await merchant(), await merchant()];
    const bytes = Buffer.alloc(LONG, 1).toString('base64');
    const coded = newGoods({ artifact: bytes, artifact_encoding: 'base64' });
    await listPaid(world, first, coded, await fundedWallet(world));
    await expectNothingTaken(second, coded, [409, 'duplicate_listing']);
    const letters = newGoods({ artifact: 'é'.repeat(LONG - 1) });
    await listPaid(world, first, letters, await fundedWallet(world));
    expect((await listPaid(world, third, letters, await fundedWallet(world))).status).toBe(201);
  });

  it('shorter than that may be alike by chance: both merchants list them, one merchant only once', async () => {
    const body = newGoods({ artifact: 'x'.repeat(LONG - 1) });
    const [first, second] = [await merchant(), await merchant()];
    expect((await listPaid(world, first, body, await fundedWallet(world))).status).toBe(201);
    expect((await listPaid(world, second, body, await fundedWallet(world))).status).toBe(201);
    await expectNothingTaken(first, { ...body, price_usdc: 3 }, [409, 'duplicate_listing']);
  });

  it('may be listed again once the place has run out and they are on no shelf', async () => {
    const body = newGoods({ artifact: 'z'.repeat(LONG) });
    const [first, second] = [await merchant(), await merchant()];
    const listed = await listPaid(world, first, body, await fundedWallet(world));
    const id = listed.body['listing_id'];
    await world.db.database.run(sql`update artifact_guards set expires_at = now() where listing_id = ${id}`);
    await expectNothingTaken(second, body, [409, 'duplicate_listing']);
    await world.db.database.run(
      sql`update listings set state = 'withdrawn', withdrawn_at = now() - interval '7 days' where id = ${id}`,
    );
    expect((await listPaid(world, second, body, await fundedWallet(world))).status).toBe(201);
    await expectNothingTaken(first, { ...body, price_usdc: 3 }, [409, 'duplicate_listing']);
  });

  it('are refused where they are nearly the same, under any title', async () => {
    const artifact = ownText();
    const [first, second] = [await merchant(), await merchant()];
    const listed = await listPaid(world, first, newGoods({ artifact }), await fundedWallet(world));
    const copy = newGoods({ artifact: nearText(artifact) });
    const answer = await expectNothingTaken(second, copy, [409, 'duplicate_listing']);
    expect(answer.body).toMatchObject({ listing_id: listed.body['listing_id'], do_not_pay_again: false });
  });
});

describe('a seller wallet', () => {
  it.each([
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['the USDC contract', checksummed(USDC_ADDRESS)],
    ['the treasury', treasury.address],
  ])('is not %s', async (_, wallet) => {
    await expectNothingTaken(await merchant(), newGoods({ seller_wallet: wallet }), [422, 'seller_wallet_refused']);
    const free = await listGoods(world, keeper, newGoods({ seller_wallet: wallet }));
    expect(statusAndReason(free)).toEqual([422, 'seller_wallet_refused']);
  });

  it('is not one that the USDC contract blocks', async () => {
    const admin = usdcAdmin(world.chain);
    await admin.blacklist(buyerTwo.address);
    const member = await merchant();
    const body = newGoods({ seller_wallet: buyerTwo.address });
    await expectNothingTaken(member, body, [422, 'seller_wallet_refused']);
    await admin.unBlacklist(buyerTwo.address);
    expect((await listGoods(world, member, body)).status).toBe(402);
  });

  it('is not one that sells things of the world', async () => {
    const { address } = testAccount('world seller');
    await world.db.database.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(address)}, 'world')`);
    await expectNothingTaken(await merchant(), newGoods({ seller_wallet: address }), [409, 'wallet_in_use']);
  });
});

describe('what a listing is', () => {
  it('is not a thing of the world aisle, by name; a tag alone does not make it one', async () => {
    const member = await merchant();
    await expectNothingTaken(member, newGoods({ aisle: 'world' }), [422, 'world_needs_draft']);
    const tagged = await listGoods(world, keeper, newGoods({ tags: ['world', 'data', 'tools'] }));
    expect(tagged.body['listing']).toMatchObject({ aisle: 'data' });
  });

  it('is said by a dry run, which costs and stores nothing', async () => {
    const member = await merchant();
    const payer = await fundedWallet(world);
    const before = await countRows(world.db.database);
    const proof = await signFee(world, payer);
    const answer = await listGoods(world, member, newGoods(), { dryRun: true, proof: proof.v2 });
    expect([answer.status, answer.body]).toEqual([200, { dry_run: true, would_cost_usdc: 1 }]);
    const free = await listGoods(world, keeper, newGoods(), { dryRun: true });
    expect(free.body).toEqual({ dry_run: true, would_cost_usdc: 0 });
    expect(await countRows(world.db.database)).toEqual(before);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([]);
  });

  it('may be asked 30 times a day, and the 31st says when to come back; the maintainer has no such cap', async () => {
    const member = await merchant();
    const runs = async (who: Member, count: number) => {
      const answers = await Promise.all(
        Array.from({ length: count }, () => listGoods(world, who, newGoods(), { dryRun: true })),
      );
      return answers.map(({ status }) => status);
    };
    expect(await runs(member, 30)).toEqual(Array(30).fill(200));
    const capped = await listGoods(world, member, newGoods(), { dryRun: true });
    expect(statusAndReason(capped)).toEqual([429, 'rate_limited']);
    const seconds = Number(capped.headers.get('retry-after'));
    expect(capped.body['retry_after_seconds']).toBe(seconds);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(86_400);
    const { quotas } = (await world.ask('GET', '/api/me', { key: member.key })).body as Record<string, unknown>;
    expect(quotas).toMatchObject({ guard_runs_per_merchant_day: { limit: 30, used: 30 } });
    expect(await runs(keeper, 31)).toEqual(Array(31).fill(200));
  });
});
