import { formatUsdc, unitsOfUsdc, usdcOfUnits } from '../contract/money.ts';
import { formed, own } from '../contract/own-words.ts';
import { LISTING_FEE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { bodyDigest, type ListedGoods, type ListGoodsOptions, listGoods } from '../sdk/payments/list-goods.ts';
import { TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PolicyRefused } from './agent-error.ts';
import { guardWallet } from './guard-wallet.ts';
import { judgeSpend } from './policy.ts';
import { mustNotBeRefused, mustNotRepeatRefusal, recordRefusal } from './refused-payment.ts';
import type { HeldSpend } from './spend-book.ts';
import { mayPayAgain, mustBeConfirmed, type SpendOptions, sdkOptions, toUnknownOutcome } from './spend-options.ts';
import {
  isVerified,
  type KeptListing,
  nothingDueEntry,
  paidUnits,
  type SpendPlan,
  type SpendRecord,
} from './spend-record.ts';

export interface SellGoodsOptions extends SpendOptions {
  /** Body of `POST /api/listing`. Sending the same body again gives the same listing. The client needs the merchant's key. */
  listing: ListGoodsOptions['listing'];
  /** Highest fee in USDC. Default: 1. */
  maxFeeUsdc?: number;
  /** Lists the goods again although the book says that they are listed, because the market no longer has the listing. */
  listAgain?: boolean;
  /**
   * Slip of an earlier fee for the same goods, for a market that may have lost the fee. Used only if no payment is in progress. With a slip
   * nothing is signed.
   */
  recoverySlip?: string | undefined;
}

export interface SoldGoods extends KeptListing {
  title: string;
  /** 0n if no fee was due. */
  paidUnits: bigint;
  /** True if the book says that this body was listed before, so that the market wasn't asked. */
  alreadyListed: boolean;
  /** False if only an unconfirmed import says that the goods are listed. */
  verified: boolean;
}

/**
 * Lists goods and pays the fee under policy and book, as `buyGoods` pays for goods. The book keeps the body until the listing is live, so
 * that exactly the same body is sent again. After a kill at any point the same call resumes and pays nothing twice. Throws `PolicyRefused`
 * and what `listGoods` of the SDK throws.
 */
export async function sellGoods(options: SellGoodsOptions): Promise<SoldGoods> {
  return await options.book.hold(feeKey(options), (spend) => sellHeld(options, spend));
}

async function sellHeld(options: SellGoodsOptions, spend: HeldSpend): Promise<SoldGoods> {
  const before = spend.record;
  if (before !== null && before.listed !== null && options.listAgain !== true)
    return soldOf(options, before, { ...before.listed, alreadyListed: true });
  mustNotBeRefused(options, spend, FEE_SUBJECT);
  mustNotRepeatRefusal(options, spend, FEE_SUBJECT);
  const isNew = before === null || before.state === 'settled' || before.state === 'over';
  if (isNew) await reserveFee(options, spend);
  else await spend.noteSentAgain();
  const done = await payFee(options, spend, isNew).catch(async (error: unknown) => {
    throw toUnknownOutcome(spend, await recordRefusal(options, spend, FEE_SUBJECT, error));
  });
  const { record } = spend;
  if (record === null) throw new TypeError('there is no record to finish');
  const url = urlOf(options, done.listing_id);
  const listed = { listing_id: done.listing_id, url, tx_hash: done.fee.tx_hash };
  const isWithoutFee = listed.tx_hash === null && record.state === 'signed';
  await spend.finishSpend({ listed, ...(isWithoutFee ? { unpaid: nothingDueEntry(record) } : {}) });
  return soldOf(options, spend.record ?? record, { ...listed, alreadyListed: false });
}

async function payFee(options: SellGoodsOptions, spend: HeldSpend, isNew: boolean): Promise<ListedGoods> {
  const { client, wallet, policy, listing, payAnew, recoverySlip } = options;
  const { record } = spend;
  if (record === null) throw new TypeError('nothing was reserved');
  const again = mayPayAgain(options, isNew ? null : record) ? () => reserveFee(options, spend) : undefined;
  return await listGoods({
    client,
    wallet: guardWallet(wallet, spend, { policy, market: client.baseUrl, again }),
    listing,
    maxFeeUsdc: usdcOfUnits(BigInt(record.amount_units)),
    treasury: record.payee,
    network: record.network,
    proofStore: spend.proofStore,
    ...(again === undefined ? {} : { mayPayAgain: true }),
    ...(payAnew === true ? { payAnew } : {}),
    ...(isNew && recoverySlip !== undefined ? { recoverySlip } : {}),
    ...sdkOptions(options),
  });
}

const FEE_SUBJECT = { listingId: null };

/** Returns the key of this fee in the SDK and the book. */
function feeKey({ client, listing }: Pick<SellGoodsOptions, 'client' | 'listing'>): string {
  return `${client.baseUrl} list ${bodyDigest(listing)}`;
}

async function reserveFee(options: SellGoodsOptions, spend: HeldSpend): Promise<void> {
  const { client, policy, listing, signal, maxFeeUsdc = usdcOfUnits(LISTING_FEE_UNITS) } = options;
  const { body: facts } = await client.getOfficialFacts({ signal });
  const network = NETWORK_NAMES.find((name) => name === facts.network);
  if (network === undefined) throw new TermsRefused('wrong_network', own`its network is unknown here`);
  const [amountUnits, maxUnits] = [unitsOfUsdc(facts.listing_fee_usdc), unitsOfUsdc(maxFeeUsdc)];
  if (amountUnits === null || maxUnits === null) throw new TermsRefused('unreadable_terms', own`the fee can’t be read`);
  if (amountUnits > maxUnits) {
    const title = own`The fee is ${formatUsdc(amountUnits)}, but you allowed at most ${formatUsdc(maxUnits)}`;
    throw new PolicyRefused('above_max_price', title, own`Nothing was signed. Allow more, or don’t list it.`);
  }
  const title = String(listing.title);
  judgeSpend(policy, { market: client.baseUrl, network, amountUnits, goods: null });
  await mustBeConfirmed(options, { amountUnits, title: `the fee for listing ${title}`, seller: null });
  const plan: SpendPlan = {
    key: feeKey(options),
    market: client.baseUrl,
    kind: 'listing_fee',
    listing_id: null,
    title,
    seller: null,
    payee: facts.treasury as `0x${string}`,
    network,
    out_dir: null,
    listing: { ...listing },
    amountUnits,
  };
  await spend.reserve(plan, policy);
}

/** Builds the address, because one from an answer or an imported record can't be trusted. */
function urlOf({ client }: Pick<SellGoodsOptions, 'client'>, listingId: number): string {
  return `${client.baseUrl}/api/listing/${listingId}`;
}

function soldOf(
  options: Pick<SellGoodsOptions, 'client'>,
  record: SpendRecord,
  { listing_id, tx_hash: hash, alreadyListed }: KeptListing & Pick<SoldGoods, 'alreadyListed'>,
): SoldGoods {
  const { title } = record;
  const [url, tx_hash] = [urlOf(options, listing_id), hash === null ? null : formed('hash', hash)];
  return { listing_id, url, tx_hash, title, alreadyListed, paidUnits: paidUnits(record), verified: isVerified(record) };
}
