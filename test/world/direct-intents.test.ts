import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { testAccount, USDC_ROLES, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import {
  claim,
  createWorldTime,
  feePayment,
  latestSecond,
  nextBlockAt,
  openFeeIntent,
  openIntent,
  payDirectly,
  type ShownIntent,
  secondOf,
  signChallenge,
  statusBy,
} from '../support/direct.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import type { Answer } from '../support/market-world.ts';
import { BASE_URL, signProof } from '../support/market-world.ts';
import { removeListing, seedListing, withdrawListing } from '../support/seed.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 4 } });
const { world, buyer, seller } = trade;
const { sellerOne, sellerTwo, buyerOne, buyerTwo } = WORLD_ACCOUNTS;

const ask = (listingId: bigint, body?: object, key = buyer.key): Promise<Answer> =>
  world.ask('POST', `/api/purchase-intent/${listingId}`, { key, ...(body === undefined ? {} : { body }) });
const shown = (answer: Answer): ShownIntent => answer.body['purchase_intent'] as ShownIntent;

describe('an intent', () => {
  it('says in every field what its challenge says, line by line in the documented order', async () => {
    const { id } = await trade.goods();
    await time.moveOn(world, 0);
    const answer = await ask(id, { payer_wallet: buyerOne.address });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('private, no-store');
    const intent = shown(answer);
    expect(intent).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      listing_id: Number(id),
      buyer: buyer.handle,
      payer_wallet: checksummed(buyerOne.address),
      seller_wallet: checksummed(sellerOne.address),
      network: 'base',
      chain_id: 8453,
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      minimum_amount_usdc: '2.500000',
      minimum_amount_units: '2500000',
      challenge_nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
      recovery_slip: expect.stringMatching(/^rs1_[A-Za-z0-9_-]+$/),
      created_at: new Date((await latestSecond(world)) * 1000).toISOString(),
      expires_at: new Date(((await latestSecond(world)) + 600) * 1000).toISOString(),
      signature_method: 'personal_sign',
      challenge: expect.any(String),
      tip_allowed: true,
      next: expect.stringContaining('/api/claim/:id'),
    });
    expect(intent.challenge.split('\n')).toEqual([
      'service: Openaisle',
      `base_url: ${BASE_URL}`,
      'chain_id: 8453',
      `intent_id: ${intent.id}`,
      'purpose: purchase',
      `listing_id: ${id}`,
      `buyer: ${buyer.handle}`,
      `payer: ${intent.payer_wallet}`,
      `payee: ${intent.seller_wallet}`,
      'asset: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      'minimum_amount_units: 2500000',
      `nonce: ${intent['challenge_nonce']}`,
      `created_at: ${intent.created_at}`,
      `expires_at: ${intent.expires_at}`,
    ]);
    const unnamed = shown(await ask((await trade.goods()).id));
    expect(unnamed.payer_wallet).toBeNull();
    expect(unnamed.challenge).toContain('\npayer: the wallet that signs this text\n');
    expect(await statusBy(world, { intent_id: intent.id })).toMatchObject({
      id: null,
      payment_status: 'unsubmitted',
      stage: 'received',
      do_not_pay_again: false,
    });
  });

  it('is the same one while five minutes of it remain; then a new one opens, and the older is claimable in its own window', async () => {
    const { id, artifact } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const first = await openIntent(world, buyer, id);
    const began = secondOf(first.created_at);
    await time.moveTo(world, began + 290);
    const again = await ask(id);
    expect([again.status, shown(again)]).toEqual([200, first]);
    await time.moveTo(world, began + 300);
    const later = await ask(id);
    expect(later.status).toBe(201);
    expect(shown(later).id).not.toBe(first.id);
    expect(secondOf(shown(later).created_at)).toBe(began + 300);
    // The older intent is in its last second.
    await nextBlockAt(world, began + 599);
    const { transactionHash: txHash } = await usdcAdmin(world.chain).transfer(payer, sellerOne.address, PRICE);
    await time.moveTo(world, began + 700);
    await world.finalize();
    const paid = { intent: first, txHash, signature: await signChallenge(payer, first) };
    expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
  });

  it('with another wallet is refused while one is open; naming one opens a new one, and leaving it out shows that', async () => {
    const { id } = await trade.goods();
    const unnamed = await openIntent(world, buyer, id);
    const named = await ask(id, { payer_wallet: buyerOne.address });
    expect([named.status, shown(named).payer_wallet]).toEqual([201, checksummed(buyerOne.address)]);
    expect(shown(named).id).not.toBe(unnamed.id);
    for (const payer_wallet of [buyerOne.address, checksummed(buyerOne.address)]) {
      const again = await ask(id, { payer_wallet });
      expect([again.status, shown(again)]).toEqual([200, shown(named)]);
    }
    const left = await ask(id);
    expect([left.status, shown(left)]).toEqual([200, shown(named)]);
    const other = await ask(id, { payer_wallet: buyerTwo.address });
    expect(other).toMatchObject({ status: 409, body: { reason: 'other_payer_open', do_not_pay_again: false } });
    // An intent stays open until it expires, including the last minutes in which it is no longer offered.
    await time.moveTo(world, secondOf(shown(named).expires_at) - 5);
    expect(await ask(id, { payer_wallet: buyerTwo.address })).toMatchObject({ status: 409 });
    await time.moveTo(world, secondOf(shown(named).expires_at));
    expect((await ask(id, { payer_wallet: buyerTwo.address })).status).toBe(201);
  });

  it('is one for five requests at once, and blocks neither another buyer nor another path', async () => {
    const { id, terms } = await trade.goods();
    await time.moveOn(world, 0);
    // The table lock stops all five requests after their reads and before the first write.
    const { database } = world.db;
    const held = await holdTransactionOpen(database, (tx) => tx.run(sql`lock table payment_intents in share mode`));
    const asked = Promise.all(Array.from({ length: 5 }, () => ask(id)));
    await untilWaiting(database, 5);
    await held.commit();
    const answers = await asked;
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill(200), 201]);
    expect(new Set(answers.map((answer) => shown(answer).id)).size).toBe(1);
    const other = await world.join('other-buyer');
    expect((await ask(id, {}, other.key)).status).toBe(201);
    const payer = await trade.wallet();
    const proof = await signProof(world.chain, payer, terms);
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  });

  it('of another merchant is as absent as an unknown one', async () => {
    const { id } = await trade.goods();
    const intent = await openIntent(world, buyer, id);
    const other = await world.join('buyer-curious');
    const body = feePayment({
      intent,
      txHash: `0x${'1'.repeat(64)}`,
      signature: await signChallenge(buyerOne, intent),
    });
    const foreign = await world.ask('POST', `/api/claim/${id}`, { key: other.key, body });
    const unknown = await world.ask('POST', `/api/claim/${id}`, {
      key: other.key,
      body: { ...body, intent_id: '0'.repeat(32) },
    });
    const plain = ({ status, body: { request_id: _, ...rest } }: Answer) => ({ status, rest });
    expect(plain(foreign)).toEqual(plain(unknown));
    expect(foreign).toMatchObject({ status: 404, body: { reason: 'intent_not_found', do_not_pay_again: true } });
    expect(await world.ask('GET', `/api/payment?intent_id=${'0'.repeat(32)}`)).toMatchObject({ status: 404 });
  });
});

describe('no intent opens', () => {
  it('for goods that are bought, or while a payment by either path is undecided', async () => {
    const { id, terms } = await trade.goods();
    const payer = await trade.wallet(4n * PRICE, GAS_WEI);
    const proof = await signProof(world.chain, payer, terms);
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    const undecided = { status: 409, body: { reason: 'payment_undecided', do_not_pay_again: true } };
    expect(await ask(id)).toMatchObject(undecided);
    expect((await ask(id)).body).not.toHaveProperty('intent_id');
    const other = await world.join('buyer-with-that-wallet');
    const foreign = await ask(id, { payer_wallet: payer.address }, other.key);
    expect(foreign).toMatchObject(undecided);
    // A caller that only names the wallet must not learn about its payment or its buyer.
    expect(foreign.body).not.toHaveProperty('payment');
    expect((await ask(id)).body).toHaveProperty('payment');
    expect((await ask(id, {}, other.key)).status).toBe(201);
    await world.finalize();
    const bought = { status: 409, body: { reason: 'purchase_exists', do_not_pay_again: true } };
    expect((await world.buy(id, { key: buyer.key })).status).toBe(200);
    expect(await ask(id)).toMatchObject(bought);
    expect(await ask(id, { payer_wallet: payer.address }, other.key)).toMatchObject(bought);
    // Ending the listing hides neither purchase.
    await withdrawListing(world.db.database, id);
    expect(await ask(id)).toMatchObject(bought);
  });

  it('once a claim is accepted, also while it is reviewed: the answer names the intent', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE - 1n });
    expect((await claim(world, buyer, id, paid)).status).toBe(202);
    const undecided = { status: 409, body: { reason: 'payment_undecided', intent_id: paid.intent.id } };
    expect(await ask(id)).toMatchObject(undecided);
    await world.finalize();
    expect((await claim(world, buyer, id, paid)).status).toBe(422);
    expect(await ask(id)).toMatchObject(undecided);
  });

  it("for free goods, one's own goods, a wallet of the seller, or what is no longer for sale", async () => {
    const free = await trade.goods({ units: 0n });
    expect(await ask(free.id)).toMatchObject({
      status: 409,
      body: { reason: 'free_listing', do_not_pay_again: true },
    });
    const { id } = await trade.goods();
    expect(await ask(id, {}, seller.key)).toMatchObject({ status: 403, body: { reason: 'own_goods' } });
    // This wallet belongs to another listing of the same seller.
    await trade.goods({ payTo: sellerTwo.address });
    expect(await ask(id, { payer_wallet: sellerTwo.address })).toMatchObject({
      status: 403,
      body: { reason: 'own_goods' },
    });
    await withdrawListing(world.db.database, id);
    const gone = { status: 404, body: { reason: 'listing_unavailable' } };
    expect(await ask(id)).toMatchObject(gone);
    const removed = await trade.goods();
    await removeListing(world.db.database, removed.id);
    expect(await ask(removed.id)).toMatchObject(gone);
    expect(await ask(999_999n)).toMatchObject(gone);
  });

  it('while chain and clock are more than 30 seconds apart, either way', async () => {
    const { id } = await trade.goods();
    const second = await time.moveOn(world, 0);
    time.shiftMarketClock(25);
    // The chain is behind, so the window starts at the chain's time. A transfer made after this answer is therefore never before the
    // window.
    const behind = await ask(id);
    expect([behind.status, secondOf(shown(behind).created_at)]).toEqual([201, second]);
    const { id: other } = await trade.goods();
    time.shiftMarketClock(10);
    expect(await ask(other)).toMatchObject({
      status: 503,
      body: { reason: 'chain_clock', do_not_pay_again: false, retry: 'same_request' },
    });
    time.shiftMarketClock(-60);
    const before = Math.floor(time.clock.now() / 1000);
    const ahead = await ask(other);
    expect(ahead.status).toBe(201);
    expect(secondOf(shown(ahead).created_at) - before).toBeLessThanOrEqual(1);
    const { id: third } = await trade.goods();
    time.shiftMarketClock(-20);
    expect(await ask(third)).toMatchObject({ status: 503, body: { reason: 'chain_clock' } });
    await time.moveOn(world, 1);
    expect((await ask(third)).status).toBe(201);
  });

  it('while the token is paused, or the payee may not receive', async () => {
    const admin = usdcAdmin(world.chain);
    const { id } = await trade.goods();
    // The market caches what it reads for a minute.
    await time.moveOn(world, 61);
    await admin.pause();
    await time.moveOn(world, 0);
    expect(await ask(id)).toMatchObject({ status: 503, body: { reason: 'usdc_paused', do_not_pay_again: false } });
    await admin.unpause();
    await time.moveOn(world, 61);
    const payee = testAccount('a payee that is blocked');
    await admin.blacklist(payee.address);
    const blocked = await trade.goods({ payTo: payee.address });
    await time.moveOn(world, 0);
    expect(await ask(blocked.id)).toMatchObject({ status: 409, body: { reason: 'payee_cannot_receive' } });
    expect((await ask(id)).status).toBe(201);
  });

  it.each<[string, object, number]>([
    [
      'a wallet with a wrong checksum',
      {
        payer_wallet: checksummed(USDC_ROLES.owner.address)
          .replace(/[a-f]/, (c) => c.toUpperCase())
          .replace(/[A-F]/, (c) => c.toLowerCase()),
      },
      400,
    ],
    ['a wallet that is none', { payer_wallet: '0x12' }, 400],
    ['an unknown field', { payer: buyerOne.address }, 400],
    ['null for a wallet', { payer_wallet: null }, 400],
  ])('for %s', async (_what, body, status) => {
    const { id } = await trade.goods();
    expect((await ask(id, body)).status).toBe(status);
  });

  it('without a key, and a secret in the body is refused before that', async () => {
    const { id } = await trade.goods();
    expect(await world.ask('POST', `/api/purchase-intent/${id}`, { body: {} })).toMatchObject({ status: 401 });
    const path = `/api/purchase-intent/${id}`;
    const secret = await world.ask('POST', path, { body: { payer_wallet: buyer.key } });
    expect(secret).toMatchObject({ status: 400, body: { reason: 'secret_in_payload' } });
    const claimed = await world.ask('POST', `/api/claim/${id}`, {
      key: buyer.key,
      body: { intent_id: buyer.key, tx_hash: '0x', payer_signature: '0x' },
    });
    expect(claimed).toMatchObject({ status: 400, body: { reason: 'secret_in_payload' } });
    expect(JSON.stringify([secret.body, claimed.body])).not.toContain(buyer.key);
  });
});

describe('a claim that does not agree with its intent', () => {
  it('is refused as changed: at another listing, for another purpose, or with a stored challenge that says something else', async () => {
    const { id } = await trade.goods();
    const { id: other } = await trade.goods();
    const intent = await openIntent(world, buyer, id);
    const made = { txHash: `0x${'2'.repeat(64)}`, signature: await signChallenge(buyerOne, intent) };
    const changed = { status: 409, body: { reason: 'intent_changed', do_not_pay_again: true } };
    expect(await claim(world, buyer, other, { intent, ...made })).toMatchObject(changed);
    const fee = await openFeeIntent(world, seller);
    expect(await claim(world, seller, id, { intent: fee, ...made })).toMatchObject(changed);
    await world.db.database.run(sql`alter table payment_intents disable trigger payment_intents_only_grow`);
    await world.db.database.run(
      sql`update payment_intents set challenge = replace(challenge, '2500000', '2500001') where id = ${Buffer.from(intent.id, 'hex')}`,
    );
    await world.db.database.run(sql`alter table payment_intents enable trigger payment_intents_only_grow`);
    expect(await claim(world, buyer, id, { intent, ...made })).toMatchObject(changed);
  });

  it.each<[string, (body: Record<string, unknown>) => Record<string, unknown>]>([
    ['a short hash', (body) => ({ ...body, tx_hash: '0x12' })],
    ['a padded hash', (body) => ({ ...body, tx_hash: ` ${body['tx_hash']}` })],
    ['an intent in upper case', (body) => ({ ...body, intent_id: 'A'.repeat(32) })],
    ['a signature of half a byte', (body) => ({ ...body, payer_signature: '0x123' })],
    ['a signature of 4097 bytes', (body) => ({ ...body, payer_signature: `0x${'12'.repeat(4097)}` })],
    ['an unknown field', (body) => ({ ...body, payer_wallet: buyerOne.address })],
  ])('and one out of form is bad input: %s', async (_what, change) => {
    const body = { intent_id: '1'.repeat(32), tx_hash: `0x${'1'.repeat(64)}`, payer_signature: '0x12' };
    const answer = await world.ask('POST', '/api/claim/1', { key: buyer.key, body: change(body) });
    expect(answer).toMatchObject({ status: 400, body: { error_class: 'bad_input' } });
  });
});

it('no statement changes, deletes or truncates an intent', async () => {
  const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits: PRICE });
  await openIntent(world, buyer, id);
  const { database } = world.db;
  await expect(database.run(sql`update payment_intents set minimum_units = 1`)).rejects.toThrow();
  await expect(database.run(sql`delete from payment_intents`)).rejects.toThrow();
  await expect(database.run(sql`truncate payment_intents cascade`)).rejects.toThrow();
});
