import { checksummed } from '../../contract/chain-values.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { readBlacklisted } from '../../platform/chain/usdc.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { takeQuotaOnce } from '../../platform/database/quota.ts';
import { ZERO_ADDRESS } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import type { ChangingListing } from './changes/store.ts';
import { checkNear, duplicateOf } from './near/near-guard.ts';
import { type Shape, shapeOf } from './near/shape.ts';
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

/** Goods that a merchant means to list, after everything that can be read from the request alone. */
export interface GoodsRequest {
  merchant: Merchant;
  goods: Goods;
  version: Version | null;
  rawBody: unknown;
  bodyHash: Buffer;
  guardKey: Buffer;
}

/**
 * No merchant is asked to pay for what would be refused: everything that can be wrong with a listing is found before the 402. Gives the
 * shape of the goods, for the look that comes when they go live.
 */
export async function checkGoods(market: Market, request: GoodsRequest): Promise<Shape | null> {
  const { database } = market;
  const { merchant, goods, guardKey } = request;
  const line = await checkVersion(database, merchant.id, request.version);
  await checkWallet(market, goods.sellerWallet, 'ordinary');
  const owner = await findGuard(database, guardKey, new Date(market.clock.now()));
  if (owner !== null && !isOf(owner, line)) throw duplicate(merchant.id, owner);
  const shape = shapeOf(goods.content);
  await checkNear(database, market, shape, line);
  return shape;
}

/** Whether a newer version may take the place over. */
function isOf({ listingId }: GuardOwner, line: readonly bigint[]): boolean {
  return listingId !== null && line.includes(listingId);
}

/** Whether this wallet can be paid, and sells nothing of the other kind: one transfer must not buy on two sites. */
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

/** In the same words whether the goods are the same or nearly so. */
export function duplicate(merchantId: bigint, owner: GuardOwner): Refusal {
  if (owner.listingId !== null) return duplicateOf(owner.listingId);
  const whose = owner.merchantId === merchantId ? 'of yours ' : '';
  return new Refusal('duplicate_listing', {
    detail: `Other goods ${whose}with the same title and artifact have their fee under way.`,
  });
}

/**
 * Runs of the guard that no paid listing came of are few a day; the maintainer lists without a cap. The same body counts once: who
 * was asked to pay for it is not refused when the payment comes.
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
 * Any own listing of goods can be superseded, in whatever state, once; there is one of each thing. Gives the listing that is named and all
 * older ones of its line: with these the new one may be alike.
 */
export async function checkVersion(
  queryable: Queryable,
  merchantId: bigint,
  version: Version | null,
): Promise<readonly bigint[]> {
  if (version === null) return [];
  const found = await findPredecessor(queryable, version.supersedes);
  if (found === null) throw new Refusal('not_found', { detail: 'There is no listing with the id in supersedes.' });
  if (found.merchantId !== merchantId) throw new Refusal('not_owner');
  if (found.isThing) {
    throw new Refusal('listing_closed', {
      detail: `Listing ${version.supersedes} is a thing of the city, and has no versions.`,
    });
  }
  if (found.successorId !== null) {
    throw new Refusal('already_superseded', {
      detail: `Listing ${found.successorId} supersedes listing ${version.supersedes}.`,
      fields: { listing_id: Number(found.successorId) },
    });
  }
  return found.line;
}

/** The listing, if there is one and it is the caller's. A listing is public, so a foreign one is not denied to exist (W2). */
export function mustOwn(listing: ChangingListing | null, caller: Merchant): ChangingListing {
  const found = mustExist(listing);
  if (found.merchantId !== caller.id) throw new Refusal('not_owner');
  return found;
}

export function mustExist<T>(listing: T | null): T {
  if (listing === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
  return listing;
}

/** For an id without a listing: after a loss of history the listing may have been shown, and a buyer may have paid for it (W16). */
export async function mustNotBeLost(queryable: Queryable, id: bigint): Promise<void> {
  const lost = await findLostListing(queryable, id);
  if (lost === null) return;
  throw new Refusal('listing_lost', lost.payee === null ? {} : { fields: { payee: checksummed(lost.payee) } });
}

/** A wallet of another chain may belong to another owner here, or to a contract that does not exist here: nothing is paid to it. */
export function mustBeOnNetwork({ config: { network } }: Pick<Market, 'config'>, { chainId }: ListingTerms): void {
  if (chainId === null || chainId === network.chainId) return;
  const detail = `The listing is of chain ${chainId}, and this market takes payments on ${network.displayName}.`;
  throw new Refusal('listing_unavailable', { detail });
}
