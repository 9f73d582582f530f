import { describe, expect, it, test } from 'vitest';
import { claimedFields, offerRecord } from '../../../../test/support/scripted-city.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Checkout } from '../store.ts';
import { type CityClaim, judgeReservation, readClaim } from './decide-sale.ts';

const NOW = Date.UTC(2026, 5, 1, 12, 0, 0);
const SECOND = NOW / 1_000;
const wallet = `0x${'1b'.repeat(20)}` as const;
const payee = `0x${'2c'.repeat(20)}` as const;
const txHash = `0x${'3d'.repeat(32)}` as const;
const listing = { id: 3n, draftId: 4n, offerId: 7n, thingId: 9n, wallet: payee, priceUnits: 4_000_000n };
const by = { buyer: 'bob', marketBuyer: 'buyer-one', checkoutId: 5, wallet, txHash };
const fields = claimedFields({ ...by, reservedAt: SECOND - 100, claimedAtMs: NOW });
const claimOf = (changes: Partial<OfferOut> = {}): CityClaim | null => {
  const given = { marketOrigin: 'https://market.example', changes: { ...fields, ...changes } };
  return readClaim(offerRecord({ url: 'https://city.example' }, listing, given), NOW);
};

describe('a claimed offer', () => {
  it('says by whom, how and when', () => {
    expect(claimOf()).toEqual({
      buyer: 'bob',
      marketBuyer: 'buyer-one',
      checkoutId: 5n,
      buyerWallet: wallet,
      txHash,
      reservedAt: NOW - 100_000,
      reservedUntil: NOW + 200_000,
      claimedAt: new Date(NOW),
    });
  });

  test.each<[string, Partial<OfferOut>]>([
    ['no buyer', { buyer: null }],
    ['no merchant', { market_buyer: null }],
    ['no checkout', { market_checkout_id: null }],
    ['no wallet', { buyer_wallet: null }],
    ['no transaction', { tx_hash: null }],
    ['no beginning', { reserved_at: null }],
    ['no end', { reserved_until: null }],
    ['no time of the claim', { claimed_at: null }],
    ['a time that no calendar of ours holds', { claimed_at: '0000-01-01T00:00:00.000Z' }],
    ['a time that is days ahead', { claimed_at: isoTime(NOW + 2 * 86_400_000) }],
    ['a day that there is not', { reserved_at: '2026-02-31T25:00:00.000Z' }],
  ])('with %s says nothing', (_name, changes) => {
    expect(claimOf(changes)).toBeNull();
  });
});

const checkout: Checkout = {
  id: 5n,
  listingId: 3n,
  merchantId: 2n,
  marketBuyer: 'buyer-one',
  cityHandle: 'bob',
  offerId: 7n,
  state: 'open',
  createdAt: new Date(NOW - 200_000),
  expiresAt: new Date(NOW + 400_000),
};
const claim: CityClaim = {
  buyer: 'bob',
  marketBuyer: 'buyer-one',
  checkoutId: 5n,
  buyerWallet: wallet,
  txHash,
  reservedAt: NOW - 100_000,
  reservedUntil: NOW + 200_000,
  claimedAt: new Date(NOW),
};
const ground = { id: 3n, sellerWallet: payee };
const reservedAt = (ms: number): Partial<CityClaim> => ({ reservedAt: ms, reservedUntil: ms + 300_000 });
const judged = (changes: Partial<CityClaim> = {}, of: Partial<Checkout> | null = {}) =>
  judgeReservation({ ...claim, ...changes }, ground, of === null ? null : { ...checkout, ...of });

describe('a reservation', () => {
  it('of the checkout that it names is in order, in whatever state the checkout is by now', () => {
    expect(judged()).toBeNull();
    for (const state of ['expired', 'closed'] as const) expect(judged({}, { state })).toBeNull();
  });

  test.each<[string, Partial<CityClaim>, Partial<Checkout> | null]>([
    ['of no checkout', {}, null],
    ['of a checkout of another listing', {}, { listingId: 4n }],
    ['of a checkout of another merchant', {}, { marketBuyer: 'buyer-two' }],
    ['of a checkout of another resident', {}, { cityHandle: 'eve' }],
    ['by another resident', { buyer: 'eve' }, {}],
    ['for another merchant', { marketBuyer: 'buyer-two' }, {}],
  ])('%s is none of ours', (_name, changes, of) => {
    expect(judged(changes, of)).toBe('checkout_mismatch');
  });

  test.each<[string, Partial<CityClaim>]>([
    ['a second longer', { reservedUntil: claim.reservedUntil + 1_000 }],
    ['a millisecond shorter', { reservedUntil: claim.reservedUntil - 1 }],
    ['backwards', { reservedUntil: claim.reservedAt - 300_000 }],
    ['from the midst of a second', reservedAt(claim.reservedAt + 500)],
    ['a minute before the checkout', reservedAt(NOW - 260_000)],
    ['a minute after the checkout', reservedAt(NOW + 460_000)],
  ])('%s is none', (_name, changes) => {
    expect(judged(changes)).toBe('reservation_mismatch');
  });

  it('may differ from the checkout by a little, since there are three clocks', () => {
    expect(judged(reservedAt(NOW - 259_000))).toBeNull();
    expect(judged(reservedAt(NOW + 459_000))).toBeNull();
  });

  it('by the very wallet that is paid sells nothing', () => {
    expect(judged({ buyerWallet: payee })).toBe('own_goods');
  });
});
