import { expect, it } from 'vitest';
import { readOffer } from './offer.ts';
import { SAMPLE_OFFER } from './sample-offer.ts';

it('reads what the page says of the goods, and nothing that is out of form', () => {
  const { units, ...told } = SAMPLE_OFFER;
  expect(readOffer(JSON.stringify(told))).toEqual(SAMPLE_OFFER);
  expect(units).toBe(4_000_000n);
  for (const wrong of [{ price_usdc: 0.000_000_1 }, { seller_wallet: '0x12' }, { network: 'ethereum' }, { id: 0 }]) {
    expect(() => readOffer(JSON.stringify({ ...told, ...wrong }))).toThrow();
  }
  expect(() => readOffer(JSON.stringify({ ...told, explorer_url: 'javascript:alert(1)' }))).toThrow();
});
