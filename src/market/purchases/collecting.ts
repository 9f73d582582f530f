import { timingSafeEqual } from 'node:crypto';
import { checksummed } from '../../contract/chain-values.ts';
import { type CollectTerms, collectNonce } from '../../contract/collect-text.ts';
import type { CollectedBy } from '../../contract/listings.ts';
import type { Queryable } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketConfig } from '../context.ts';
import { isRefused, judgeStep } from '../listings/listing-steps.ts';
import type { ListingTerms } from '../listings/store.ts';
import { checkProof, type ProofCheck } from '../payments/paths/x402/check-proof.ts';
import { paymentRequired } from '../payments/paths/x402/payment-required.ts';
import type { Proof } from '../payments/terms.ts';
import { type BuyContext, type BuyRequest, purchaseTerms } from './buy-request.ts';
import { type Buyer, isEarlierBuyer, isSignatureUsed, noteSignatureUsed, pruneUsedSignatures } from './store.ts';

/** A row outlives its signature by this much, because the clocks of processes differ a little. */
const EXTRA_RETENTION_MS = 600_000;
const PRUNED_AT_ONCE = 100;

/** Whether this is an authorization of value 0. It moves no money; in its special form it collects goods, otherwise it is useless. */
export function isZeroValue(proof: Proof): boolean {
  return proof.authorization.value === 0n;
}

/** Checks an authorization of value 0, by which a wallet shows that it paid for the goods. */
export async function checkCollecting(
  { market, payments, request, listing }: BuyContext,
  proof: Proof,
): Promise<ProofCheck> {
  const terms = { ...purchaseTerms(market, listing), valueUnits: 0n };
  const { from: payer, nonce } = proof.authorization;
  if (!request.collectOnly || request.collectSalt === null) {
    return { refusal: refuseWithoutValue(market, listing) };
  }
  const expectedNonce = collectNonce(collectTerms(market, listing, payer, request.collectSalt));
  if (nonce !== expectedNonce) {
    const detail = `The nonce is not that of a collecting signature for listing ${listing.id} at ${market.config.baseUrl} with this collect_salt.`;
    return { refusal: paymentRequired(market.config, terms, 'payment_invalid', detail) };
  }
  const shown = { payer, nonce, merchantId: request.merchant?.id ?? null };
  if (await isSignatureUsed(market.database, shown)) return { refusal: new Refusal('collect_signature_used') };
  return await checkProof(market, { proof, terms }, payments.readHead, { alsoAtFinalized: true });
}

/** Builds the refusal. Free goods have no terms to sign. */
function refuseWithoutValue(market: Market, listing: ListingTerms): Refusal {
  const detail = 'An authorization of value 0 pays for nothing; it collects with {"collect": true, "collect_salt"}.';
  if (listing.priceUnits > 0n)
    return paymentRequired(market.config, purchaseTerms(market, listing), 'payment_invalid', detail);
  return new Refusal('payment_invalid', {
    detail,
    nextStep: 'These goods are free: ask for them without a proof.',
  });
}

function collectTerms({ config }: Market, { id }: ListingTerms, payer: Hex, salt: Hex): CollectTerms {
  return { baseUrl: config.baseUrl, chainId: config.network.chainId, listingId: id, payer, salt };
}

/** Marks the signature as used. Call it directly before the goods are handed out, so that only one of two concurrent requests gets them. */
export async function markSignatureUsed(market: Market, request: BuyRequest, { authorization }: Proof): Promise<void> {
  const { database, clock } = market;
  const { from: payer, nonce, validBefore } = authorization;
  const shown = { payer, nonce, merchantId: request.merchant?.id ?? null };
  await pruneUsedSignatures(database, new Date(clock.now() - EXTRA_RETENTION_MS), PRUNED_AT_ONCE);
  if (await noteSignatureUsed(database, shown, new Date(Number(validBefore) * 1000))) return;
  throw new Refusal('collect_signature_used');
}

/**
 * Builds the 402 for a caller who wants to collect but has shown nothing: `collect` says what to sign, which moves no money. A client that
 * sends no salt may not know about `collect`, so it also gets the price terms; an authorization for those is never settled.
 */
export function askToCollect(config: MarketConfig, { collectSalt }: BuyRequest, listing: ListingTerms): Refusal {
  const detail =
    'Sign to show that you control the paying wallet: an authorization of value 0, as `collect` says. It moves no money.';
  const terms = purchaseTerms({ config }, listing);
  const required = paymentRequired(
    config,
    collectSalt === null ? terms : { ...terms, valueUnits: 0n },
    'payment_required',
    detail,
  );
  const collect = {
    base_url: config.baseUrl,
    chain_id: Number(config.network.chainId),
    listing_id: Number(listing.id),
    to: checksummed(listing.sellerWallet),
    value: '0',
    nonce_of: ['openaisle collect', 'base_url', 'chain_id', 'listing_id', 'payer', 'collect_salt'],
  };
  return new Refusal(required.reason, { ...required.options, fields: { ...required.options.fields, collect } });
}

/** Identity of the caller of a request. A payment proof that was submitted once identifies no one, because it is public. */
export interface Collector {
  merchantId: bigint | null;
  /** SHA-256 of the delivery token, if one was sent. */
  tokenHash: Buffer | null;
  /** The wallet that signed a fresh authorization for this listing. */
  signedBy: Hex | null;
}

export function collectorOf(request: BuyRequest, signedBy: Collector['signedBy']): Collector {
  return { merchantId: request.merchant?.id ?? null, tokenHash: request.token?.hash ?? null, signedBy };
}

interface Collectable {
  merchantId: bigint | null;
  payer: Hex | null;
  payerCollectsOnly: boolean;
}

export function mayCollect(collector: Collector, goods: Collectable, deliveryTokenHash: Buffer | null): boolean {
  if (collector.signedBy !== null && collector.signedBy === goods.payer) return true;
  return collectedBy(collector, goods, deliveryTokenHash) !== 'signature';
}

/** Returns how this request collects the goods; `signature` if neither its key nor its token does. */
export function collectedBy(collector: Collector, goods: Collectable, deliveryTokenHash: Buffer | null): CollectedBy {
  if (goods.payerCollectsOnly) return 'signature';
  if (collector.merchantId !== null && collector.merchantId === goods.merchantId) return 'key';
  const { tokenHash } = collector;
  const isTokenMatch =
    tokenHash !== null && deliveryTokenHash !== null && timingSafeEqual(tokenHash, deliveryTokenHash);
  return isTokenMatch ? 'token' : 'signature';
}

export function signToCollect(): Refusal {
  return new Refusal('sign_to_collect');
}

/**
 * Whether this buyer gets the goods free because it bought an older version. Only reads: an entitlement is never stored, so it cannot
 * collide with a payment of the same buyer (0027). Purchases add entitlements. A removal ends them, because removed goods go to nobody new.
 */
export async function isEntitled(
  queryable: Queryable,
  listing: Pick<ListingTerms, 'id' | 'merchantId' | 'state'>,
  buyer: Buyer,
): Promise<boolean> {
  if (buyer.merchantId === null && buyer.payer === null) return false;
  if (buyer.merchantId === listing.merchantId) return false;
  if (isRefused(judgeStep(listing, 'inherit'))) return false;
  return await isEarlierBuyer(queryable, listing.id, buyer);
}
