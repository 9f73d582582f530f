import { checksummed } from '../../../../contract/chain-values.ts';
import type { Reason } from '../../../../contract/errors.ts';
import { MAX_TIMEOUT_SECONDS } from '../../../../contract/vocabulary.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { MarketConfig } from '../../../context.ts';
import type { Payment } from '../../payment.ts';
import { requirementOf, type Terms } from '../../terms.ts';
import { describeForBazaar } from './bazaar.ts';

type Asking = Extract<Reason, 'payment_required' | 'payment_invalid' | 'insufficient_funds' | 'authorization_lapsed'>;

/**
 * The 402 that asks for a payment: one answer for both versions of x402. The body's `accepts` is version 1, the PAYMENT-REQUIRED
 * header version 2. Given only where a new authorization may be signed without any risk of paying twice.
 */
export function askPayment(config: MarketConfig, terms: Terms, reason: Asking, detail?: string): Refusal {
  const required = requirementOf(terms, config.network, checksummed);
  const error = detail ?? 'Payment is required.';
  const bazaar = describeForBazaar(terms.resource.slice(config.baseUrl.length));
  const header = {
    x402Version: 2,
    error,
    resource: { url: terms.resource, description: terms.description, mimeType: 'application/json' },
    accepts: [required],
    ...(bazaar === null ? {} : { extensions: { bazaar } }),
  };
  return new Refusal(reason, {
    detail: error,
    fields: { x402Version: 1, accepts: [versionOne(config, terms)] },
    headers: { 'payment-required': Buffer.from(JSON.stringify(header)).toString('base64') },
  });
}

function versionOne(config: MarketConfig, terms: Terms) {
  return {
    scheme: 'exact',
    network: config.network.name,
    maxAmountRequired: terms.valueUnits.toString(),
    resource: terms.resource,
    description: terms.description,
    mimeType: 'application/json',
    outputSchema: { input: { type: 'http', method: 'POST', discoverable: true } },
    payTo: checksummed(terms.payee),
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    asset: checksummed(config.network.usdc),
    extra: { name: config.network.domainName, version: config.network.domainVersion },
  };
}

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
