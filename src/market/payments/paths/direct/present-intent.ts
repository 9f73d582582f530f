import { checksummed } from '../../../../contract/chain-values.ts';
import { usdcText } from '../../../../contract/money.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Market, Merchant } from '../../../context.ts';
import type { Intent } from './store.ts';

/** An intent as its owner sees it; `listing_id` is for the route to add. */
export function presentIntentTerms(
  { config }: Pick<Market, 'config'>,
  intent: Intent,
  merchant: Merchant,
  next: string,
) {
  return {
    id: intent.id,
    buyer: merchant.handle,
    payer_wallet: intent.payer && checksummed(intent.payer),
    seller_wallet: checksummed(intent.payee),
    network: config.network.name,
    chain_id: Number(intent.chainId),
    asset: checksummed(intent.asset),
    minimum_amount_usdc: usdcText(intent.minimumUnits),
    minimum_amount_units: intent.minimumUnits.toString(),
    challenge_nonce: intent.nonce,
    created_at: isoTime(intent.createdAt),
    expires_at: isoTime(intent.expiresAt),
    signature_method: 'personal_sign' as const,
    challenge: intent.challenge,
    tip_allowed: true as const,
    next,
  };
}
