import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplePlan, sampleProof } from '../../test/support/sample-spend.ts';
import { AUTHORIZATION_TYPES } from '../contract/authorization-types.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import { testAccount } from '../local/chain/accounts.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import type { AuthorizationToSign } from '../sdk/payments/payment-proof.ts';
import { guardWallet } from './guard-wallet.ts';
import { type Policy, readPolicy } from './policy.ts';
import { type HeldSpend, openSpendBook } from './spend-book.ts';

const { signer } = testAccount('guarded wallet');
const payee = testAccount('payee of a guarded wallet').signer.address;
const other = testAccount('another payee').signer.address;

const MARKET = 'https://market.example';

let home = '';
let policy: Policy;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'openaisle-guard-'));
  policy = await readPolicy({ HOME: home });
});
afterAll(() => rm(home, { recursive: true, force: true }));

const plan = samplePlan({ payee });

function authorization(changed: Partial<AuthorizationToSign['message']> = {}, domain = {}): AuthorizationToSign {
  const { domainName: name, domainVersion: version, chainId, usdc: verifyingContract } = NETWORKS.base;
  const message = { from: signer.address, to: payee, value: 1_000_000n, validAfter: 0n, validBefore: 9n };
  return {
    domain: { name, version, chainId, verifyingContract, ...domain },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...message, nonce: `0x${'07'.repeat(32)}`, ...changed },
  };
}

let count = 0;
/** Runs work on a new record with the sum reserved. */
async function withReserved<T>(work: (held: HeldSpend) => Promise<T>): Promise<T> {
  count += 1;
  const env = { HOME: join(home, String(count)) };
  return await openSpendBook({ env, address: signer.address }).hold('k', async (held) => {
    await held.reserve(plan, policy);
    return await work(held);
  });
}

const SEPOLIA = NETWORKS['base-sepolia'];

describe('what is not what was set aside is not signed', () => {
  test.each<[string, AuthorizationToSign, string]>([
    ['a unit more', authorization({ value: 1_000_001n }), 'not_reserved'],
    ['a unit less', authorization({ value: 999_999n }), 'not_reserved'],
    ['another payee', authorization({ to: other }), 'not_reserved'],
    [
      'another network',
      authorization({}, { name: SEPOLIA.domainName, chainId: SEPOLIA.chainId, verifyingContract: SEPOLIA.usdc }),
      'not_reserved',
    ],
    ['a network that is not known', authorization({}, { chainId: 1n }), 'not_usdc'],
    ['another token', authorization({}, { verifyingContract: other }), 'not_usdc'],
    ['another name of the token', authorization({}, { name: 'USDC' }), 'not_usdc'],
    ['another payer', authorization({ from: other }), 'not_usdc'],
    ['another token over nothing', authorization({ value: 0n }, { verifyingContract: other }), 'not_usdc'],
  ])('%s', async (_, typed, reason) => {
    const signing = withReserved((held) => guardWallet(signer, held, { policy, market: MARKET }).signTypedData(typed));
    await expect(signing).rejects.toMatchObject({ name: 'PolicyRefused', parts: { reason } });
  });

  test('nothing, where nothing was set aside', async () => {
    const book = openSpendBook({ env: { HOME: join(home, 'empty') }, address: signer.address });
    const signing = book.hold('k', (held) =>
      guardWallet(signer, held, { policy, market: MARKET }).signTypedData(authorization()),
    );
    await expect(signing).rejects.toMatchObject({ parts: { reason: 'not_reserved' } });
  });
});

test('the reserved payment is signed once; over nothing as often as it takes', async () => {
  await withReserved(async (held) => {
    const wallet = guardWallet(signer, held, { policy, market: MARKET });
    expect(await wallet.signTypedData(authorization())).toMatch(/^0x[0-9a-f]{130}$/);
    await expect(wallet.signTypedData(authorization())).rejects.toMatchObject({ parts: { reason: 'not_reserved' } });
    for (const to of [payee, other]) await wallet.signTypedData(authorization({ value: 0n, to }));
  });
});

test('another signature, where it is allowed, is set aside and counted again while the first is good', async () => {
  const { proof, ...saved } = sampleProof(1_000_000n);
  const good = { ...saved, proof: { ...proof, valid_before: Math.floor(systemEnvironment.now() / 1_000) + 120 } };
  await withReserved(async (held) => {
    const tight = { ...policy, perDayUnits: 2_000_000n };
    const wallet = guardWallet(signer, held, { policy, market: MARKET, again: () => held.reserve(plan, tight) });
    for (const sequence of [1, 2]) {
      await wallet.signTypedData(authorization());
      await held.proofStore.save('k', good);
      expect(held.record).toMatchObject({ sequence, state: 'signed' });
    }
    await expect(wallet.signTypedData(authorization())).rejects.toMatchObject({ parts: { reason: 'above_per_day' } });
  });
});

test.each<[string, Partial<Policy>, string]>([
  ['a market', { markets: ['https://other.example'] }, 'market_not_allowed'],
  ['a network', { networks: ['base-sepolia'] }, 'network_not_allowed'],
])('for %s that the policy leaves out nothing is signed, with value or without', async (_, changed, reason) => {
  await withReserved(async (held) => {
    const wallet = guardWallet(signer, held, { policy: { ...policy, ...changed }, market: MARKET });
    for (const value of [1_000_000n, 0n])
      await expect(wallet.signTypedData(authorization({ value }))).rejects.toMatchObject({ parts: { reason } });
    expect(held.signed).toBe(false);
  });
});
