import { afterAll, beforeAll, expect, test } from 'vitest';
import { FUNDED_UNITS, signAuthorization, startTestChain, usdcAdmin } from '../../../test/support/chain.ts';
import { USDC_ADDRESS, usdcDomain, WORLD_ACCOUNTS } from '../../local/chain/accounts.ts';
import type { LocalChain } from '../../local/chain/start-chain.ts';
import type { Hex } from '../hex.ts';
import type { StateBlock } from './reads.ts';
import { type Authorization, authorizationDigest, domainSeparatorOf } from './shapes.ts';
import { recoverSigner } from './signature.ts';
import {
  decodeAuthorizationCanceled,
  decodeAuthorizationUsed,
  decodeTransfer,
  readAuthorizationState,
  readBalance,
  readBlacklisted,
  readDecimals,
  readDomainSeparator,
  readPaused,
} from './usdc.ts';

const isUsed = (authorizer: Hex, nonce: Hex, block: StateBlock): Promise<boolean> =>
  readAuthorizationState(chain.rpc, USDC_ADDRESS, { authorizer, nonce }, block);

/** Domain separator of the real USDC on Base. */
const BASE_SEPARATOR = '0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f';
const { buyerOne, buyerTwo, sellerOne, sellerTwo, facilitator, stranger } = WORLD_ACCOUNTS;

let chain: LocalChain;
beforeAll(async () => {
  chain = await startTestChain({ finalityBlocks: 4 });
});
afterAll(() => chain.stop());

function authorization(nonce: Hex, from = buyerOne.address, value = 1_250_000n): Authorization {
  return { from, to: sellerOne.address, value, validAfter: 0n, validBefore: 2n ** 40n, nonce };
}
const nonceOf = (digit: string): Hex => `0x${digit.repeat(64)}`;

test('the domain separator is that of Base, on the chain and computed', async () => {
  expect(domainSeparatorOf(usdcDomain(8453))).toBe(BASE_SEPARATOR);
  expect(await readDomainSeparator(chain.rpc, USDC_ADDRESS)).toBe(BASE_SEPARATOR);
  expect(domainSeparatorOf(usdcDomain(84532))).not.toBe(BASE_SEPARATOR);
});

test('balance, decimals, pause and blacklist are read as the token has them', async () => {
  const admin = usdcAdmin(chain);
  expect(await readDecimals(chain.rpc, USDC_ADDRESS)).toBe(6);
  expect(await readBalance(chain.rpc, USDC_ADDRESS, stranger.address)).toBe(FUNDED_UNITS);
  expect(await readPaused(chain.rpc, USDC_ADDRESS)).toBe(false);
  await admin.pause();
  expect(await readPaused(chain.rpc, USDC_ADDRESS)).toBe(true);
  expect(await readPaused(chain.rpc, USDC_ADDRESS, 'finalized')).toBe(false);
  await admin.unpause();
  await admin.blacklist(sellerTwo.address);
  expect(await readBlacklisted(chain.rpc, USDC_ADDRESS, sellerTwo.address)).toBe(true);
  expect(await admin.transfer(buyerTwo, sellerTwo.address, 1n)).toMatchObject({ status: 'reverted' });
  await admin.unBlacklist(sellerTwo.address);
  expect(await readBlacklisted(chain.rpc, USDC_ADDRESS, sellerTwo.address)).toBe(false);
});

test('the digest is what a wallet signs and what the token accepts, from any submitter', async () => {
  const terms = authorization(nonceOf('1'));
  const digest = authorizationDigest(usdcDomain(8453), terms);
  const signature = await signAuthorization(chain, buyerOne, terms);
  expect(await buyerOne.signer.sign({ hash: digest })).toBe(signature);
  expect(await recoverSigner(digest, signature)).toBe(buyerOne.address);

  expect(await isUsed(buyerOne.address, terms.nonce, 'latest')).toBe(false);
  const receipt = await usdcAdmin(chain).settleAuthorization(facilitator, terms, signature);
  expect(receipt).toMatchObject({ status: 'success', from: facilitator.address });
  expect(receipt.logs).toHaveLength(2);
  const [used, moved] = receipt.logs;
  expect(used && decodeAuthorizationUsed(used)).toEqual({ authorizer: buyerOne.address, nonce: terms.nonce });
  expect(moved && decodeTransfer(moved)).toEqual({ from: terms.from, to: terms.to, value: terms.value });
  for (const block of ['latest', 'pending'] as const) {
    expect(await isUsed(buyerOne.address, terms.nonce, block)).toBe(true);
  }
  expect(await isUsed(buyerTwo.address, terms.nonce, 'latest')).toBe(false);
});

test('an authorization is settled once, and one with other terms not at all', async () => {
  const admin = usdcAdmin(chain);
  const terms = authorization(nonceOf('2'));
  const signature = await signAuthorization(chain, buyerOne, terms);
  const more = { ...terms, value: terms.value + 1n };
  expect(await admin.settleAuthorization(facilitator, more, signature)).toMatchObject({ status: 'reverted' });
  expect(await admin.settleAuthorization(facilitator, terms, signature)).toMatchObject({ status: 'success' });
  expect(await admin.settleAuthorization(stranger, terms, signature)).toMatchObject({ status: 'reverted' });
});

test('a cancelled nonce reads as gone, and only the log tells that nothing was paid', async () => {
  const admin = usdcAdmin(chain);
  const terms = authorization(nonceOf('3'), buyerTwo.address);
  const receipt = await admin.cancelAuthorization(stranger, buyerTwo, terms.nonce);
  expect(receipt.logs.map(decodeAuthorizationCanceled)).toEqual([{ authorizer: buyerTwo.address, nonce: terms.nonce }]);
  expect(await isUsed(buyerTwo.address, terms.nonce, 'latest')).toBe(true);
  const signature = await signAuthorization(chain, buyerTwo, terms);
  expect(await admin.settleAuthorization(facilitator, terms, signature)).toMatchObject({ status: 'reverted' });
});

test('an address without the token is malformed, not zero', async () => {
  const reads = [
    readBalance(chain.rpc, sellerOne.address, buyerOne.address),
    readPaused(chain.rpc, sellerOne.address),
    readDecimals(chain.rpc, sellerOne.address),
    readAuthorizationState(
      chain.rpc,
      sellerOne.address,
      { authorizer: buyerOne.address, nonce: nonceOf('1') },
      'latest',
    ),
  ];
  for (const read of await Promise.allSettled(reads)) {
    expect(read).toMatchObject({ status: 'rejected', reason: { name: 'RpcFailure', kind: 'malformed' } });
  }
});
