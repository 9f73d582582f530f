import { expect, test } from 'vitest';
import { NETWORKS } from '../../contract/vocabulary.ts';
import { TermsRefused } from '../payments/payment-errors.ts';
import { checkReservation, type Reservation, type ThingTerms } from './check-reservation.ts';

const NOW_MS = Date.parse('2030-01-01T00:00:00.000Z');
const [PAYER, PAYEE] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const;
const { usdc, chainId } = NETWORKS.base;

const terms: ThingTerms = {
  ...{ network: 'base', marketOrigin: 'https://market.example', cityOrigin: 'https://city.example' },
  ...{ listingId: 7, checkoutId: 3, offerId: 5, thingId: 9, cityHandle: 'ada', marketBuyer: 'ada' },
  ...{ payer: PAYER, payee: PAYEE, amountUnits: 2_000_000n },
};

const challenge = [
  ...['service: Openaisle city', 'city_origin: https://city.example', 'market_origin: https://market.example'],
  ...[`chain_id: ${chainId}`, 'reservation_id: 4', 'purpose: city_ownership', 'offer_id: 5', 'thing_id: 9'],
  ...['market_listing_id: 7', 'market_checkout_id: 3', 'city_handle: ada', 'market_buyer: ada'],
  ...[`payer: ${PAYER}`, `payee: ${PAYEE}`, 'asset: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
  ...['minimum_amount_units: 2000000', `nonce: ${'0f'.repeat(16)}`],
  ...['reserved_at: 2030-01-01T00:00:00.000Z', 'reserved_until: 2030-01-01T00:05:00.000Z'],
].join('\n');

const reservation: Reservation = {
  ...{ id: 4, offer_id: 5, city_handle: 'ada', payer_wallet: PAYER, seller_wallet: PAYEE, amount_units: '2000000' },
  ...{ asset: usdc, chain_id: Number(chainId), challenge, next_step: 'Pay.' },
  ...{ reserved_at: '2030-01-01T00:00:00.000Z', reserved_until: '2030-01-01T00:05:00.000Z' },
};

function refusalOf(changes: Partial<Reservation>, nowMs = NOW_MS): TermsRefused | null {
  try {
    checkReservation({ ...reservation, ...changes }, terms, nowMs);
    return null;
  } catch (error) {
    if (error instanceof TermsRefused) return error;
    throw error;
  }
}

test('what was agreed to is taken, until less than a minute of it is left', () => {
  expect(refusalOf({})).toBeNull();
  expect(refusalOf({}, NOW_MS + 240_000)).toBeNull();
  const late = refusalOf({}, NOW_MS + 240_001);
  expect(late).toMatchObject({ why: 'too_little_time', nextStep: expect.stringContaining('2030-01-01T00:05:00.000Z') });
});

test.each([
  ['wrong_network', { chain_id: 1 }],
  ['wrong_asset', { asset: PAYEE }],
  ['wrong_payee', { seller_wallet: PAYER }],
  ['wrong_amount', { amount_units: '1' }],
  ['wrong_intent', { offer_id: 6 }],
  ['wrong_intent', { challenge: `${challenge}\nalso: everything` }],
] as const)('%s: who is told of it is sent to no intent and to no market', (why, changes) => {
  const nextStep = 'Don’t pay until the city’s operator explains the request.';
  expect(refusalOf(changes)).toMatchObject({ why, nextStep });
});
