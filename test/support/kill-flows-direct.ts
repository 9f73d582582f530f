import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Claiming, feePayment, type ShownIntent, signChallenge, transfer } from './direct.ts';
import { checkSale, eventsAbout, type Flow, retryUntilDone } from './kill-flows.ts';
import { checkAlso, countFeesAndListings, uploadForKill } from './kill-flows-x402.ts';
import { type KillGoods, type KillWorld, SELLER } from './kill-world.ts';
import { type Answer, type Member, paidUnits } from './market-world.ts';
import { FEE_TERMS, newGoods, PRICE } from './trade.ts';

const { treasury } = WORLD_ACCOUNTS;

async function openIntent(
  scene: KillWorld,
  given: { path: string; field: string; member: Member; body: object },
): Promise<ShownIntent> {
  const answer = await retryUntilDone(scene, async () => {
    await scene.world.chain.mine();
    return await scene.ask('POST', given.path, { key: given.member.key, body: given.body });
  });
  return answer.body[given.field] as ShownIntent;
}

/** Makes the client's transfer exactly once, even if the market dies meanwhile. */
async function pay(scene: KillWorld, payer: TestAccount, intent: ShownIntent, units: bigint): Promise<Claiming> {
  const { chain } = scene.world;
  const signature = await signChallenge(payer, intent);
  const txHash = await transfer({ chain, ask: scene.ask }, payer, intent.seller_wallet, units);
  return { intent, txHash, signature };
}

async function openTrade(scene: KillWorld, run: number) {
  const [goods, payer, buyer] = [await scene.goods(), await scene.wallet(), await scene.member()];
  const body = run % 2 === 0 ? {} : { payer_wallet: payer.address };
  const open = (): Promise<ShownIntent> =>
    openIntent(scene, { path: `/api/purchase-intent/${goods.id}`, field: 'purchase_intent', member: buyer, body });
  const claim = (claiming: Claiming): Promise<Answer> =>
    scene.ask('POST', `/api/claim/${goods.id}`, { key: buyer.key, body: feePayment(claiming) });
  return { goods, payer, buyer, open, claim };
}

async function checkTrade(scene: KillWorld, goods: KillGoods, payer: TestAccount): Promise<void> {
  await checkSale(scene, { listingId: goods.id, from: payer.address, to: SELLER.address, units: PRICE });
  // A repeated request finds the intent whose answer was lost, so there is never a second one.
  const intents = sql`select from payment_intents where listing_id = ${goods.id}`;
  expect(await scene.world.db.database.rows(intents)).toHaveLength(1);
}

/** Alternates between intents with and without a named payer, and between transfers final before and after the claim. */
export const buyDirectly: Flow = async (scene, run) => {
  const { goods, payer, open, claim } = await openTrade(scene, run);
  return {
    act: async () => {
      const paid = await pay(scene, payer, await open(), PRICE);
      if (run % 4 >= 2) await scene.world.finalize();
      const answer = await retryUntilDone(scene, () => claim(paid));
      expect(answer.body).toMatchObject({ artifact: goods.artifact });
    },
    check: () => checkTrade(scene, goods, payer),
  };
};

/** Claims before finality. The background job must then deliver without further requests. */
export const deliverClaimUnasked: Flow = async (scene, run) => {
  const { goods, payer, open, claim } = await openTrade(scene, run);
  const paid = await pay(scene, payer, await open(), PRICE);
  expect(await claim(paid)).toMatchObject({ status: 202 });
  const status = async (): Promise<unknown> => {
    const { body } = await scene.ask('GET', `/api/payment?intent_id=${paid.intent.id}`);
    return (body['payment'] as Record<string, unknown> | undefined)?.['payment_status'];
  };
  return {
    act: async () => {
      await scene.world.finalize();
      await expect.poll(status, { timeout: 20_000, interval: 50 }).toBe('completed');
      expect(await claim(paid)).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    },
    check: () => checkTrade(scene, goods, payer),
  };
};

/** Pays before the market may die. In some runs the claimed transfer is already final. */
export const claimDirectly: Flow = async (scene, run) => {
  const { goods, payer, buyer, open, claim } = await openTrade(scene, run);
  const paid = await pay(scene, payer, await open(), PRICE);
  if (run % 4 >= 2) await scene.world.finalize();
  return {
    act: async () => {
      expect((await retryUntilDone(scene, () => claim(paid))).body).toMatchObject({ artifact: goods.artifact });
      const again = await scene.ask('POST', `/api/buy/${goods.id}`, { key: buyer.key });
      expect(again).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    },
    check: () => checkTrade(scene, goods, payer),
  };
};

export const listByTransfer: Flow = async (scene, run) => payByTransfer(scene, run, await scene.member(), newGoods());

/** Lists goods that were uploaded before. */
export const listUploadByTransfer: Flow = async (scene, run) => {
  const member = await scene.member();
  const goods = await uploadForKill(scene, member);
  return checkAlso(await payByTransfer(scene, run, member, goods.body), goods.check);
};

async function payByTransfer(
  scene: KillWorld,
  run: number,
  member: Member,
  body: object & { title: string },
): ReturnType<Flow> {
  const payer = await scene.wallet();
  const named = run % 2 === 0 ? {} : { payer_wallet: payer.address };
  return {
    act: async () => {
      const intent = await openIntent(scene, { path: '/api/fee-intent', field: 'fee_intent', member, body: named });
      const paid = await pay(scene, payer, intent, FEE_TERMS.units);
      if (run % 4 >= 2) await scene.world.finalize();
      const asked = { key: member.key, body: { ...body, fee_payment: feePayment(paid) } };
      const answer = await retryUntilDone(scene, () => scene.ask('POST', '/api/listing', asked));
      expect(answer.body).toMatchObject({ listing: { title: body.title }, fee: { verified_via: 'direct' } });
    },
    check: async () => {
      expect(await paidUnits(scene.world.chain, payer.address, treasury.address)).toEqual([FEE_TERMS.units]);
      const counts = await countFeesAndListings(scene.world, member, body.title);
      expect(counts).toEqual({ fees: 1n, listings: 1n, events: 1n });
    },
  };
}

const TOO_LITTLE = PRICE - 1n;

/** Pays too little. The seller then delivers anyway or refunds the payment. */
export const decideReview: Flow = async (scene, run) => {
  const { goods, payer, open, claim } = await openTrade(scene, run);
  const paid = await pay(scene, payer, await open(), TOO_LITTLE);
  await scene.world.finalize();
  const refused = await claim(paid);
  expect(refused).toMatchObject({ status: 422, body: { payment_status: 'needs_review' } });
  const { id } = refused.body['payment'] as { id: number };
  const outcome = run % 2 === 0 ? 'deliver' : 'refunded';
  return {
    act: async () => {
      const body = outcome === 'deliver' ? { outcome } : { outcome, tx_hash: await payBack(scene, payer) };
      const asked = { key: scene.keeper.key, body };
      const answer = await retryUntilDone(scene, async () => {
        const said = await scene.ask('POST', `/api/review/${id}`, asked);
        // The decision was recorded but its answer was lost, so read the public status.
        return said.body['reason'] === 'already_decided'
          ? await scene.ask('GET', `/api/payment?intent_id=${paid.intent.id}`)
          : said;
      });
      expect(answer.body).toMatchObject({ payment: { id, outcome } });
      if (outcome === 'deliver') expect((await claim(paid)).body).toMatchObject({ artifact: goods.artifact });
    },
    check: () => checkReview(scene, { id, goods, payer, outcome }),
  };
};

async function payBack(scene: KillWorld, payer: TestAccount): Promise<string> {
  const { chain, finalize } = scene.world;
  const txHash = await transfer({ chain, ask: scene.ask }, SELLER, payer.address, TOO_LITTLE);
  await finalize();
  return txHash;
}

async function checkReview(
  { world }: KillWorld,
  { id, goods, payer, outcome }: { id: number; goods: KillGoods; payer: TestAccount; outcome: string },
): Promise<void> {
  const isSold = outcome === 'deliver';
  expect(await paidUnits(world.chain, payer.address, SELLER.address)).toEqual([TOO_LITTLE]);
  expect(await paidUnits(world.chain, SELLER.address, payer.address)).toEqual(isSold ? [] : [TOO_LITTLE]);
  const { database } = world.db;
  const rows = sql`select review_outcome from payments where id = ${id}`;
  expect(await database.one(rows)).toEqual({ review_outcome: outcome });
  expect(await database.rows(sql`select from purchases where listing_id = ${goods.id}`)).toHaveLength(isSold ? 1 : 0);
  expect(await eventsAbout(world, 'review', goods.id)).toBe(1);
  expect(await eventsAbout(world, 'sale', goods.id)).toBe(isSold ? 1 : 0);
}
