import { unitsOfUsdc } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import { DEFAULT_NETWORK, type Network } from '../../contract/vocabulary.ts';
import type { DeliveredGoods } from '../goods/download.ts';
import { ArtifactMismatch, commitmentOf } from './artifact-commitment.ts';
import { commitmentOfListing, refuseOwnGoods, TermsRefused } from './payment-errors.ts';
import { runPaymentFlow } from './payment-flow.ts';
import { finishRun, type PaymentOptions, type PaymentRun, payAnewOf, type Terms } from './payment-run.ts';

export interface BuyOptions extends PaymentOptions {
  listingId: number;
  /** Highest price to sign for, in USDC with at most 6 decimals. */
  maxPriceUsdc: number;
  /** Default: `DEFAULT_NETWORK`. */
  network?: Network['name'];
  /**
   * When to ask first, with an extra signature over value 0, whether this wallet already owns the goods because it bought them, or an older
   * version that includes them. `always` is the default. `newer_versions` asks only if there is an older version, for wallets whose owner
   * confirms each signature. `never` is for callers that have already asked.
   */
  collectFirst?: 'always' | 'newer_versions' | 'never';
}

/**
 * Buys one listing by x402 and resolves to the goods, checked against the listing's commitment. Waits for finality (`finalitySeconds` of
 * the network). Goods that the wallet already owns are collected without signing a payment. Otherwise it signs one payment and sends the
 * same proof until it is decided. Throws `TermsRefused` before signing anything that wasn't agreed to, `MarketError` if the market refuses,
 * `PaymentMayBeLost` if the market may have lost an earlier payment, and `PaymentUndecided` if waiting ends first. Keep the delivery's
 * `recovery_slip` with the receipt: passed as `recoverySlip`, it collects the goods again, even from a market that lost the purchase. Goods
 * that are a file come as `download` instead of `artifact`: pass the delivery to `client.download`, which checks them.
 */
export async function buy(options: BuyOptions): Promise<DeliveredGoods> {
  const { client, wallet, listingId, maxPriceUsdc, signal } = options;
  const maxUnits = unitsOfUsdc(maxPriceUsdc);
  if (maxUnits === null) throw new TypeError('maxPriceUsdc must be a number from 0 on with at most 6 decimals');
  const { done: delivery, run } = await runPaymentFlow<DeliveredGoods>({
    options,
    purpose: 'purchase',
    storeKey: `${client.baseUrl} buy ${listingId} ${wallet.address.toLowerCase()}`,
    listingId,
    collectsFirst: (terms) => collectsFirst(options, terms),
    readTerms: () => readTerms(options, maxUnits),
    send: async ({ collect, collectSalt, ...headers }) => {
      const salted = collectSalt === undefined ? {} : { collect_salt: collectSalt };
      const body = collect ? { collect: true, ...salted } : { max_price_usdc: maxPriceUsdc, ...payAnewOf(options) };
      const answer = await client.buyListing({ params: { id: listingId }, body, ...headers, signal });
      return answer.status === 200 ? { done: answer.body } : { pending: answer.body };
    },
  });
  const checked = delivery.download === null ? delivery : await promisedFile(options, delivery, run);
  if (checked === delivery) await checkGoods(options, delivery, run.terms);
  await finishRun(run);
  return checked;
}

function collectsFirst({ collectFirst = 'always' }: BuyOptions, { expected, isNewerVersion }: Terms): boolean {
  if (expected.amountUnits === 0n || collectFirst === 'never') return false;
  return collectFirst === 'always' || isNewerVersion === true;
}

async function readTerms(options: BuyOptions, maxUnits: bigint): Promise<Terms> {
  const { listing } = await readListing(options);
  const commitment = commitmentOfListing(listing);
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (amountUnits === null) throw new TermsRefused('unreadable_terms', own`the price can’t be read`);
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', own`the price is above maxPriceUsdc`);
  if (amountUnits > 0n) refuseOwnGoods(listing.seller_wallet, options.wallet.address);
  const expected = {
    payee: listing.seller_wallet as `0x${string}`,
    amountUnits,
    network: options.network ?? DEFAULT_NETWORK.name,
  };
  return { expected, artifactCommitment: commitment, isNewerVersion: listing.supersedes !== null };
}

/** Adds what the download needs: the commitment from before the purchase, and the token that opened the payment. */
async function promisedFile(
  options: BuyOptions,
  delivery: DeliveredGoods,
  { terms, token }: PaymentRun<DeliveredGoods>,
): Promise<DeliveredGoods> {
  const isFree = terms.expected.amountUnits === 0n;
  // Free goods may have changed since the terms were read.
  const commitment = isFree ? (await readListing(options)).listing.artifact_commitment : terms.artifactCommitment;
  if (delivery.listing_id !== options.listingId || commitment === null)
    throw new ArtifactMismatch(delivery, commitment ?? '', 'goods of another listing');
  return { ...delivery, artifact_commitment: commitment, ...(token === null ? {} : { delivery_token: token }) };
}

async function checkGoods(options: BuyOptions, delivery: DeliveredGoods, terms: Terms): Promise<void> {
  const actual = commitmentOf(delivery);
  if (delivery.listing_id === options.listingId && actual === terms.artifactCommitment) return;
  // Free goods may change between reading the listing and collecting them. Goods with a price can't.
  if (terms.expected.amountUnits === 0n && delivery.listing_id === options.listingId) {
    const { listing } = await readListing(options);
    if (listing.artifact_commitment === actual) return;
  }
  throw new ArtifactMismatch(delivery, terms.artifactCommitment ?? '', actual);
}

async function readListing({ client, listingId, signal }: BuyOptions) {
  const answer = await client.getListing({ params: { id: listingId }, query: { comments_limit: 1 }, signal });
  return answer.body;
}
