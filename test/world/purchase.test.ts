import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { BASE_URL, paidUnits, signProof } from '../support/market-world.ts';
import { testTrade } from '../support/trade.ts';

const { buyerOne, buyerTwo, sellerOne } = WORLD_ACCOUNTS;
const { world, buyer, goods } = testTrade();

describe('buying by x402', () => {
  it('asks with one 402 that both versions can read', async () => {
    const { id } = await goods();
    const answer = await world.buy(id);
    expect(answer.status).toBe(402);
    expect(answer.body).toMatchObject({ x402Version: 1, reason: 'payment_required', do_not_pay_again: false });
    const header = JSON.parse(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString());
    expect(header).toMatchObject({ x402Version: 2, resource: { url: `${BASE_URL}/api/buy/${id}` } });
    expect(header.accepts[0]).toMatchObject({ network: 'eip155:8453', amount: '2500000' });
  });

  for (const version of ['v1', 'v2'] as const) {
    it(`delivers to a merchant with a key only once the transfer is final (${version})`, async () => {
      const { id, artifact, terms } = await goods();
      const proof = await signProof(world.chain, buyerOne, terms);
      const pending = await world.buy(id, { key: buyer.key, proof: proof[version] });
      expect([pending.status, pending.body['status']]).toEqual([202, 'payment_pending']);
      expect(JSON.stringify(pending.body)).not.toContain(artifact);
      expect(pending.body).not.toHaveProperty('delivery_token');
      const again = await world.buy(id, { key: buyer.key });
      expect(again.status).toBe(202);
      await world.finalize();
      const delivered = await world.buy(id, { key: buyer.key, proof: proof[version] });
      expect(delivered.status).toBe(200);
      expect(delivered.body).toMatchObject({ artifact, do_not_pay_again: true, purchase: { verified_via: 'x402' } });
      const stranger = await world.buy(id, { proof: proof[version] });
      expect([stranger.status, stranger.body['reason']]).toEqual([409, 'sign_to_collect']);
    });
  }

  it('delivers to a wallet without an account by token, and by a fresh signature that is never settled', async () => {
    const { id, artifact, terms } = await goods();
    const before = await paidUnits(world.chain, buyerTwo.address, sellerOne.address);
    const proof = await signProof(world.chain, buyerTwo, terms);
    const pending = await world.buy(id, { proof: proof.v1 });
    expect(pending.status).toBe(202);
    const token = String(pending.body['delivery_token']);
    const second = await world.buy(id, { proof: proof.v1 });
    expect(second.status).toBe(202);
    expect(second.body).not.toHaveProperty('delivery_token');
    await world.finalize();
    const byToken = await world.buy(id, { headers: { 'x-delivery-token': token } });
    expect([byToken.status, byToken.body['artifact']]).toEqual([200, artifact]);
    const asked = await world.buy(id, { body: { collect: true } });
    expect(asked.status).toBe(402);
    const fresh = await signProof(world.chain, buyerTwo, terms);
    const bySignature = await world.buy(id, { body: { collect: true }, proof: fresh.v2 });
    expect([bySignature.status, bySignature.body['artifact']]).toEqual([200, artifact]);
    const buyingAgain = await world.buy(id, { proof: fresh.v1 });
    expect(buyingAgain.status).toBe(200);
    const after = await paidUnits(world.chain, buyerTwo.address, sellerOne.address);
    expect(after.length - before.length).toBe(1);
  });
});
