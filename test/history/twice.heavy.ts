import { afterEach, beforeEach, expect, test } from 'vitest';
import { recover } from '../../src/market/recovery/recover.ts';
import { filesAt, readCopies } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { countRows } from '../support/database.ts';
import {
  type HistoryWorld,
  loseTo,
  openHistoryWorld,
  recoverHistory,
  until,
  waitForCopy,
} from '../support/history-world.ts';
import type { Member, World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods } from '../support/trade.ts';
import { collect, openByX402, withSlip } from './lost-buyers.ts';

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let seller: Member;
let buyer: Member;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterEach(() => history.stop());

async function list(on: World): Promise<bigint> {
  const { body } = await listPaid(on, seller, newGoods(), await fundedWallet(on));
  return BigInt((body['listing'] as { id: number }).id);
}

test('where an id was given out twice, a slip gives nothing of what has it now', async () => {
  await list(world);
  const backup = await history.primary.copyWhileRunning();
  const lost = await list(world);
  const made = await openByX402({ world, seller }, lost, buyer.key);
  await world.finalize();
  await collect({ world, seller }, made);
  await waitForCopy(world, place);
  await history.primary.kill();
  await backup.start();
  await world.running.stop({ drainMs: 0 });
  history.leadTo(backup);
  // A host that does not remember the ids does not notice the loss and reuses them.
  const { chain, facilitator, finalize } = world;
  const there = { rpcUrl: () => chain.url, facilitatorUrl: facilitator.url };
  const forgetful: World = { ...(await history.startMarket(there)), chain, finalize };
  const again = await list(forgetful);
  expect(again).toBe(lost);
  await forgetful.running.eventsSettled();

  // The operator learns of the loss and has the other host's copies.
  const copied = await readCopies(await filesAt([place.folder]));
  await recover(forgetful.running.market, { fromBlock: 0n, reason: 'found out later', copied });
  await until(async () => (await forgetful.ask('GET', '/readyz?strict')).status === 200);
  const before = await countRows(history.db.database);
  const asked = await forgetful.buy(lost, withSlip(made, { key: buyer.key }));
  expect([asked.status, asked.body['artifact']]).toEqual([402, undefined]);
  expect(await countRows(history.db.database)).toEqual(before);
  expect(await list(forgetful)).toBeGreaterThan(lost + 1_000n);
});

test('history that is lost twice is recovered twice, with all copies there are', async () => {
  const kept = await list(world);
  const [early, late] = [await history.primary.copyWhileRunning(), await openLate()];
  expect(late.listing).toBeGreaterThan(kept);
  await loseTo(early, { history, world, place });
  await recoverHistory(world, place);
  const first = await list(world);
  expect(first).toBeGreaterThan(late.listing + 1_000n);

  // The second recovery loses the sales made since the first.
  const backup = await early.copyWhileRunning();
  const made = await openByX402({ world, seller }, first, buyer.key);
  await world.finalize();
  await collect({ world, seller }, made);
  const second = await list(world);
  await waitForCopy(world, place);
  await early.kill();
  await backup.start();
  history.leadTo(backup);
  await until(async () => (await world.ask('GET', '/readyz')).body['history'] === 'lost');
  await recoverHistory(world, place);

  for (const slip of [late.made, made]) {
    const asked = await world.buy(slip.listing, withSlip(slip, { key: buyer.key }));
    expect([asked.status, asked.body['reason']]).toEqual(
      slip.listing === first ? [200, undefined] : [409, 'listing_lost'],
    );
  }
  expect(await list(world)).toBeGreaterThan(second + 1_000n);
});

async function openLate() {
  const listing = await list(world);
  const made = await openByX402({ world, seller }, listing, buyer.key);
  await world.finalize();
  return { listing, made: await collect({ world, seller }, made) };
}

test('a backup that is older than a recovery gives out no id of before or after it', async () => {
  await list(world);
  const [first, second] = [await history.primary.copyWhileRunning(), await history.primary.copyWhileRunning()];
  const fees = async () =>
    ((await world.ask('GET', '/treasury')).body as { recent_fees: { id: number }[] }).recent_fees[0]?.id ?? 0;
  await list(world);
  await loseTo(first, { history, world, place });
  await recoverHistory(world, place);
  await list(world);
  const shown = await fees();
  await waitForCopy(world, place);
  await first.kill();
  await second.start();
  history.leadTo(second);
  await until(async () => (await world.ask('GET', '/readyz')).body['history'] === 'lost');
  await recoverHistory(world, place);
  await list(world);
  expect(await fees()).toBeGreaterThan(shown);
});
