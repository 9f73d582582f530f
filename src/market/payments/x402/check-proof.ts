import { AUTHORIZATION_MAX_AHEAD_SECONDS, AUTHORIZATION_MIN_AHEAD_SECONDS } from '../../../contract/vocabulary.ts';
import { admitSpender } from '../../../platform/budgets/tally.ts';
import { authorizationDigest } from '../../../platform/chain/authorization.ts';
import { checkContractSignature } from '../../../platform/chain/contract-signature.ts';
import { readCode } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../platform/chain/signature.ts';
import { readAuthorizationState, readBalance } from '../../../platform/chain/usdc-reads.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from '../head/read-head.ts';
import type { Proof, Terms } from '../terms.ts';
import { askPayment } from './ask-payment.ts';

type Needs = Pick<Market, 'rpc' | 'clock' | 'config'>;

/**
 * `payer` signed it, for these terms, and the nonce is unused: proof of control over that wallet. `floor` is the finalized block of
 * that moment: any use of the nonce comes after it, and no reorganisation can move one to it or below.
 */
export type ProofCheck = { payer: Hex; floor: bigint } | { refusal: Refusal };

/** What is wrong with a proof without asking anybody, in words; null when nothing is. */
export function findFault(proof: Proof, terms: Terms, network: Needs['config']['network'], now: number): string | null {
  const { authorization } = proof;
  const wanted = proof.version === 1 ? network.name : network.caip2;
  if (proof.scheme !== 'exact') return 'The scheme must be exact.';
  if (proof.network !== wanted) return `The network must be ${wanted}.`;
  if (proof.asset !== null && proof.asset.toLowerCase() !== network.usdc) return 'The asset is not the USDC asked for.';
  if (proof.payTo !== null && proof.payTo.toLowerCase() !== terms.payee) return 'payTo is not the payee asked for.';
  if (proof.amount !== null && proof.amount !== terms.valueUnits.toString())
    return 'The amount is not the one asked for.';
  if (authorization.to !== terms.payee) return 'The authorization pays another payee.';
  if (authorization.value !== terms.valueUnits) return `The value must be exactly ${terms.valueUnits} units.`;
  const seconds = BigInt(Math.floor(now / 1000));
  if (authorization.validAfter > seconds) return 'The authorization is not valid yet.';
  const ahead = authorization.validBefore - seconds;
  if (ahead < BigInt(AUTHORIZATION_MIN_AHEAD_SECONDS)) return 'The authorization has expired or is about to.';
  if (ahead > BigInt(AUTHORIZATION_MAX_AHEAD_SECONDS)) {
    return `validBefore must be at most ${AUTHORIZATION_MAX_AHEAD_SECONDS} s ahead.`;
  }
  return null;
}

/**
 * Our own check of a fresh authorization (W7), all but the balance. Refusals leave nothing behind. A chain that cannot be read is
 * 503: never a verdict on the proof.
 */
export async function checkProof(
  market: Needs,
  proof: Proof,
  terms: Terms,
  readHead: () => Promise<ChainHead>,
): Promise<ProofCheck> {
  const { config } = market;
  if (proof.resourceUrl !== null && proof.resourceUrl !== terms.resource) {
    return { refusal: new Refusal('payment_bound_elsewhere', { detail: 'resource.url names another request.' }) };
  }
  const fault = findFault(proof, terms, config.network, market.clock.now());
  if (fault !== null) return { refusal: askPayment(config, terms, 'payment_invalid', fault) };
  try {
    return await checkOnChain(market, proof, terms, readHead);
  } catch (error) {
    if (error instanceof RpcFailure)
      return { refusal: new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 }) };
    throw error;
  }
}

async function checkOnChain(
  market: Needs,
  proof: Proof,
  terms: Terms,
  readHead: () => Promise<ChainHead>,
): Promise<ProofCheck> {
  const { config } = market;
  const { usdc } = config.network;
  const { from, nonce } = proof.authorization;
  // The signature first: whoever signed nothing costs one call at most.
  if (!(await isSignedBy(market, proof))) {
    const detail = 'The signature is not a canonical one of the payer for these terms.';
    return { refusal: askPayment(config, terms, 'payment_invalid', detail) };
  }
  const { rpc, chainId, latest, floor } = await readHead();
  if (chainId !== config.network.chainId || floor === null) {
    return { refusal: new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 }) };
  }
  const [usedLatest, usedPending] = await Promise.all([
    // Of the provider and the block that the head named, so that a node that lags behind fails instead of calling a used nonce unused.
    readAuthorizationState(rpc, usdc, from, nonce, latest.number),
    readAuthorizationState(rpc, usdc, from, nonce, 'pending'),
  ]);
  if (usedLatest || usedPending) return { refusal: new Refusal('authorization_used_elsewhere') };
  return { payer: from, floor: floor.number };
}

/** Whether the payer signed exactly this authorization. A wallet with code is asked; any other must recover (W7). */
export async function isSignedBy(market: Pick<Market, 'rpc' | 'config'>, proof: Proof): Promise<boolean> {
  const { rpc, config } = market;
  const { from } = proof.authorization;
  const { network } = config;
  const digest = authorizationDigest(
    {
      name: network.domainName,
      version: network.domainVersion,
      chainId: network.chainId,
      verifyingContract: network.usdc,
    },
    proof.authorization,
  );
  const recovered = (await recoverSigner(digest, proof.signature)) === from;
  if (recovered) admitSpender(from);
  const code = await readCode(rpc, from, 'latest');
  return code === '0x' ? recovered : await checkContractSignature(rpc, from, digest, proof.signature);
}

/** The last part of the check, only for a request that would open a row. */
export async function checkBalance(market: Needs, proof: Proof, terms: Terms): Promise<Refusal | null> {
  const { config, rpc } = market;
  try {
    const balance = await readBalance(rpc, config.network.usdc, proof.authorization.from);
    if (balance >= terms.valueUnits) return null;
    return askPayment(config, terms, 'payment_invalid', 'The payer holds less USDC than the price.');
  } catch (error) {
    if (error instanceof RpcFailure) return new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}
