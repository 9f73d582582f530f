import { Refusal } from '../../../../platform/refusal.ts';
import type { MarketConfig } from '../../../context.ts';
import type { Payment } from '../../payment.ts';
import type { Terms } from '../../terms.ts';
import { askPayment } from './ask-payment.ts';

/** What an authorization is answered with whose payment has ended: unpaid, or given back or declined after a review. */
export function askAnew(config: MarketConfig, terms: Terms, ended: Payment | null): Refusal {
  const detail =
    ended?.status === 'rejected'
      ? `That payment was reviewed, and is ${ended.reviewOutcome}.`
      : 'That payment ended unpaid.';
  const asked = askPayment(config, terms, 'authorization_lapsed', detail);
  if (ended?.status !== 'rejected') return asked;
  const nextStep = 'That authorization pays for nothing here any more. Sign a new one to pay again.';
  return new Refusal(asked.reason, { ...asked.options, nextStep });
}
