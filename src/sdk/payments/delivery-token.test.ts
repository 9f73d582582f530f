import { expect, test } from 'vitest';
import { problem } from '../../../test/support/market-answers.ts';
import { isDeliveryToken } from '../../platform/secrets.ts';
import { systemEnvironment } from '../environment.ts';
import { MarketError } from '../errors.ts';
import { makeDeliveryToken } from './payment-flow.ts';

function asked(fields: Record<string, unknown>): MarketError {
  return new MarketError({
    problem: problem('payment_required', fields),
    ...{ status: 402, requestId: null, retryAfterSeconds: null, doNotPayAgain: false, headers: new Headers() },
    ...{ body: {}, deliveryToken: null },
  });
}

test('a token has the form that the market holds its checksum against, and is another one each time', () => {
  const made = Array.from({ length: 50 }, () =>
    makeDeliveryToken(asked({ delivery_token_prefix: 'aisle_dt_' }), systemEnvironment),
  );
  expect(made.every((token) => token !== null && isDeliveryToken(token, 'aisle'))).toBe(true);
  expect(new Set(made).size).toBe(50);
});

test.each([{}, { delivery_token_prefix: 'aisle_sk_' }, { delivery_token_prefix: 7 }])('%j asks for none', (fields) => {
  expect(makeDeliveryToken(asked(fields), systemEnvironment)).toBeNull();
});
