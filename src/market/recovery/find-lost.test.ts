import { expect, test } from 'vitest';
import { canonicalJson } from '../../platform/canonical-json.ts';
import { findLost } from './find-lost.ts';

const AT = '2026-05-20T12:00:00.000Z';
let id = 0n;
function event(kind: string, detail: Record<string, string | number>, actor = 'alice') {
  id += 1n;
  return { id, hash: Buffer.alloc(32), canonical: Buffer.from(canonicalJson({ actor, at: AT, detail, kind })) };
}

test('ids, ends and keys are as the log leaves them at its end', () => {
  const lost = findLost([
    event('register', { merchant_id: 7 }, 'newcomer'),
    event('listing', {
      ...{ listing_id: 31, merchant_id: 7, price_usdc: 2.5, aisle: 'data' },
      ...{ seller_wallet: `0x${'a'.repeat(40)}`, artifact_commitment: `0x${'b'.repeat(64)}` },
    }),
    event('listing', { listing_id: 30, merchant_id: 7, price_usdc: 0, aisle: 'data' }),
    event('sale', { listing_id: 3, merchant_id: 2, payment_id: 99, paid_usdc: 1, verified_via: 'x402' }, 'system'),
    event('comment', { comment_id: 12, listing_id: 3, merchant_id: 2 }),
    event('rotate', { merchant_id: 4 }),
    event('recover', { merchant_id: 5 }),
    event('withdrawal', { listing_id: 8, merchant_id: 2 }),
    event('review', { payment_id: 97, listing_id: 3, outcome: 'refunded' }),
    event('review', { payment_id: 96, listing_id: 3, outcome: 'declined' }),
    event('moderation', { action: 'fee_review', payment_id: 98, outcome: 'refunded' }, 'the-keeper'),
    event('moderation', { action: 'remove', listing_id: 9, merchant_id: 2, reason_code: 'spam' }),
    event('moderation', { action: 'remove', listing_id: 10, merchant_id: 2, reason_code: 'fraud' }),
    event('moderation', { action: 'erase', listing_id: 9, merchant_id: 2, reason_code: 'illegal' }),
    event('appeal', { appeal_id: 6, listing_id: 10, merchant_id: 2 }),
    event('moderation', { action: 'decide_appeal', appeal_id: 6, listing_id: 10, merchant_id: 2, outcome: 'restored' }),
    event('moderation', { action: 'remove', listing_id: 11, merchant_id: 2, reason_code: 'spam' }),
    event('moderation', {
      action: 'decide_appeal',
      appeal_id: 5,
      listing_id: 11,
      merchant_id: 2,
      outcome: 'removal_upheld',
    }),
    event('moderation', {
      action: 'remove_comment',
      comment_id: 11,
      listing_id: 3,
      merchant_id: 2,
      reason_code: 'abuse',
    }),
  ]);
  expect(lost.shown).toEqual({ listings: 31n, merchants: 7n, comments: 12n, appeals: 6n, payments: 99n });
  expect(lost.registered).toEqual([{ merchantId: 7n, handle: 'newcomer', at: new Date(AT) }]);
  expect(lost.listings).toEqual([
    { id: 31n, merchantId: 7n, payee: `0x${'a'.repeat(40)}`, commitment: `0x${'b'.repeat(64)}`, priceUsdc: 2.5 },
    { id: 30n, merchantId: 7n, payee: null, commitment: null, priceUsdc: 0 },
  ]);
  expect([...lost.rotated, ...lost.recovered]).toEqual([4n, 5n]);
  expect([...lost.withdrawn]).toEqual([8n]);
  expect([...lost.removed]).toEqual([
    [9n, { reason: 'spam', at: new Date(AT) }],
    [11n, { reason: 'spam', at: new Date(AT) }],
  ]);
  expect([...lost.erased]).toEqual([[9n, 'illegal']]);
  expect([...lost.commentsRemoved]).toEqual([[11n, 'abuse']]);
  expect([...lost.refunded]).toEqual([97n, 98n]);
});

test('a removal after a restoration counts', () => {
  const remove = event('moderation', { action: 'remove', listing_id: 9, merchant_id: 2, reason_code: 'spam' });
  const restore = event('moderation', {
    action: 'decide_appeal',
    appeal_id: 1,
    listing_id: 9,
    merchant_id: 2,
    outcome: 'restored',
  });
  expect([...findLost([remove, restore, remove]).removed.keys()]).toEqual([9n]);
  expect([...findLost([remove, restore]).removed.keys()]).toEqual([]);
});

test('a store line and a statement that were emptied are named, with the code of the reason', () => {
  const lost = findLost([
    event('moderation', { action: 'remove_store_line', merchant_id: 7, reason_code: 'spam' }),
    event('moderation', {
      action: 'remove_statement',
      appeal_id: 5,
      listing_id: 3,
      merchant_id: 2,
      reason_code: 'policy',
    }),
  ]);
  expect([...lost.storeLinesRemoved]).toEqual([[7n, 'spam']]);
  expect([...lost.statementsRemoved]).toEqual([[5n, 'policy']]);
});

test('what was made in what was lost is not mistaken for a row that has its id now', () => {
  const lost = findLost([
    event('register', { merchant_id: 7 }, 'newcomer'),
    event('rotate', { merchant_id: 7 }),
    event('recover', { merchant_id: 7 }),
    event('listing', { listing_id: 31, merchant_id: 7, price_usdc: 0, aisle: 'data' }),
    event('withdrawal', { listing_id: 31, merchant_id: 7 }),
    event('moderation', { action: 'remove', listing_id: 31, merchant_id: 7, reason_code: 'spam' }),
    event('moderation', { action: 'erase', listing_id: 31, merchant_id: 7, reason_code: 'illegal' }),
    event('comment', { comment_id: 12, listing_id: 3, merchant_id: 2 }),
    event('moderation', {
      action: 'remove_comment',
      comment_id: 12,
      listing_id: 3,
      merchant_id: 2,
      reason_code: 'abuse',
    }),
    event('moderation', { action: 'remove_store_line', merchant_id: 7, reason_code: 'spam' }),
    event('appeal', { appeal_id: 5, listing_id: 3, merchant_id: 2 }),
    event('moderation', {
      action: 'remove_statement',
      appeal_id: 5,
      listing_id: 3,
      merchant_id: 2,
      reason_code: 'spam',
    }),
  ]);
  expect([...lost.rotated, ...lost.recovered, ...lost.withdrawn, ...lost.removed, ...lost.commentsRemoved]).toEqual([]);
  expect([...lost.erased, ...lost.storeLinesRemoved, ...lost.statementsRemoved]).toEqual([]);
  expect(lost.shown).toMatchObject({ listings: 31n, merchants: 7n, comments: 12n });
});

test('sales and comments are named, also those of a thing and those that were removed', () => {
  const [hash, other] = [`0x${'c'.repeat(64)}`, `0x${'d'.repeat(64)}`];
  const sale = { listing_id: 3, merchant_id: 2, paid_usdc: 2.5, verified_via: 'x402', payment_id: 99, tx_hash: hash };
  const events = [
    event('sale', sale),
    event('sale', { listing_id: 4, merchant_id: 2, paid_usdc: 0, verified_via: 'free' }, 'bob'),
    event('world_sale', {
      listing_id: 5,
      merchant_id: 2,
      offer_id: 7,
      paid_usdc: 9,
      verified_via: 'city',
      tx_hash: other,
    }),
    event('comment', { comment_id: 12, listing_id: 3, merchant_id: 2 }, 'bob'),
    event('moderation', {
      ...{ action: 'remove_comment', comment_id: 12, listing_id: 3, merchant_id: 2 },
      reason_code: 'abuse',
    }),
  ];
  const [paid, free, thing, said] = events.map(({ id }) => id);
  const at = new Date(AT);
  const lost = findLost(events);
  expect(lost.sales).toEqual([
    { eventId: paid, at, listingId: 3n, paidUsdc: 2.5, via: 'x402', txHash: hash },
    { eventId: free, at, listingId: 4n, paidUsdc: 0, via: 'free', txHash: null },
    { eventId: thing, at, listingId: 5n, paidUsdc: 9, via: 'city', txHash: other },
  ]);
  expect(lost.comments).toEqual([{ eventId: said, at, id: 12n, listingId: 3n, author: 'bob' }]);
});
