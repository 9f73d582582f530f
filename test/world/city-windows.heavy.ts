import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import type { OfferPhase } from '../../src/contract/world-records.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { reasonOf } from '../support/ask.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { citySale, type OpenedOffer, type Person, PRICE, type ReservationOut } from './city-sale.ts';

// Tests set block times to the second; the city's clock follows the chain.
const sale = citySale({ finalityBlocks: 4 });

interface Held {
  offer: OpenedOffer;
  buyer: Person;
  reservation: ReservationOut;
  from: number;
  to: number;
}

async function holdOffer(): Promise<Held> {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  const reservation = await sale.reserve(offer, buyer);
  return {
    offer,
    buyer,
    reservation,
    from: secondOf(reservation.reserved_at),
    to: secondOf(reservation.reserved_until),
  };
}

const secondOf = (iso: string): number => Date.parse(iso) / 1_000;
const payIn = ({ offer, buyer }: Held, second: number, units = PRICE): Promise<Hex> =>
  sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units, second });
const claim = ({ offer, buyer, reservation }: Held, txHash: Hex) =>
  sale.claim(offer, buyer, txHash, reservation.challenge);
const reasonInBooks = async ({ id }: OpenedOffer) =>
  (await sale.db.database.one<{ end_reason: string | null }>(sql`select end_reason from offers where id = ${id}`))
    .end_reason;

describe('the window, by the time of the block', () => {
  it('one second before its end is inside', async () => {
    const one = await holdOffer();
    const txHash = await payIn(one, one.to - 1);
    expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
    await sale.finalize();
    expect((await claim(one, txHash)).body.offer.phase).toBe('claimed');
  });

  it('at its end is outside', async () => {
    const one = await holdOffer();
    const txHash = await payIn(one, one.to);
    expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
    await sale.finalize();
    await expect(claim(one, txHash)).rejects.toMatchObject({
      reason: 'world_payment_invalid',
      message: expect.stringContaining('outside_window'),
      options: { fields: { offer: { phase: 'payment_invalid', locked: true } } },
    });
    expect(await reasonInBooks(one.offer)).toBe('outside_window');
  });

  it('in the very second in which it begins is inside', async () => {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const txHash = await sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address });
    const reservation = await sale.reserve(offer, buyer);
    expect(secondOf(reservation.reserved_at)).toBe(await sale.time());
    await sale.finalize();
    expect((await sale.claim(offer, buyer, txHash, reservation.challenge)).status).toBe(200);
  });

  it('one second before it begins is outside', async () => {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const txHash = await sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address });
    await sale.mineAt((await sale.time()) + 1);
    const reservation = await sale.reserve(offer, buyer);
    await sale.finalize();
    expect(await reasonOf(sale.claim(offer, buyer, txHash, reservation.challenge))).toBe('world_payment_invalid');
    expect(await reasonInBooks(offer)).toBe('outside_window');
  });
});

describe('unpaid', () => {
  it('it lapses with the first block at its end and not before; the buyer who let it lapse waits, others do not', async () => {
    const one = await holdOffer();
    const other = await sale.person();
    await sale.mineAt(one.to - 1);
    // Only the chain's time decides, and not the city's own clock.
    sale.clock.set((one.to + 20) * 1_000);
    expect((await sale.reconcile(one.offer, other)).phase).toBe('reserved');
    expect(await reasonOf(sale.reserve(one.offer, other))).toBe('offer_reserved');
    await sale.mineAt(one.to);
    expect(await sale.reconcile(one.offer, other)).toMatchObject({
      phase: 'listed',
      buyer: null,
      market_buyer: null,
      reserved_at: null,
      market_checkout_id: null,
      market_listing_id: one.offer.listingId,
    });
    await expect(sale.reserve(one.offer, one.buyer)).rejects.toMatchObject({
      reason: 'reservation_pause',
      options: { retryAfterSeconds: 1_800 },
    });
    expect(await reasonOf(claim(one, `0x${'5'.repeat(64)}`))).toBe('reservation_over');
    const next = await sale.reserve(one.offer, other);
    expect(secondOf(next.reserved_at)).toBe(one.to);
    // The first buyer may try again after half an hour.
    await sale.mineAt(one.to + 1_799);
    expect((await sale.reconcile(one.offer, other)).phase).toBe('listed');
    await expect(sale.reserve(one.offer, one.buyer)).rejects.toMatchObject({ options: { retryAfterSeconds: 1 } });
    await sale.mineAt(one.to + 1_800);
    expect((await sale.reserve(one.offer, one.buyer)).city_handle).toBe(one.buyer.handle);
  });

  it('a reservation that is over makes room for another buyer, and lets its seller cancel', async () => {
    const [one, two] = [await holdOffer(), await holdOffer()];
    await sale.mineAt(two.to);
    const other = await sale.person();
    expect((await sale.reserve(one.offer, other)).city_handle).toBe(other.handle);
    expect((await sale.cancel(two.offer, two.offer.seller)).phase).toBe('canceled');
  });

  it('the listing is the one of the first reservation', async () => {
    const one = await holdOffer();
    await sale.mineAt(one.to);
    const other = await sale.person();
    const checkout = sale.checkout({ ...one.offer, listingId: one.offer.listingId + 1_000 }, other);
    expect(await reasonOf(sale.reserve(one.offer, other, { checkout }))).toBe('checkout_mismatch');
    expect((await sale.reserve(one.offer, other)).offer_id).toBe(Number(one.offer.id));
  });

  it.each<[string, (one: Held) => Promise<unknown>, OfferPhase]>([
    ['less than the price', (one) => payIn(one, one.to - 1, PRICE - 1n), 'listed'],
    ['the price, and one second late', (one) => payIn(one, one.to), 'listed'],
    [
      'the price, from another wallet',
      async ({ offer, to }) =>
        sale.pay({ from: (await sale.person()).wallet, to: offer.seller.wallet.address, second: to - 1 }),
      'listed',
    ],
    ['the price', (one) => payIn(one, one.to - 1), 'payment_pending'],
  ])('paid and not claimed, %s', async (_, pay, phase) => {
    const one = await holdOffer();
    await pay(one);
    await sale.mineAt((await sale.time()) + 301);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe(phase);
  });
});

describe('paid and not claimed in time', () => {
  it('it waits for its buyer, who claims it later; no other buyer gets it meanwhile', async () => {
    const one = await holdOffer();
    const txHash = await payIn(one, one.to - 1);
    await sale.mineAt(one.to + 60);
    const other = await sale.person();
    expect(await reasonOf(sale.reserve(one.offer, other))).toBe('offer_reserved');
    expect(await sale.phase(one.offer)).toBe('payment_pending');
    expect(await reasonOf(sale.cancel(one.offer, one.offer.seller))).toBe('offer_busy');
    await sale.finalize();
    expect((await claim(one, txHash)).status).toBe(200);
  });

  it('a claim of the last second holds against another buyer who wants to reserve', async () => {
    const one = await holdOffer();
    const other = await sale.person();
    await sale.mineAt(one.to - 1);
    // The reservation request waits for the offer's lock, which a transaction holds while it inserts a claim.
    const claiming = await holdTransactionOpen(sale.db.database, async (tx) => {
      await tx.run(sql`select from offers where id = ${one.offer.id} for update`);
      await tx.run(sql`insert into claims (reservation_id, tx_hash, named_at)
        values (${one.reservation.id}, ${Buffer.alloc(32, 4)}, now())`);
    });
    await sale.mineAt(one.to);
    const reserved = reasonOf(sale.reserve(one.offer, other));
    await untilWaiting(sale.db.database);
    await claiming.commit();
    expect(await reserved).toBe('offer_reserved');
    expect(await sale.phase(one.offer)).toBe('reserved');
    // The next reading finds the transaction in no block.
    expect((await sale.reconcile(one.offer, other)).phase).toBe('listed');
  });
});
