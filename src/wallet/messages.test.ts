import { describe, expect, it } from 'vitest';
import { AUTHORIZATION_TYPES } from '../contract/authorization-types.ts';
import type { AuthorizationToSign } from '../sdk/payments/payment-proof.ts';
import { checkMessage, MessageMismatch, type TypedMessage, toTypedMessage } from './messages.ts';
import { SAMPLE_OFFER } from './sample-offer.ts';
import { describeMessage, formatAmount } from './wording.ts';

const NOW = 1_700_000_000_000;
const PAYER = `0x${'a'.repeat(40)}` as const;
const NONCE = `0x${'3'.repeat(64)}` as const;

const ASKED: AuthorizationToSign = {
  domain: { name: 'USD Coin', version: '2', chainId: 8453n, verifyingContract: SAMPLE_OFFER.usdc },
  types: AUTHORIZATION_TYPES,
  primaryType: 'TransferWithAuthorization',
  message: {
    from: PAYER,
    to: SAMPLE_OFFER.seller_wallet,
    value: 4_000_000n,
    validAfter: 0n,
    validBefore: 1_700_000_120n,
    nonce: NONCE,
  },
};
const TYPED = toTypedMessage(ASKED);

const check = (typed: TypedMessage, offer = SAMPLE_OFFER): void =>
  checkMessage(typed, { offer, payer: PAYER, nowMs: NOW, purpose: 'pay' });

describe('what would be signed', () => {
  it('passes where it is what the page shows', () => expect(() => check(TYPED)).not.toThrow());

  const other = `0x${'9'.repeat(40)}` as const;
  const CHANGES: [string, (typed: TypedMessage) => TypedMessage][] = [
    ['another receiver', (typed) => ({ ...typed, message: { ...typed.message, to: other } })],
    ['more', (typed) => ({ ...typed, message: { ...typed.message, value: '4000001' } })],
    ['less', (typed) => ({ ...typed, message: { ...typed.message, value: '3999999' } })],
    ['another payer', (typed) => ({ ...typed, message: { ...typed.message, from: other } })],
    ['another network', (typed) => ({ ...typed, domain: { ...typed.domain, chainId: 1 } })],
    ['another token', (typed) => ({ ...typed, domain: { ...typed.domain, verifyingContract: other } })],
    ['another name', (typed) => ({ ...typed, domain: { ...typed.domain, name: 'USDC' } })],
    ['a long time', (typed) => ({ ...typed, message: { ...typed.message, validBefore: '1700000601' } })],
    ['a later begin', (typed) => ({ ...typed, message: { ...typed.message, validAfter: '1700000001' } })],
  ];
  it.each(CHANGES)('is refused for %s', (_, change) => expect(() => check(change(TYPED))).toThrow(MessageMismatch));

  it('is refused where the page names another token than the network has', () => {
    const offer = { ...SAMPLE_OFFER, usdc: other };
    expect(() => check({ ...TYPED, domain: { ...TYPED.domain, verifyingContract: other } }, offer)).toThrow(
      MessageMismatch,
    );
  });
});

it('is said in words that come from the message itself', () => {
  const rows = new Map(describeMessage(TYPED, SAMPLE_OFFER, NOW));
  expect(rows.get('You pay')).toBe('4.00 USDC on Base');
  expect(rows.get('To')).toBe(`${SAMPLE_OFFER.seller_wallet} (merchant ink-and-paper)`);
  expect(rows.get('From')).toBe(PAYER);
  expect(rows.get('For')).toBe('“Reading of invoices”, listing 7');
  expect(rows.get('Good until')).toContain('2 min from now');
  const more = { ...TYPED, message: { ...TYPED.message, value: '4500001' } };
  expect(new Map(describeMessage(more, SAMPLE_OFFER, NOW)).get('You pay')).toBe('4.500001 USDC on Base');
});

it.each([
  [1n, '0.000001 USDC'],
  [10_000n, '0.01 USDC'],
  [1_000n, '0.001 USDC'],
  [149_999_999n, '149.999999 USDC'],
  [12_500_000n, '12.50 USDC'],
])('%s units are %s', (units, words) => expect(formatAmount(units)).toBe(words));
