import { describe, expect, it } from 'vitest';
import { ERRORS, type Reason } from '../../contract/errors.ts';
import { own } from '../../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import { PaymentMayBeLost, TermsRefused } from '../../sdk/payments/payment-errors.ts';
import { WalletTrouble } from '../wallet-provider.ts';
import { describeMoney, explain, type PurchaseStatus } from './explain.ts';
import { hasAttemptEnded, maySignAnew } from './show-outcome.ts';

const NOTHING: PurchaseStatus = { hasProof: false, isPaid: false, hasEnded: false, until: null };

function refusal(reason: Reason, doNotPayAgain: boolean | undefined, fields: object = {}): MarketError {
  const { status, title, retry, next_step } = ERRORS[reason];
  return new MarketError({
    problem: {
      ...{ type: 't', title, status, detail: 'What happened.', reason, error_class: 'c', error: 'e' },
      ...{ next_step, request_id: 'r', retry, ...fields },
    },
    ...{ status, requestId: 'r', retryAfterSeconds: null, doNotPayAgain },
    ...{ headers: new Headers(), body: null, deliveryToken: null },
  });
}

describe('whether money moved', () => {
  it('is said to be paid where it is, whatever else holds', () => {
    expect(describeMoney({ ...NOTHING, hasProof: true, isPaid: true, until: '12:00:00' })).toContain('You have paid');
  });

  it('is never denied while a proof is out that the market has not called ended', () => {
    for (const until of [null, '12:00:00']) {
      expect(describeMoney({ ...NOTHING, hasProof: true, until })).toBe('A payment may exist. Do not pay again.');
    }
  });

  it('is denied where nothing was sent, or the market said so', () => {
    expect(describeMoney(NOTHING)).toContain('No money moved');
    expect(describeMoney({ ...NOTHING, hasProof: true, hasEnded: true })).toContain('none can any more');
    expect(describeMoney({ ...NOTHING, hasProof: true, hasEnded: true, until: '12:00:00' })).toContain('12:00:00');
  });

  it('is not known where the signature was used elsewhere', () => {
    const trouble = explain(refusal('authorization_used_elsewhere', false), {
      ...NOTHING,
      hasProof: true,
      hasEnded: true,
    });
    expect(trouble.money).not.toContain('No money moved');
  });
});

describe('the end of an attempt', () => {
  it('is the market’s word about a proof, and nothing else', () => {
    expect(hasAttemptEnded(refusal('authorization_lapsed', false))).toBe(true);
    expect(hasAttemptEnded(refusal('payment_invalid', false))).toBe(true);
    expect(hasAttemptEnded(refusal('listing_removed', false))).toBe(true);
    expect(hasAttemptEnded(refusal('authorization_lapsed', true))).toBe(false);
    expect(hasAttemptEnded(refusal('payment_required', false))).toBe(false);
    expect(hasAttemptEnded(refusal('settlement_pending', true))).toBe(false);
    expect(hasAttemptEnded(refusal('needs_review', true))).toBe(false);
    expect(hasAttemptEnded(refusal('internal_error', undefined))).toBe(false);
    expect(hasAttemptEnded(new UnreadableAnswer('no_answer', own`none`))).toBe(false);
    expect(hasAttemptEnded(new WalletTrouble('refused'))).toBe(false);
  });

  it('lets the same goods be paid again only where they can be had', () => {
    expect(maySignAnew(refusal('authorization_lapsed', false))).toBe(true);
    expect(maySignAnew(refusal('listing_removed', false))).toBe(false);
  });
});

it('a refusal is told in the market’s own words, with its reason', () => {
  const trouble = explain(refusal('payee_cannot_receive', false), NOTHING);
  expect(trouble).toMatchObject({ title: ERRORS.payee_cannot_receive.title, what: 'What happened.' });
  expect(trouble).toMatchObject({ todo: ERRORS.payee_cannot_receive.next_step, reason: 'payee_cannot_receive' });
});

it('what was refused before a signature says why, and not that the market asked for something else', () => {
  const refused = explain(new TermsRefused('own_goods', own`d`), NOTHING);
  expect(refused).toMatchObject({ title: 'These are your own goods', reason: 'own_goods' });
  const clock = explain(new TermsRefused('clock_wrong', own`The clock here says a, and that of b c`), NOTHING);
  expect(clock).toMatchObject({ what: 'The clock here says a, and that of b c; nothing was signed.' });
  expect(clock.todo).toContain('Set the clock');
  const other = explain(new TermsRefused('other_market', own`The market that was named as a calls itself b`), NOTHING);
  expect(other).toMatchObject({ what: 'The market that was named as a calls itself b; nothing was signed.' });
  for (const { title } of [refused, clock, other]) expect(title).not.toContain('Not what this page shows');
});

it('a silent market is no reason to pay again', () => {
  const trouble = explain(new UnreadableAnswer('no_answer', own`none`), { ...NOTHING, hasProof: true });
  expect(trouble).toMatchObject({ money: 'A payment may exist. Do not pay again.', reason: null });
  expect(trouble.todo).toContain('the same signature');
});

describe('a market that has lost books', () => {
  it('ends no attempt, whatever it says about the proof', () => {
    for (const reason of [
      'history_lost',
      'authorization_used_elsewhere',
      'listing_lost',
      'payment_may_be_lost',
    ] as const) {
      expect(hasAttemptEnded(refusal(reason, true))).toBe(false);
    }
    expect(hasAttemptEnded(new PaymentMayBeLost(refusal('payment_may_be_lost', true)))).toBe(false);
  });

  it('is said to have found what may have been this payment, and where', () => {
    const found = { tx_hash: `0x${'c3'.repeat(32)}`, block: 70 };
    const trouble = explain(new PaymentMayBeLost(refusal('payment_may_be_lost', true, found)), {
      ...NOTHING,
      hasProof: true,
    });
    expect(trouble).toMatchObject({ reason: 'payment_may_be_lost', money: 'A payment may exist. Do not pay again.' });
    expect(trouble.what).toContain(`Transaction ${found.tx_hash} in block 70`);
    expect(trouble.todo).toContain('the seller has the money');
  });

  it('says of a signature that has paid exactly this that the buyer should not pay again', () => {
    const status = { ...NOTHING, hasProof: true };
    expect(explain(refusal('authorization_used_elsewhere', true), status).money).toContain('Do not pay again');
    expect(explain(refusal('listing_lost', true), status).todo).toContain('the seller has the money');
  });
});
