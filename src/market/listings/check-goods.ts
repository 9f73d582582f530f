import { RpcFailure } from '../../platform/chain/rpc.ts';
import { readBlacklisted } from '../../platform/chain/usdc-reads.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { takeQuotaOnce } from '../limits/take-quota.ts';
import type { ListRequest } from './list-request.ts';
import { countPaidListings, findGuard, findWalletKind, type GuardOwner } from './store.ts';

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';
const DAY_MS = 86_400_000;

/** Nobody is asked to pay for what would be refused: everything that can be wrong with a listing is found before the 402. */
export async function checkGoods(market: Market, request: ListRequest): Promise<void> {
  await checkWallet(market, request.goods.sellerWallet);
  const owner = await findGuard(market.database, request.guardKey, new Date(market.clock.now()));
  if (owner !== null) throw duplicate(request, owner);
}

async function checkWallet(market: Market, wallet: `0x${string}`): Promise<void> {
  const { network, treasury } = market.config;
  if (wallet === ZERO_ADDRESS || wallet === network.usdc || wallet === treasury) {
    throw new Refusal('seller_wallet_refused');
  }
  if ((await findWalletKind(market.database, wallet)) === 'world') throw new Refusal('wallet_in_use');
  try {
    if (await readBlacklisted(market.rpc, network.usdc, wallet)) {
      throw new Refusal('seller_wallet_refused', { detail: 'The USDC contract blocks that wallet.' });
    }
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}

/** Names the other listing and nothing about it: the guard must not serve to guess hidden goods. */
export function duplicate(request: ListRequest, owner: GuardOwner): Refusal {
  if (owner.listingId !== null) {
    return new Refusal('duplicate_listing', {
      detail: `Listing ${owner.listingId} has the same title and artifact.`,
      fields: { listing_id: Number(owner.listingId) },
    });
  }
  const whose = owner.merchantId === request.merchant.id ? 'of yours ' : '';
  return new Refusal('duplicate_listing', {
    detail: `Another request ${whose}with the same title and artifact has its fee under way.`,
  });
}

/**
 * Runs of the guard that no paid listing came of are few a day; the maintainer lists without a cap. The same body counts once: who
 * was asked to pay for it is not refused when the payment comes.
 */
export async function takeGuardRun(market: Market, request: ListRequest): Promise<void> {
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
