import { checksummed } from '../../contract/chain-values.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { readBlacklisted } from '../../platform/chain/usdc.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { takeQuotaOnce } from '../../platform/database/quota.ts';
import { ZERO_ADDRESS } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import type { ChangingListing } from './changes/store.ts';
import { shapeOf } from './goods-content.ts';
import type { Fingerprint } from './near/fingerprint.ts';
import { checkNear, duplicateOf } from './near/near-guard.ts';
import type { Goods, Version } from './read-goods.ts';
import {
  countPaidListings,
  findGuard,
  findLostListing,
  findPredecessor,
  findWalletKind,
  type GuardOwner,
  type ListingTerms,
  type WalletKind,
} from './store.ts';

const DAY_MS = 86_400_000;

/** Goods that a merchant wants to list. Every check that needs only the request has passed. */
export interface GoodsRequest {
  merchant: Merchant;
  goods: Goods;
  version: Version | null;
  rawBody: unknown;
  bodyHash: Buffer;
  guardKey: Buffer;
}

/**
 * Finds every fault before the 402, so that no merchant pays for a refused listing. Returns the fingerprint for the check when the goods
 * are listed.
 */
export async function checkGoods(market: Market, request: GoodsRequest): Promise<Fingerprint | null> {
  const { database } = market;
  const { merchant, goods, guardKey } = request;
  const versionChain = await checkVersion(database, merchant.id, request.version);
  await checkWallet(market, goods.sellerWallet, 'ordinary');
  const owner = await findGuard(database, guardKey, new Date(market.clock.now()));
  if (owner !== null && !isHeldByVersion(owner, versionChain)) throw duplicateRefusal(merchant.id, owner);
  const fingerprint = shapeOf(goods.content);
  await checkNear(database, market, fingerprint, versionChain);
  return fingerprint;
}

/** Whether an older version holds the guard entry, so that the newer one may take it over. */
function isHeldByVersion({ listingId }: GuardOwner, versionChain: readonly bigint[]): boolean {
  return listingId !== null && versionChain.includes(listingId);
}

/** Checks that the wallet can be paid and does not sell both goods and things, because one transfer must not buy at two sites. */
export async function checkWallet(market: Market, wallet: `0x${string}`, kind: WalletKind): Promise<void> {
  const { network, treasury } = market.config;
  if (wallet === ZERO_ADDRESS || wallet === network.usdc || wallet === treasury) {
    throw new Refusal('seller_wallet_refused');
  }
  const used = await findWalletKind(market.database, wallet);
  if (used !== null && used !== kind) throw new Refusal('wallet_in_use');
  try {
    if (await readBlacklisted(market.rpc, network.usdc, wallet)) {
      throw new Refusal('seller_wallet_refused', { detail: 'The USDC contract blocks that wallet.' });
    }
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}

/** Builds the refusal of equal goods. If a listing has them, the text is the same as for nearly equal ones. */
export function duplicateRefusal(merchantId: bigint, owner: GuardOwner): Refusal {
  if (owner.listingId !== null) return duplicateOf(owner.listingId);
  const whose = owner.merchantId === merchantId ? 'of yours ' : '';
  return new Refusal('duplicate_listing', {
    detail: `Other goods ${whose}with the same title and artifact have their fee under way.`,
  });
}

/**
 * Limits a merchant's guard runs per day; each listing paid for today allows one more. The same body counts once, so that it can be sent
 * again with the payment.
 */
export async function takeGuardRun(market: Market, request: GoodsRequest): Promise<void> {
  const { merchant } = request;
  if (merchant.maintainer) return;
  const dayStart = new Date(Math.floor(market.clock.now() / DAY_MS) * DAY_MS);
  const paid = await countPaidListings(market.database, merchant.id, dayStart);
  const quota = {
    name: 'guard_runs_per_merchant_day',
    subject: merchant.id.toString(),
    limit: market.config.limits.guard_runs_per_merchant_day + paid,
    windowSeconds: DAY_MS / 1000,
  };
  const seen = { name: 'guard_body', subject: `${merchant.id}:${request.bodyHash.toString('hex')}` };
  await takeQuotaOnce(market, quota, seen);
}

/**
 * Checks that the merchant may supersede the named listing. It must be the merchant's own listing of goods, in any state, and not
 * superseded yet; a thing has no versions. Returns the named listing and all older versions, which the new one may resemble.
 */
export async function checkVersion(
  queryable: Queryable,
  merchantId: bigint,
  version: Version | null,
): Promise<readonly bigint[]> {
  if (version === null) return [];
  const predecessor = await findPredecessor(queryable, version.supersedes);
  if (predecessor === null)
    throw new Refusal('not_found', { detail: 'There is no listing with the id in supersedes.' });
  if (predecessor.merchantId !== merchantId) throw new Refusal('not_owner');
  if (predecessor.isThing) {
    throw new Refusal('listing_closed', {
      detail: `Listing ${version.supersedes} is a thing of the city, and has no versions.`,
    });
  }
  if (predecessor.successorId !== null) {
    throw new Refusal('already_superseded', {
      detail: `Listing ${predecessor.successorId} supersedes listing ${version.supersedes}.`,
      fields: { listing_id: Number(predecessor.successorId) },
    });
  }
  return predecessor.versionChain;
}

/** Requires the caller's own listing. Listings are public, so another merchant's gets not_owner instead of not_found. */
export function mustOwn(listing: ChangingListing | null, caller: Merchant): ChangingListing {
  const existing = mustExist(listing);
  if (existing.merchantId !== caller.id) throw new Refusal('not_owner');
  return existing;
}

export function mustExist<T>(listing: T | null): T {
  if (listing === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
  return listing;
}

/** Call for an id without a listing. The market may have lost that listing after it was shown, and a buyer may have paid for it. */
export async function mustNotBeLost(queryable: Queryable, id: bigint): Promise<void> {
  const lost = await findLostListing(queryable, id);
  if (lost === null) return;
  throw new Refusal('listing_lost', lost.payee === null ? {} : { fields: { payee: checksummed(lost.payee) } });
}

/**
 * Refuses payments to a wallet of another chain, because on this market's chain the address may belong to someone else, or to a contract
 * that does not exist there.
 */
export function mustBeOnNetwork({ config: { network } }: Pick<Market, 'config'>, { chainId }: ListingTerms): void {
  if (chainId === null || chainId === network.chainId) return;
  const detail = `The listing is of chain ${chainId}, and this market takes payments on ${network.displayName}.`;
  throw new Refusal('listing_unavailable', { detail });
}
