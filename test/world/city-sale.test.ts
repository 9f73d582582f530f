import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import type { OfferOut } from '../../src/contract/world-records.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { reasonOf } from '../support/ask.ts';
import { citySale, PRICE } from './city-sale.ts';

const sale = citySale({ finalityBlocks: 4 });

const ownerOf = async (thingId: bigint): Promise<bigint> =>
  (await sale.db.database.one<{ owner_id: bigint }>(sql`select owner_id from things where id = ${thingId}`)).owner_id;

it('a thing is offered, reserved, paid for and claimed; then it is the buyer’s', async () => {
  const offer = await sale.offer();
  const buyer = await sale.person();
  expect(await sale.read(offer)).toMatchObject({
    phase: 'listed',
    locked: true,
    seller: offer.seller.handle,
    buyer: null,
    market_buyer: null,
    buyer_wallet: null,
    price_usdc: 2.5,
    seller_wallet: checksummed(offer.seller.wallet.address),
    market_draft_id: Number(offer.draftId),
    market_listing_id: null,
    market_checkout_id: null,
    reserved_at: null,
    tx_hash: null,
  } satisfies Partial<OfferOut>);

  const checkout = sale.checkout(offer, buyer);
  const reservation = await sale.reserve(offer, buyer, { checkout });
  const at = Math.floor(sale.clock.now() / 1_000);
  expect(Date.parse(reservation.reserved_at)).toBe(at * 1_000);
  expect(Date.parse(reservation.reserved_until) - Date.parse(reservation.reserved_at)).toBe(300_000);
  const held = {
    phase: 'reserved',
    buyer: buyer.handle,
    market_buyer: buyer.merchant,
    buyer_wallet: checksummed(buyer.wallet.address),
    market_listing_id: offer.listingId,
    market_checkout_id: checkout,
    reserved_at: reservation.reserved_at,
  } satisfies Partial<OfferOut>;
  expect(await sale.read(offer)).toMatchObject(held);

  const txHash = await sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units: PRICE + 1n });
  const pending = await sale.claim(offer, buyer, txHash, reservation.challenge);
  expect(pending).toMatchObject({ status: 202, body: { offer: { ...held, phase: 'payment_pending', tx_hash: null } } });
  expect(await ownerOf(offer.thingId)).toBe(offer.seller.id);
  await sale.finalize();
  const claimed = await sale.claim(offer, buyer, txHash, reservation.challenge);
  expect(claimed).toMatchObject({
    status: 200,
    body: { do_not_pay_again: true, offer: { ...held, phase: 'claimed', locked: false, tx_hash: txHash } },
  });
  expect(claimed.body.offer.block_time).toBe(new Date((at + 1) * 1_000).toISOString());
  expect(await ownerOf(offer.thingId)).toBe(buyer.id);
  const proof = sql`select value_units from sale_proofs where tx_hash = ${toBytes(txHash)}`;
  expect(await sale.db.database.rows(proof)).toEqual([{ value_units: PRICE + 1n }]);
  // Repeating this claim or making a different one gets the same answer.
  expect(await sale.claim(offer, buyer, txHash, reservation.challenge)).toEqual(claimed);
  expect((await sale.claim(offer, buyer, `0x${'7'.repeat(64)}`, reservation.challenge)).status).toBe(200);
  expect(await reasonOf(sale.claim(offer, await sale.person(), txHash, reservation.challenge))).toBe(
    'reservation_over',
  );
});

it('the challenge says every term, one a line, in a fixed order', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  const checkout = sale.checkout(offer, buyer);
  const { challenge, ...reservation } = await sale.reserve(offer, buyer, { checkout });
  const { config } = sale.city;
  expect(challenge.split('\n')).toEqual([
    'service: Openaisle city',
    `city_origin: ${config.baseUrl}`,
    `market_origin: ${config.marketUrl}`,
    'chain_id: 8453',
    `reservation_id: ${reservation.id}`,
    'purpose: city_ownership',
    `offer_id: ${offer.id}`,
    `thing_id: ${offer.thingId}`,
    `market_listing_id: ${offer.listingId}`,
    `market_checkout_id: ${checkout}`,
    `city_handle: ${buyer.handle}`,
    `market_buyer: ${buyer.merchant}`,
    `payer: ${checksummed(buyer.wallet.address)}`,
    `payee: ${checksummed(offer.seller.wallet.address)}`,
    `asset: ${checksummed(config.network.usdc)}`,
    `minimum_amount_units: ${PRICE}`,
    expect.stringMatching(/^nonce: [0-9a-f]{32}$/),
    `reserved_at: ${reservation.reserved_at}`,
    `reserved_until: ${reservation.reserved_until}`,
  ]);
});
