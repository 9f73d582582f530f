import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import {
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { callTool, type Era, unfenced } from '../support/mcp-ask.ts';
import { seedListing, seedMerchant } from '../support/seed.ts';

let world: World;
let seller: Member;
let buyer: Member;
beforeAll(async () => {
  world = await startWorld({ reconcileEveryMs: 200 });
  // Merchant 1 is the maintainer, who lists without a fee.
  await world.join('first');
  seller = await world.join('seller');
  buyer = await world.join('buyer');
});
afterAll(() => world.stop());

const GOODS = 'line one\r\n\tline two \u00e9 \ud83d\udce6';
const payer = WORLD_ACCOUNTS.buyerOne;

async function goods(artifact: string | Buffer = GOODS) {
  const seeded = await seedListing(world.db.database, seller.id, { priceUnits: 2_000_000n, artifact });
  await world.running.eventsSettled();
  return { ...seeded, id: Number(seeded.id) };
}
const payload = ({ v1, v2 }: SignedProof, version: 1 | 2): unknown =>
  JSON.parse(Buffer.from((version === 1 ? v1 : v2).value, 'base64').toString('utf8'));
const proofFor = (wallet: Hex): Promise<SignedProof> =>
  signProof(world.chain, payer, { payTo: wallet, units: 2_000_000n });

it.each([
  ['modern', 1],
  ['legacy', 2],
] as [Era, 1 | 2][])(
  'with a key: asked in version 2, paid once, delivered byte for byte (%s, proof of version %i)',
  async (era, version) => {
    const lamp = await goods();
    const asked = await callTool(world, 'buy', { id: lamp.id }, { era, key: buyer.key });
    expect(asked).toMatchObject({ isError: true });
    expect(asked.meta).not.toHaveProperty('openaisle/untrusted');
    expect(asked.body).toMatchObject({
      x402Version: 2,
      reason: 'payment_required',
      do_not_pay_again: false,
      resource: { url: `http://127.0.0.1:4020/api/buy/${lamp.id}` },
      accepts: [{ scheme: 'exact', network: 'eip155:8453', amount: '2000000' }],
    });
    const proof = await proofFor(lamp.wallet);
    const meta = { 'x402/payment': payload(proof, version) };
    const pending = await callTool(world, 'buy', { id: lamp.id }, { era, key: buyer.key, meta });
    expect(pending.body).toMatchObject({ do_not_pay_again: true });
    await world.finalize();
    const done = await callTool(world, 'buy', { id: lamp.id }, { era, key: buyer.key, meta });
    expect(done.body).toMatchObject({ artifact: GOODS, artifact_encoding: 'utf-8' });
    expect(done.isError).toBe(false);
    expect(done.meta).toMatchObject({ 'openaisle/untrusted': true, 'x402/payment-response': { success: true } });
    expect(JSON.parse(unfenced(done.text))).toEqual(done.body);
    const salted = createHash('sha256')
      .update(Buffer.from(String(done.body['artifact_salt']).slice(2), 'hex'))
      .update(GOODS);
    const listing = await callTool(world, 'read_listing', { id: lamp.id });
    expect(listing.body['listing']).toMatchObject({ artifact_commitment: `0x${salted.digest('hex')}` });
    const again = await callTool(world, 'buy', { id: lamp.id }, { era, key: buyer.key });
    expect(again.body).toMatchObject({ artifact: GOODS });
    expect(await paidUnits(world.chain, payer.address, lamp.wallet)).toEqual([2_000_000n]);
    const mine = await callTool(world, 'my_purchases', { limit: 1 }, { era, key: buyer.key });
    expect(mine.body['purchases']).toMatchObject([{ listing_id: lamp.id }]);
  },
);

it('who follows along waits in one call, with progress, and the token of a buyer without a key is not lost on the way', async () => {
  const lamp = await goods();
  const proof = await proofFor(lamp.wallet);
  const meta = { 'x402/payment': payload(proof, 2), progressToken: 'follow' };
  // Finalize only after an event, so nothing else can end the wait.
  let isFinal = false;
  const onEvent = async (): Promise<void> => {
    if (isFinal || (await paidUnits(world.chain, payer.address, lamp.wallet)).length === 0) return;
    isFinal = true;
    await world.finalize();
  };
  const done = await callTool(world, 'buy', { id: lamp.id }, { meta, onEvent });
  expect(done.body).toMatchObject({ artifact: GOODS });
  expect(done.before.length).toBeGreaterThan(0);
  expect(done.before[0]).toMatchObject({ method: 'notifications/progress', params: { progressToken: 'follow' } });
  const token = done.meta['openaisle/delivery-token'];
  expect(token).toMatch(/^[A-Za-z0-9_-]{40,}$/);
  const later = await callTool(world, 'buy', { id: lamp.id }, { meta: { 'openaisle/delivery-token': token } });
  expect(later.body).toMatchObject({ artifact: GOODS });
  const proven = await callTool(world, 'buy', { id: lamp.id }, { meta: { 'x402/payment': payload(proof, 2) } });
  expect(proven.body).toMatchObject({ reason: 'sign_to_collect', do_not_pay_again: true });
  expect(await paidUnits(world.chain, payer.address, lamp.wallet)).toEqual([2_000_000n]);
});

it('listing: a dry run, the 402 to the treasury, and one listing however often it is asked for', async () => {
  const body = {
    ...{
      title: 'Made by a tool',
      description: 'What it is',
      preview: 'A look',
      artifact: `goods ${'of words '.repeat(40)}`,
    },
    ...{ price_usdc: 0.25, seller_wallet: WORLD_ACCOUNTS.sellerOne.address, tags: ['one'], aisle: 'tools' },
  };
  const dry = await callTool(world, 'list_item', { ...body, dry_run: true }, { key: seller.key });
  expect(dry.body).toEqual({ dry_run: true, would_cost_usdc: 1 });
  const asked = await callTool(world, 'list_item', body, { key: seller.key });
  expect(asked.body).toMatchObject({
    x402Version: 2,
    accepts: [{ amount: '1000000', payTo: checksummed(WORLD_ACCOUNTS.treasury.address) }],
  });
  const proof = await signProof(world.chain, WORLD_ACCOUNTS.sellerOne, {
    payTo: WORLD_ACCOUNTS.treasury.address,
    units: 1_000_000n,
  });
  const meta = { 'x402/payment': payload(proof, 2) };
  const pending = await callTool(world, 'list_item', body, { key: seller.key, meta });
  expect(pending.body).toMatchObject({ do_not_pay_again: true });
  await world.finalize();
  const listed = await callTool(world, 'list_item', body, { key: seller.key, meta });
  expect(listed.isError).toBe(false);
  const again = await callTool(world, 'list_item', body, { key: seller.key });
  expect(again.body['listing_id']).toBe(listed.body['listing_id']);
  expect(await paidUnits(world.chain, WORLD_ACCOUNTS.sellerOne.address, WORLD_ACCOUNTS.treasury.address)).toEqual([
    1_000_000n,
  ]);
});

it('what is no proof is refused before anybody is asked', async () => {
  const lamp = await goods();
  for (const proof of ['text', { x402Version: 3 }, null, []]) {
    const refused = await callTool(world, 'buy', { id: lamp.id }, { meta: { 'x402/payment': proof } });
    expect(refused).toMatchObject({ isError: true, body: { reason: 'malformed_proof', do_not_pay_again: false } });
  }
  const huge = { x402Version: 2, payload: 'x'.repeat(20_000) };
  const refused = await callTool(world, 'buy', { id: lamp.id }, { meta: { 'x402/payment': huge } });
  expect(refused.body).toMatchObject({ reason: 'headers_too_large' });
});

it('goods that hold what looks like a key are not handed over by a tool, nor altered', async () => {
  // Use a prefix that the suite's secret watch does not know, because this key may appear in goods.
  const other = await startWorld({ keyPrefix: 'shop' });
  try {
    const owner = await seedMerchant(other.db.database);
    const secret = makeMerchantKey(systemRandom, 'shop');
    const { id } = await seedListing(other.db.database, owner.id, { priceUnits: 0n, artifact: `use ${secret} for it` });
    await other.running.eventsSettled();
    const refused = await callTool(other, 'buy', { id: Number(id) });
    expect(refused.body).toMatchObject({
      reason: 'not_by_tool',
      do_not_pay_again: true,
      fetch_at: `http://127.0.0.1:4020/api/buy/${id}`,
    });
    expect(refused.text).not.toContain(secret);
    expect((await other.buy(id)).body['artifact']).toBe(`use ${secret} for it`);
  } finally {
    await other.stop();
  }
});
