import { encodePaymentRequiredHeader } from '@x402/core/http';
import { expect, test } from 'vitest';
import { SELLER } from '../../../test/support/market-answers.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import { TermsRefused } from './payment-errors.ts';
import { chooseOffer, type ExpectedPayment, readPaymentRequired, type X402Version } from './payment-required.ts';

const expected: ExpectedPayment = { payee: SELLER, amountUnits: 2_500_000n, network: 'base' };
const OTHER = `0x${'11'.repeat(20)}`;

function answer(version: X402Version, changed: Record<string, unknown>) {
  const common = {
    scheme: 'exact',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: SELLER,
    maxTimeoutSeconds: 120,
    extra: { name: 'USD Coin', version: '2' },
  };
  if (version === 1) {
    const offer = {
      ...common,
      network: 'base',
      maxAmountRequired: '2500000',
      resource: 'https://m.example/x',
      ...changed,
    };
    return { header: null, body: { x402Version: 1, error: 'e', accepts: [offer] } };
  }
  const offer = { ...common, network: NETWORKS.base.caip2, amount: '2500000', ...changed };
  const required = { x402Version: 2, resource: { url: 'https://m.example/x' }, accepts: [offer] };
  return { header: encodePaymentRequiredHeader(required), body: {} };
}

function whyRefused(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof TermsRefused) return error.why;
    throw error;
  }
  return 'accepted';
}

test.each([1, 2] as const)('v%i terms that fit are chosen, in whatever case the addresses are written', (version) => {
  const plain = readPaymentRequired(answer(version, {}), version);
  expect(chooseOffer(plain, expected).amountUnits).toBe(2_500_000n);
  const lower = readPaymentRequired(answer(version, { payTo: SELLER.toLowerCase() }), version);
  expect(chooseOffer(lower, expected).payTo).toBe(SELLER.toLowerCase());
});

const refusals: [string, Record<string, unknown>, string][] = [
  ['another payee', { payTo: OTHER }, 'wrong_payee'],
  ['another token', { asset: OTHER }, 'wrong_asset'],
  ['another chain', { network: 'eip155:1' }, 'wrong_network'],
  ['a higher amount', { amount: '2500001', maxAmountRequired: '2500001' }, 'wrong_amount'],
  ['a lower amount', { amount: '2499999', maxAmountRequired: '2499999' }, 'wrong_amount'],
  ['a window beyond ten minutes', { maxTimeoutSeconds: 601 }, 'window_too_long'],
  ['no window', { maxTimeoutSeconds: 0 }, 'window_too_long'],
  ['another scheme', { scheme: 'upto' }, 'wrong_scheme'],
  ['another transfer method', { extra: { assetTransferMethod: 'permit2' } }, 'wrong_scheme'],
  ['another signing domain', { extra: { name: 'USDC', version: '2' } }, 'wrong_domain'],
  ['an amount in hex', { amount: '0x2625a0', maxAmountRequired: '0x2625a0' }, 'unreadable_terms'],
];
test.each(refusals)('%s is refused before anything is signed', (_, changed, why) => {
  for (const version of [1, 2] as const)
    expect(whyRefused(() => chooseOffer(readPaymentRequired(answer(version, changed), version), expected))).toBe(why);
});

test('a CAIP-2 name in v1 and a plain name in v2 are wrong networks', () => {
  const v1 = readPaymentRequired(answer(1, { network: 'eip155:8453' }), 1);
  const v2 = readPaymentRequired(answer(2, { network: 'base' }), 2);
  expect([v1, v2].map((required) => whyRefused(() => chooseOffer(required, expected)))).toEqual([
    'wrong_network',
    'wrong_network',
  ]);
});

test('among several offers the fitting one is chosen', () => {
  const required = readPaymentRequired(answer(2, {}), 2);
  const foreign = required.offers.map((offer) => ({ ...offer, network: 'eip155:1' }));
  expect(chooseOffer({ ...required, offers: [...foreign, ...required.offers] }, expected)).toBe(required.offers[0]);
});

test('without a wish v2 is taken where it is offered, else v1; a version that is not offered is refused', () => {
  const [v1, v2] = [answer(1, {}), answer(2, {})];
  expect(readPaymentRequired({ header: v2.header, body: v1.body }).x402Version).toBe(2);
  expect(readPaymentRequired(v1).x402Version).toBe(1);
  expect(whyRefused(() => readPaymentRequired(v1, 2))).toBe('version_not_offered');
  expect(whyRefused(() => readPaymentRequired(v2, 1))).toBe('version_not_offered');
  expect(whyRefused(() => readPaymentRequired({ header: '%%%', body: {} }))).toBe('unreadable_terms');
});
