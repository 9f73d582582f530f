import { unitsOfUsdc, usdcOfUnits } from '../../../contract/money.ts';
import { own } from '../../../contract/own-words.ts';
import type { ClaimBody } from '../../../contract/payments.ts';
import { DEFAULT_NETWORK, LISTING_FEE_UNITS, type Network } from '../../../contract/vocabulary.ts';
import { MarketError } from '../../errors.ts';
import { bodyDigest, type ListedGoods, type ListGoodsOptions } from '../list-goods.ts';
import { TermsRefused } from '../payment-errors.ts';
import { payAnewOf } from '../payment-run.ts';
import { checkFacts, OTHER_FEE, type TransferTerms } from './check-intent.ts';
import { payByTransfer } from './pay-by-transfer.ts';
import { TransferUndecided } from './transfer-errors.ts';
import type { TransferOptions } from './transfer-options.ts';
import { type Answer, progressOf, repeatUntilDecided, reportTransfer, type TransferRun } from './transfer-run.ts';

export interface ListByTransferOptions extends TransferOptions {
  /** Body of `POST /api/listing`. Sending the same body again gives the same listing. */
  listing: ListGoodsOptions['listing'];
  /** Highest fee in USDC. Default: `LISTING_FEE_UNITS`. */
  maxFeeUsdc?: number;
  /** Required payee of the fee. Default: the treasury in the market's official facts. */
  treasury?: string;
  /** Default: `DEFAULT_NETWORK`. */
  network?: Network['name'];
}

/**
 * Lists goods, pays the fee by a plain USDC transfer if one is due, and waits until the listing is live. A dry run checks the goods before
 * anything is paid. Needs a client with a key. Refuses, retries and waits like `buyByTransfer`.
 */
export async function listByTransfer(options: ListByTransferOptions): Promise<ListedGoods> {
  const { client, wallet, listing, signal } = options;
  const { done, run } = await payByTransfer<ListedGoods>({
    options,
    storeKey: `${client.baseUrl} list by transfer ${bodyDigest(listing)} ${wallet.address.toLowerCase()}`,
    tipUnits: 0n,
    agree: (agreeing) => agreeOnFee(options, agreeing),
    openIntent: async () => {
      const body = { payer_wallet: wallet.address.toLowerCase(), ...payAnewOf(options) };
      const answer = await client.openFeeIntent({ body, signal });
      return { intent: answer.body.fee_intent, isNew: answer.status === 201 };
    },
    checkSignature: async (body) => (await client.openFeeIntent({ body, signal })).body.signature_checked ?? null,
    claim: (body, recoverySlip) => postListing(options, body, recoverySlip),
  });
  reportTransfer(run, 'delivered');
  return done;
}

type Agreed = { terms: TransferTerms } | { done: ListedGoods };

/** Returns the terms of the fee, or the listing if it already exists or an earlier fee covers it. */
async function agreeOnFee(options: ListByTransferOptions, run: TransferRun<ListedGoods>): Promise<Agreed> {
  const { client, signal } = options;
  const terms = await readTerms(options);
  try {
    const { status, body } = await client.createListing({ query: { dry_run: 'true' }, body: options.listing, signal });
    if (status !== 200 || !('dry_run' in body)) throw new TypeError('the market did not treat the dry run as one');
    if (body.would_cost_usdc === usdcOfUnits(terms.amountUnits)) return { terms };
    if (body.would_cost_usdc !== 0)
      throw new TermsRefused('wrong_amount', own`the fee differs from the official facts`, { nextStep: OTHER_FEE });
  } catch (error) {
    // If this body was listed before, the dry run reports its own listing as the duplicate. Posting the body again returns that listing.
    const perhapsOwn = ['duplicate_listing', 'already_superseded'];
    if (!(error instanceof MarketError) || !perhapsOwn.includes(error.reason)) throw error;
  }
  return { done: await listUnpaid(options, run) };
}

/** Posts the listing without a payment. Treats a request to pay as an error, because the dry run found no fee or refused the goods. */
async function listUnpaid(options: ListByTransferOptions, run: TransferRun<ListedGoods>): Promise<ListedGoods> {
  return await repeatUntilDecided<ListedGoods>(run, {
    ask: () => postListing(options, undefined),
    seen: (pending, error) => reportTransfer(run, 'pending', progressOf(pending, error)),
    undecided: (detail, cause) => new TransferUndecided(detail, null, cause),
    refused: (error) => error,
  });
}

async function postListing(
  { client, listing, signal }: ListByTransferOptions,
  claim: ClaimBody | undefined,
  recoverySlip?: string,
): Promise<Answer<ListedGoods>> {
  const body = claim === undefined ? listing : { ...listing, fee_payment: claim };
  const answer = await client.createListing({ body, recoverySlip, signal });
  if (answer.status === 202) return { pending: answer.body };
  if ('listing_id' in answer.body) return { done: answer.body };
  throw new TypeError('the market treated the listing as a dry run');
}

async function readTerms(options: ListByTransferOptions): Promise<TransferTerms> {
  const { client, wallet, network = DEFAULT_NETWORK.name, signal } = options;
  const { body: facts } = await client.getOfficialFacts({ signal });
  checkFacts(facts, network);
  const amountUnits = unitsOfUsdc(facts.listing_fee_usdc);
  const maxUnits = unitsOfUsdc(options.maxFeeUsdc ?? usdcOfUnits(LISTING_FEE_UNITS));
  if (amountUnits === null || maxUnits === null) throw new TermsRefused('unreadable_terms', own`the fee can’t be read`);
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', own`the fee is above maxFeeUsdc`);
  return {
    ...{ purpose: 'listing_fee', listingId: null, payer: wallet.address, amountUnits, network },
    payee: options.treasury ?? facts.treasury,
    market: client,
    artifactCommitment: null,
  };
}
