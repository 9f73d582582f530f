import { afterAll, beforeAll, expect, it } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { createMarket } from '../../src/market/create-market.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { feePayment, openIntent, signChallenge } from '../support/direct.ts';
import { askMarket, paidUnits, startWorld, TEST_PEPPER, type World } from '../support/market-world.ts';
import { recordingLog } from '../support/recording-log.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';
import { fundedWallet, listGoods, newGoods, signFee } from '../support/trade.ts';

let facilitator: ScriptedFacilitator;
let world: World;
beforeAll(async () => {
  facilitator = await startScriptedFacilitator();
  world = await startWorld({ facilitatorUrl: facilitator.url });
  await world.join('the-keeper');
});
afterAll(async () => {
  await world?.stop();
  await facilitator?.close();
});

/** Restarts the market with another fee wallet, as its operator might. */
async function restart(treasury: `0x${string}`) {
  const database = await openDatabase({ url: world.db.url, poolSize: 4, allowUnsafe: true });
  const running = createMarket({
    config: { ...world.running.market.config, treasury },
    database,
    clock: systemClock,
    random: systemRandom,
    log: recordingLog().log,
    pepper: TEST_PEPPER,
    reconcileEveryMs: 3_600_000,
    watchEveryMs: 3_600_000,
  });
  const { url } = await running.start();
  return {
    url,
    stop: async () => {
      await running.stop({ drainMs: 0 });
      await database.close();
    },
  };
}

it('a fee under way keeps the terms it was opened with, though the treasury is another one by now', async () => {
  facilitator.script({ verify: 'garbage', settle: 'garbage' });
  const [member, payer, body] = [await world.join('seller-one'), await fundedWallet(world), newGoods()];
  const proof = await signFee(world, payer);
  const begun = await listGoods(world, member, body, { proof: proof.v2 });
  expect([begun.status, begun.body['reason']]).toEqual([503, 'verification_pending']);

  const other = testAccount('another treasury').address;
  const restarted = await restart(other);
  try {
    facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
    const asked = { key: member.key, body, proof: proof.v2 };
    const paid = await askMarket(restarted.url, 'POST', '/api/listing', asked);
    expect([paid.status, paid.body['reason']]).toEqual([202, undefined]);
    expect(await paidUnits(world.chain, payer.address, WORLD_ACCOUNTS.treasury.address)).toHaveLength(1);
    expect(await paidUnits(world.chain, payer.address, other)).toEqual([]);
    await world.finalize();
    // The market waits for a slow chain only as long as an answer may take. After that the fee is still pending.
    await expect
      .poll(async () => (await askMarket(restarted.url, 'POST', '/api/listing', { key: member.key, body })).status)
      .toBe(201);
  } finally {
    await restarted.stop();
  }
});

it('the intent of a purchase pays no fee', async () => {
  const [seller, buyer] = [await world.join('seller-two'), await world.join('buyer-two')];
  const { id } = await seedListing(world.db.database, seller.id);
  await world.running.eventsSettled();
  const [payer, intent] = [await fundedWallet(world), await openIntent(world, buyer, id)];
  const signature = await signChallenge(payer, intent);
  const fee_payment = feePayment({ intent, signature, txHash: `0x${'cd'.repeat(32)}` });
  const answer = await listGoods(world, buyer, newGoods({ fee_payment }));
  expect([answer.status, answer.body['reason']]).toEqual([409, 'intent_changed']);
});
