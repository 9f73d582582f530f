import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { audit } from '../audit/audit.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { fundedWallet, newGoods } from '../support/trade.ts';

// A stranger opens payments and never pays. The seller can still edit the listing, and a buyer who did pay is never told to pay again.

const { sellerOne } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const LIFE_SECONDS = 22;
let facilitator: ScriptedFacilitator;
let world: World;
let seller: Member;
let buyer: Member;
/** Offset of the market's clock from real time, in milliseconds. */
let aheadMs = 0;
const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };

beforeAll(async () => {
  facilitator = await startScriptedFacilitator();
  world = await startWorld({ facilitatorUrl: facilitator.url, clock });
  // Merchant 1 is the maintainer, who lists without a fee.
  seller = await world.join('the-keeper');
  buyer = await world.join('buyer-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator?.close();
});

async function listGoods(): Promise<bigint> {
  const { body } = await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods() });
  return BigInt(Number(body['listing_id']));
}

const edit = (id: bigint, preview: string): Promise<Answer> =>
  world.ask('PATCH', `/api/listing/${id}`, { key: seller.key, body: { preview } });

async function sign(id: bigint, secondsAhead = 120): Promise<SignedProof> {
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}`, secondsAhead };
  return await signProof(world.chain, await fundedWallet(world), terms);
}

async function stageOf({ authorization: { from, nonce } }: SignedProof): Promise<Record<string, unknown>> {
  const { body } = await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`);
  return body['payment'] as Record<string, unknown>;
}

async function settleEverything(): Promise<void> {
  await world.finalize();
  await world.running.payments.reconcileOnce();
}

describe('an edit while a stranger holds payments open', () => {
  it('goes through every time, however many there are, and an honest buyer buys what it says now', async () => {
    facilitator.script({ verify: 'invalid', settle: 'garbage' });
    const id = await listGoods();
    for (let round = 0; round < 3; round += 1) {
      const proofs = await Promise.all(Array.from({ length: 12 }, () => sign(id)));
      const answers = await Promise.all(proofs.map((proof) => world.buy(id, { proof: proof.v2 })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      expect((await edit(id, `edited ${round}`)).status).toBe(200);
    }
    const honest = await sign(id);
    facilitator.scriptFor(honest.authorization.nonce, {
      verify: 'forward',
      settle: 'forward',
      to: world.facilitator.url,
    });
    expect((await world.buy(id, { proof: honest.v2 })).status).toBe(202);
    await settleEverything();
    expect((await world.buy(id, { proof: honest.v2 })).body['do_not_pay_again']).toBe(true);
    expect(await stageOf(honest)).toMatchObject({ payment_status: 'completed' });
  });

  it('a facilitator that settles all the same: the seller decides on it, and the buyer is never told to pay again', async () => {
    const id = await listGoods();
    const proof = await sign(id);
    // This facilitator submits the payment although it is only asked to verify it, after the edit.
    facilitator.script({ verify: 'settle_then_invalid', settle: 'garbage', to: world.facilitator.url });
    facilitator.before('verify', async () => {
      expect((await edit(id, 'changed before it was settled')).status).toBe(200);
    });
    const answers = [await world.buy(id, { key: buyer.key, proof: proof.v2 })];
    await settleEverything();
    answers.push(await world.buy(id, { key: buyer.key }), await world.buy(id, { key: buyer.key, proof: proof.v2 }));
    expect(answers.map(({ status }) => status)).not.toContain(402);
    expect(answers.map(({ body }) => body['do_not_pay_again'])).toEqual([true, true, true]);
    const stage = await stageOf(proof);
    expect(stage).toMatchObject({ payment_status: 'needs_review', outcome: 'listing_changed', do_not_pay_again: true });
    const { body } = await world.ask('GET', '/api/me', { key: seller.key });
    expect(body['reviews']).toMatchObject([{ reason: 'listing_changed', received_usdc: 2.5 }]);
    const review = await world.ask('POST', `/api/review/${stage['id']}`, {
      key: seller.key,
      body: { outcome: 'deliver' },
    });
    expect(review.status).toBe(200);
    expect((await world.buy(id, { key: buyer.key })).status).toBe(200);
    expect(await paidUnits(world.chain, proof.authorization.from, sellerOne.address)).toEqual([PRICE]);
  });

  it('once its authorization has run out the buyer signs again, for what the listing says now', async () => {
    facilitator.script({ verify: 'invalid', settle: 'garbage' });
    const id = await listGoods();
    const proof = await sign(id, LIFE_SECONDS);
    await world.buy(id, { key: buyer.key, proof: proof.v2 });
    expect((await edit(id, 'what is sold now')).status).toBe(200);
    const waiting = await world.buy(id, { key: buyer.key });
    expect([waiting.status, waiting.body['reason']]).toEqual([409, 'listing_changed']);
    aheadMs += LIFE_SECONDS * 1_000;
    await world.chain.rpc.call('evm_increaseTime', [LIFE_SECONDS]);
    const statusLater = async (): Promise<unknown> => {
      await world.chain.mine();
      await world.running.payments.reconcileOnce();
      return (await stageOf(proof))['payment_status'];
    };
    await expect.poll(statusLater).toBe('unpaid');
    expect((await world.buy(id, { key: buyer.key })).status).toBe(402);
    const books = await audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS });
    expect(books.faults).toEqual([]);
  });
});
