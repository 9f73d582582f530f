import { unitsOfUsdc } from '../../../contract/money.ts';
import { own } from '../../../contract/own-words.ts';
import { DEFAULT_NETWORK, type Network } from '../../../contract/vocabulary.ts';
import { MarketError } from '../../errors.ts';
import type { DeliveredGoods } from '../../goods/download.ts';
import { ArtifactMismatch, commitmentOf } from '../artifact-commitment.ts';
import { commitmentOfListing, refuseOwnGoods, TermsRefused } from '../payment-errors.ts';
import { payAnewOf } from '../payment-run.ts';
import { checkFacts, type TransferTerms } from './check-intent.ts';
import { payByTransfer } from './pay-by-transfer.ts';
import type { TransferOptions } from './transfer-options.ts';
import { reportTransfer } from './transfer-run.ts';

export interface BuyByTransferOptions extends TransferOptions {
  listingId: number;
  /** Highest price, in USDC with at most 6 decimals. */
  maxPriceUsdc: number;
  /** Extra amount for the seller in USDC. */
  tipUsdc?: number;
  /** Default: `DEFAULT_NETWORK`. */
  network?: Network['name'];
}

/**
 * Buys one listing by a plain USDC transfer that the wallet sends itself. Resolves to the goods, checked against the listing's commitment,
 * once the transfer is final. Needs a client with a key. Sends one transfer, even if called again after a crash. Throws `TermsRefused`
 * before anything is sent, `TransferMayBeSent` if a transfer may have been sent before, `TransferRefused` if the market refuses it, and
 * `TransferUndecided` if waiting ends first. Goods bought before are collected without paying.
 */
export async function buyByTransfer(options: BuyByTransferOptions): Promise<DeliveredGoods> {
  const { client, wallet, listingId, tipUsdc = 0, signal } = options;
  const [maxUnits, tipUnits] = [unitsOfUsdc(options.maxPriceUsdc), unitsOfUsdc(tipUsdc)];
  if (maxUnits === null || tipUnits === null) {
    throw new TypeError('maxPriceUsdc and tipUsdc must be numbers from 0 on with at most 6 decimals');
  }
  try {
    const { done, run, saved } = await payByTransfer<DeliveredGoods>({
      options,
      storeKey: `${client.baseUrl} buy by transfer ${listingId} ${wallet.address.toLowerCase()}`,
      tipUnits,
      agree: async () => ({ terms: await readTerms(options, maxUnits) }),
      openIntent: async () => {
        const body = { payer_wallet: wallet.address.toLowerCase(), ...payAnewOf(options) };
        const answer = await client.openPurchaseIntent({ params: { id: listingId }, body, signal });
        return { intent: answer.body.purchase_intent, isNew: answer.status === 201 };
      },
      checkSignature: async (body) =>
        (await client.openPurchaseIntent({ params: { id: listingId }, body, signal })).body.signature_checked ?? null,
      claim: async (body, recoverySlip) => {
        const answer = await client.claimPurchase({ params: { id: listingId }, body, recoverySlip, signal });
        if (answer.status === 202) return { pending: answer.body };
        if ('artifact' in answer.body) return { done: answer.body };
        throw new TypeError('the market ignored the transaction of the claim');
      },
    });
    const goods = checkGoods(options, done, saved?.artifact_commitment ?? '');
    reportTransfer(run, 'delivered');
    return goods;
  } catch (error) {
    // Opening the intent failed, so nothing was sent. The merchant owns the goods, or gets them free as buyer of an older version.
    const isOwned = error instanceof MarketError && ['purchase_exists', 'free_listing'].includes(error.reason);
    if (isOwned) return await collectOwned(options, error);
    throw error;
  }
}

async function readTerms(options: BuyByTransferOptions, maxUnits: bigint): Promise<TransferTerms> {
  const { client, wallet, listingId, network = DEFAULT_NETWORK.name, signal } = options;
  const { body: facts } = await client.getOfficialFacts({ signal });
  checkFacts(facts, network);
  const listing = await readListing(options);
  const commitment = commitmentOfListing(listing);
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (amountUnits === null) throw new TermsRefused('unreadable_terms', own`the price can’t be read`);
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', own`the price is above maxPriceUsdc`);
  if (amountUnits === 0n) {
    const nextStep = own`Get them with buy, which signs nothing for free goods.`;
    throw new TermsRefused('wrong_amount', own`these goods are free`, { nextStep });
  }
  refuseOwnGoods(listing.seller_wallet, wallet.address);
  return {
    ...{ purpose: 'purchase', listingId, payer: wallet.address, payee: listing.seller_wallet, amountUnits, network },
    market: client,
    artifactCommitment: commitment,
  };
}

/** Collects goods that the merchant owns, without paying. */
async function collectOwned(options: BuyByTransferOptions, exists: MarketError): Promise<DeliveredGoods> {
  const { client, listingId, signal } = options;
  const listing = await readListing(options);
  const answer = await client.buyListing({ params: { id: listingId }, body: { collect: true }, signal });
  if (answer.status !== 200) throw exists;
  return checkGoods(options, answer.body, commitmentOfListing(listing));
}

/** Checks the goods. A file is checked by `client.download`, against the commitment that is added here. */
function checkGoods({ listingId }: BuyByTransferOptions, delivery: DeliveredGoods, commitment: string): DeliveredGoods {
  const isFile = delivery.download !== null;
  const actual = isFile ? commitment : commitmentOf(delivery);
  if (delivery.listing_id !== listingId || actual !== commitment) {
    throw new ArtifactMismatch(delivery, commitment, actual);
  }
  return isFile ? { ...delivery, artifact_commitment: commitment } : delivery;
}

async function readListing({ client, listingId, signal }: BuyByTransferOptions) {
  const answer = await client.getListing({ params: { id: listingId }, query: { comments_limit: 1 }, signal });
  return answer.body.listing;
}
