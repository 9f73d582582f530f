import { checksummed } from '../../../contract/chain-values.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketConfig } from '../../context.ts';
import type { ListingTerms } from '../../listings/store.ts';
import { askPayment } from '../../payments/paths/x402/ask-payment.ts';
import { type BuyRequest, purchaseTerms } from '../buy-request.ts';

/**
 * The 402 to who wants to collect and has shown nothing: in `collect` what to sign, which moves no money. Who sends no salt may be a client
 * that knows nothing of it, and is shown the terms of the price as well, an authorization for which is never settled.
 */
export function askToCollect(config: MarketConfig, { collectSalt }: BuyRequest, listing: ListingTerms): Refusal {
  const detail =
    'Sign to show that you control the paying wallet: an authorization of value 0, as `collect` says. It moves no money.';
  const terms = purchaseTerms({ config }, listing);
  const asked = askPayment(
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
  return new Refusal(asked.reason, { ...asked.options, fields: { ...asked.options.fields, collect } });
}
