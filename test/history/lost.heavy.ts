import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { type HistoryWorld, openHistoryWorld, until, waitForCopy } from '../support/history-world.ts';
import { type Answer, BASE_URL, type Member, signProof, type World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods } from '../support/trade.ts';

let history: HistoryWorld;
let world: World;
let seller: Member;
let buyer: Member;
let payer: TestAccount;

beforeEach(async () => {
  history = await openHistoryWorld();
  world = await history.startMarket();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
  payer = await fundedWallet(world);
});
afterEach(() => history.stop());

async function list(): Promise<bigint> {
  const { body } = await listPaid(world, seller, newGoods(), WORLD_ACCOUNTS.sellerOne);
  return BigInt((body['listing'] as { id: number }).id);
}

let said = 0;
async function comment(listing: bigint, on = world): Promise<Answer> {
  said += 1;
  const body = { listing_id: Number(listing), body: `Said as number ${said}` };
  return await on.ask('POST', '/api/comment', { key: buyer.key, body });
}

async function signFor(listing: bigint) {
  return await signProof(world.chain, payer, {
    payTo: WORLD_ACCOUNTS.sellerOne.address,
    units: 2_500_000n,
    resource: `${BASE_URL}/api/buy/${listing}`,
  });
}

async function buy(listing: bigint): Promise<void> {
  const proof = await signFor(listing);
  await world.buy(listing, { key: buyer.key, proof: proof.v2 });
  await world.finalize();
  const answer = await world.buy(listing, { key: buyer.key, proof: proof.v2 });
  expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
}

const shelf = async (): Promise<bigint[]> =>
  ((await world.ask('GET', '/api/shelves')).body['listings'] as { id: number }[]).map(({ id }) => BigInt(id));
const newestEvent = async (): Promise<number> =>
  ((await world.ask('GET', '/api/events')).body['events'] as { id: number }[])[0]?.id ?? 0;
const ready = async (query = ''): Promise<Answer> => world.ask('GET', `/readyz${query}`);
const logged = (event: string): number => world.logLines.filter((line) => line.event === event).length;

async function expectStopped(): Promise<void> {
  const refused = { status: 503, body: { reason: 'history_lost', do_not_pay_again: true, retry: 'same_request' } };
  const proof = await signFor(1n);
  const settles = world.facilitator.lines.length;
  const asked: Answer[] = [
    await world.buy(1n),
    await world.buy(1n, { proof: proof.v2 }),
    await world.buy(1n, { key: buyer.key, proof: proof.v2 }),
    await world.ask('POST', '/api/purchase-intent/1', { key: buyer.key, body: {} }),
    await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods() }),
    await world.ask('POST', '/api/vote', { key: buyer.key, body: { listing_id: 1 } }),
    await world.ask('GET', '/api/me', { key: buyer.key }),
    await world.ask('GET', '/api/purchases', { key: buyer.key }),
    await world.ask('GET', `/api/payment?payer=${proof.authorization.from}&nonce=${proof.authorization.nonce}`),
    // This key is unknown, like the key of a merchant who joined in the lost period.
    await world.ask('GET', '/api/me', { key: `aisle_sk_${'0'.repeat(43)}` }),
  ];
  for (const answer of asked) expect(answer).toMatchObject(refused);
  expect(asked.map(({ headers }) => headers.get('retry-after'))).toEqual(asked.map(() => '60'));
  expect(world.facilitator.lines.length).toBe(settles);
  expect(await ready()).toMatchObject({
    status: 200,
    body: { history: 'lost', payments: 'halted', why: 'history_lost' },
  });
  expect(await ready('?strict')).toMatchObject({ status: 503, body: { history: 'lost' } });
}

test('at the promotion of a standby that lagged every process stops at once, and shows what is left', async () => {
  const place = await history.newHost();
  const other = await history.startMarket({ logCopy: place });
  const kept = await list();
  const standby = await history.startStandby();
  await standby.pauseStreaming();
  const lost = await list();
  await buy(kept);
  await waitForCopy(world, place);
  const newest = await newestEvent();
  expect(await shelf()).toEqual([lost, kept]);
  await history.primary.kill();
  await standby.promote();
  history.leadTo(standby);
  // The first query to the new server detects the change, whichever query it is.
  const first = await world.buy(kept, { key: buyer.key });
  expect(first).toMatchObject({ status: 503, body: { do_not_pay_again: true } });
  await until(async () => (await ready()).body['history'] === 'lost');
  await expectStopped();
  await until(async () => (await other.ask('GET', '/readyz')).body['history'] === 'lost');
  expect(await other.buy(kept, { key: buyer.key })).toMatchObject({ status: 503, body: { reason: 'history_lost' } });
  await until(async () => (await shelf()).join() === String(kept));
  expect((await world.ask('GET', `/api/listing/${lost}`)).status).toBe(404);
  expect(await newestEvent()).toBeLessThan(newest);
  // A write that bypasses the market's check fails at the database's.
  await expect(
    history.db.database.run(
      sql`insert into events (kind, at, canonical, in_door, in_window) values ('vote', now(), '{}', false, false)`,
    ),
  ).rejects.toMatchObject({ constraint: 'history_is_whole' });
  await expect(history.db.database.run(sql`update payments set updated_at = now()`)).rejects.toMatchObject({
    constraint: 'history_is_whole',
  });
});

test('a market that starts on a restored database has noticed before it serves', async () => {
  const place = await history.newHost();
  const writer = await history.startMarket({ logCopy: place });
  await list();
  const backup = await history.primary.copyWhileRunning();
  await list();
  await waitForCopy(writer, place);
  await writer.running.stop({ drainMs: 0 });
  await history.primary.kill();
  await backup.start();
  history.leadTo(backup);
  world = await history.startMarket({ logCopy: place });
  await expectStopped();
  expect(logged('history_lost')).toBeLessThanOrEqual(1);
  const { database } = history.db;
  expect(await database.rows(sql`select recovered_by from history_losses`)).toEqual([{ recovered_by: null }]);
  // A host without a copy learns of the loss too.
  world = await history.startMarket();
  await expectStopped();
});

test('other content under the ids of before is noticed as well, though the log is no shorter', async () => {
  const place = await history.newHost();
  const writer = await history.startMarket({ logCopy: place });
  const listing = await list();
  const backup = await history.primary.copyWhileRunning();
  await comment(listing);
  await waitForCopy(writer, place);
  const newest = await newestEvent();
  await writer.running.stop({ drainMs: 0 });
  await world.running.stop({ drainMs: 0 });
  await history.primary.kill();
  await backup.start();
  history.leadTo(backup);
  // A market that does not remember the ids reuses them.
  world = await history.startMarket();
  expect((await ready()).body).toMatchObject({ history: 'whole' });
  await comment(listing);
  await comment(listing);
  await world.running.eventsSettled();
  expect(await newestEvent()).toBeGreaterThan(newest);
  world = await history.startMarket({ logCopy: place });
  await expectStopped();
});

test('no false alarm: a crash, a failover without loss, a standby that lags in showing, a database that has moved, clocks', async () => {
  const place = await history.newHost();
  const options = {
    logCopy: place,
    clock: { now: () => Date.now() - 3_000_000, sleep: world.running.market.clock.sleep },
  };
  const remembering = await history.startMarket({ logCopy: place });
  await list();
  await waitForCopy(remembering, place);
  const whole = async (on: World): Promise<void> => {
    await until(async () => (await on.ask('GET', '/readyz')).body['status'] === 'ready');
    expect((await on.ask('GET', '/readyz')).body).toMatchObject({ history: 'whole', log_copy: 'kept' });
    expect((await on.ask('GET', '/api/me', { key: seller.key })).status).toBe(200);
  };
  // The server crashes and restarts.
  await history.primary.kill();
  await history.primary.start();
  await whole(remembering);
  // A standby takes over that has all data but has not replayed all of it yet.
  const standby = await history.startStandby();
  await history.primary.makeSynchronous('second');
  await standby.pauseReplay();
  await list();
  await waitForCopy(remembering, place);
  await history.primary.kill();
  await standby.promote();
  history.leadTo(standby);
  await whole(remembering);
  await list();
  await waitForCopy(remembering, place);
  await remembering.running.stop({ drainMs: 0 });
  // The server moves to another machine, whose clock is off by most of an hour.
  const moved = await standby.copyWhileRunning();
  await standby.stop();
  await moved.startOnNewTimeline();
  history.leadTo(moved);
  const again = await history.startMarket(options);
  await whole(again);
  const { database } = history.db;
  expect(await database.rows(sql`select from history_losses`)).toEqual([]);
});

test('a standby that is connected to proves nothing', async () => {
  const place = await history.newHost();
  const writer = await history.startMarket({ logCopy: place });
  const listing = await list();
  const standby = await history.startStandby();
  await standby.pauseReplay();
  await comment(listing);
  await waitForCopy(writer, place);
  history.leadTo(standby);
  await until(async () => (await comment(listing, writer)).status >= 500);
  history.leadTo(history.primary);
  await until(async () => (await comment(listing, writer)).status === 201);
  const direct = await openDatabase({ url: history.primary.url, poolSize: 1 });
  expect(await direct.rows(sql`select from history_losses`)).toEqual([]);
  await direct.close();
});
