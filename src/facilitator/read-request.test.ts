import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestChain } from '../../test/support/chain.ts';
import {
  paymentBody,
  post,
  type SignedPayment,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
} from '../../test/support/facilitator.ts';
import { WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';

let chain: LocalChain;
let facilitator: TestFacilitator;
let payment: SignedPayment;

beforeAll(async () => {
  chain = await startTestChain();
  facilitator = await startTestFacilitator(chain);
  payment = await signPayment(chain);
});

afterAll(async () => {
  await facilitator?.close();
  await chain?.kill();
});

type Body = Record<string, unknown>;
const other = WORLD_ACCOUNTS.sellerTwo.address;

/** Returns the body of a valid payment with one value replaced. Undefined removes the value. */
function changed(version: 1 | 2, path: string, value: unknown): Body {
  const body: Body = structuredClone(paymentBody(payment, version));
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const place = keys.reduce<Body>((at, key) => at[key] as Body, body);
  if (value === undefined) delete place[last];
  else place[last] = value;
  return body;
}

async function bothRoutes(body: unknown): Promise<[number, unknown, number, unknown]> {
  const verified = await post(`${facilitator.url}/verify`, body);
  const settled = await post(`${facilitator.url}/settle`, body);
  expect(verified.body).toMatchObject({ isValid: false, invalidReason: expect.any(String) });
  expect(settled.body).toMatchObject({ success: false, transaction: '', network: expect.any(String) });
  return [verified.status, verified.body['invalidReason'], settled.status, settled.body['errorReason']];
}

describe('well-formed, but not served here: 200 with the reason', () => {
  const inner = 'paymentPayload.payload';
  const terms = 'paymentRequirements';
  test.each([
    ['another scheme', 2, `${terms}.scheme`, 'upto', 'unsupported_scheme'],
    ['another scheme in v1', 1, 'paymentPayload.scheme', 'upto', 'unsupported_scheme'],
    ['another network', 2, `${terms}.network`, 'eip155:1', 'invalid_network'],
    ['a family of chains that is not ours', 2, 'paymentPayload.accepted.network', 'solana:5eykt4', 'invalid_network'],
    ['the name of v1 in v2', 2, `${terms}.network`, 'base', 'invalid_network'],
    ['the name of v2 in v1', 1, `${terms}.network`, 'eip155:8453', 'invalid_network'],
    ['another token', 2, `${terms}.asset`, other, 'invalid_payment_requirements'],
    ['another token in v1', 1, `${terms}.asset`, other, 'invalid_payment_requirements'],
    ['another payee', 1, `${terms}.payTo`, other, 'invalid_exact_evm_recipient_mismatch'],
    [
      'an authorization to another payee',
      2,
      `${inner}.authorization.to`,
      other,
      'invalid_exact_evm_recipient_mismatch',
    ],
    ['terms that are not the accepted ones', 2, `${terms}.amount`, '5', 'invalid_payment_requirements'],
    [
      'too little',
      1,
      `${terms}.maxAmountRequired`,
      '1000001',
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    ['too much', 1, `${terms}.maxAmountRequired`, '999999', 'invalid_exact_evm_payload_authorization_value_mismatch'],
    ['the value 0', 2, `${inner}.authorization.value`, '0', 'invalid_exact_evm_authorization_value'],
    ['the amount 0', 1, `${terms}.maxAmountRequired`, '0', 'invalid_exact_evm_authorization_value'],
    ['no domain', 1, `${terms}.extra`, undefined, 'invalid_exact_evm_missing_eip712_domain'],
    ['the domain of another token', 1, `${terms}.extra.name`, 'USDC', 'invalid_exact_evm_token_name_mismatch'],
    ['another version of the token', 1, `${terms}.extra.version`, '1', 'invalid_exact_evm_token_version_mismatch'],
    ['another way to transfer', 2, `${terms}.extra.assetTransferMethod`, 'permit2', 'unsupported_payload_type'],
    ['a Permit2 payload', 2, inner, { signature: '0x00', permit2Authorization: {} }, 'unsupported_payload_type'],
    [
      'an ERC-7710 payload',
      2,
      inner,
      { delegationManager: other, permissionContext: '0x', delegator: other },
      'unsupported_payload_type',
    ],
    [
      'a wallet that is still to be made',
      2,
      `${inner}.signature`,
      `0x00${'6492'.repeat(16)}`,
      'eip6492_factory_not_allowed',
    ],
  ] as const)('%s (v%i)', async (_, version, path, value, reason) => {
    expect(await bothRoutes(changed(version, path, value))).toEqual([200, reason, 200, reason]);
  });
});

describe('not the form of the protocol: 400 with the reason', () => {
  const authorization = 'paymentPayload.payload.authorization';
  test.each([
    ['a value in hex', `${authorization}.value`, '0xf4240'],
    ['a value with exponent', `${authorization}.value`, '1e6'],
    ['a value with a space', `${authorization}.value`, ' 1000000'],
    ['a negative value', `${authorization}.value`, '-1'],
    ['a value of 40 digits', `${authorization}.value`, '1'.repeat(40)],
    ['a value that is a number', `${authorization}.value`, 1_000_000],
    ['an empty time', `${authorization}.validAfter`, ''],
    ['no end', `${authorization}.validBefore`, undefined],
    ['a short address', `${authorization}.from`, '0x1234'],
    ['an address without 0x', `${authorization}.to`, '11'.repeat(20)],
    ['a nonce of 31 bytes', `${authorization}.nonce`, `0x${'11'.repeat(31)}`],
    ['a nonce that is a number', `${authorization}.nonce`, 7],
    ['an unknown field in the authorization', `${authorization}.extra`, 'x'],
    ['an unknown field in the payload', 'paymentPayload.payload.more', 'x'],
    ['a signature of half a byte', 'paymentPayload.payload.signature', '0x123'],
    ['an empty signature', 'paymentPayload.payload.signature', '0x'],
    ['a signature of 5,000 bytes', 'paymentPayload.payload.signature', `0x${'11'.repeat(5_000)}`],
    ['a payload that is a text', 'paymentPayload.payload', 'eyJ9'],
    ['a payload that is null', 'paymentPayload.payload', null],
    ['no accepted terms', 'paymentPayload.accepted', undefined],
    ['two versions', 'paymentPayload.x402Version', 1],
  ] as const)('%s', async (_, path, value) => {
    expect(await bothRoutes(changed(2, path, value))).toEqual([400, 'invalid_payload', 400, 'invalid_payload']);
  });

  test.each([
    ['an amount in hex', 'paymentRequirements.amount', '0x1'],
    ['no amount', 'paymentRequirements.amount', undefined],
    ['a payee that is a name', 'paymentRequirements.payTo', 'seller.eth'],
    ['requirements that are a list', 'paymentRequirements', []],
  ] as const)('%s', async (_, path, value) => {
    const reason = 'invalid_payment_requirements';
    expect(await bothRoutes(changed(2, path, value))).toEqual([400, reason, 400, reason]);
  });

  test('an unknown version', async () => {
    const reason = 'invalid_x402_version';
    expect(await bothRoutes(changed(2, 'x402Version', 3))).toEqual([400, reason, 400, reason]);
  });

  test.each([
    ['no JSON', '{"x402Version":', 400],
    ['a list', '[]', 400],
    ['a text', '"x"', 400],
    ['null', 'null', 400],
    ['a magic key', '{"__proto__": {"x402Version": 2}}', 400],
    ['65 KiB', JSON.stringify({ x402Version: 2, more: 'x'.repeat(66_000) }), 413],
  ] as const)('%s', async (_, text, status) => {
    const [verified, , settled] = await bothRoutes(text);
    expect([verified, settled]).toEqual([status, status]);
  });

  test('another content type', async () => {
    const response = await fetch(`${facilitator.url}/settle`, { method: 'POST', body: 'x=1' });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ success: false, transaction: '' });
  });
});

test('fields that the protocol may grow are let through', async () => {
  const body = changed(2, 'paymentPayload.extensions', { bazaar: { info: { minimum: -1.5 } } });
  const grown = { ...body, more: true };
  expect((await post(`${facilitator.url}/verify`, grown)).body).toMatchObject({ isValid: true });
});

test('an unknown path is a 404, and the process is alive and ready after all of this', async () => {
  expect((await fetch(`${facilitator.url}/nothing`)).status).toBe(404);
  expect((await fetch(`${facilitator.url}/healthz`)).status).toBe(200);
  const ready = await fetch(`${facilitator.url}/readyz`);
  expect(await ready.json()).toEqual({ ready: true, chain: 'ok', signer_balance: 'ok', stuck_settlements: 0 });
  expect(ready.status).toBe(200);
});
