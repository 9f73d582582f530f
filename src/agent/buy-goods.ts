import { join, resolve } from 'node:path';
import type { Delivery, ListingDetail } from '../contract/listings.ts';
import { sayUsdc, unitsOfUsdc, usdcOfUnits } from '../contract/money.ts';
import { formed, type OwnWords, own } from '../contract/own-words.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { MarketError } from '../sdk/errors.ts';
import { ArtifactMismatch, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { buy } from '../sdk/payments/buy.ts';
import { goodsOf, mustNotBeOwn, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { createMemoryProofStore } from '../sdk/payments/proof-store.ts';
import { AgentError, PolicyRefused } from './agent-error.ts';
import { folderNameOf } from './folders.ts';
import { guardWallet } from './guard-wallet.ts';
import { judgeSpend } from './policy.ts';
import { afterRefusal, afterRefusedCollecting, isOfSignature, mustNotBeRefused } from './refused-payment.ts';
import { lookAtGoods, mustTakeFiles, saveGoods } from './save-goods.ts';
import type { HeldSpend, SpendBook } from './spend-book.ts';
import { mayPayAgain, mustBeConfirmed, passedOn, type SpendOptions, unknownOnceSigned } from './spend-options.ts';
import {
  isFree,
  isVerified,
  type KeptGoods,
  nothingDue,
  paidUnits,
  type SpendPlan,
  type SpendRecord,
} from './spend-record.ts';
import { whyNotVerified } from './verify-goods.ts';

export interface BuyGoodsOptions extends SpendOptions {
  listingId: number;
  /** The most that this may cost, in USDC; the policy may allow less. */
  maxPriceUsdc: number;
  /** Where the goods go. Default: `goodsFolder` of the book's data folder and the market. */
  outDir?: string | undefined;
}

export interface BoughtGoods {
  /** The file with the goods, absolute. */
  path: string;
  title: string;
  seller: string;
  goods: KeptGoods;
  /** The sum that this call or an earlier one under the same record paid; 0n where nothing was due. */
  paidUnits: bigint;
  /** True: the goods lay here, and none were asked of the market. */
  alreadyHere: boolean;
  /** Why these may not be what the listing promised: an import brought them, and the market does not confirm them. Null: they are. */
  notVerified: OwnWords | null;
}

/** `<data>/goods/<host>`. */
export function goodsFolder({ folder }: Pick<SpendBook, 'folder'>, market: string): string {
  return join(folder, '..', 'goods', folderNameOf(market));
}

/**
 * Buys one listing under policy and book, and keeps the goods. Who has them already, or an older version that entitles to them, shows it by
 * a signature over nothing and pays nothing. Else it is judged, set aside, signed once, waited for, checked against the commitment,
 * written, and only then settled. Killed at any point, the same call goes on and pays nothing twice; goods that are here already are given
 * again. Throws `PolicyRefused`, what `buy` of the SDK throws, and `goods_mismatch`.
 */
export async function buyGoods(options: BuyGoodsOptions): Promise<BoughtGoods> {
  const { client, wallet, listingId, book } = options;
  const maxUnits = unitsOfUsdc(options.maxPriceUsdc);
  if (maxUnits === null) {
    const title = own`The most that it may cost must be USDC from 0 on with at most 6 decimals`;
    throw new AgentError('wrong_use', { reason: 'wrong_use', title });
  }
  await mustTakeFiles(options.outDir ?? goodsFolder(book, client.baseUrl));
  // The SDK's own name for this payment.
  const key = `${client.baseUrl} buy ${listingId} ${wallet.address.toLowerCase()}`;
  return await book.hold(key, (spend) => buyHeld(options, spend, { key, maxUnits }));
}

interface Order {
  /** Names the payment in the book. */
  key: string;
  /** The most that the call allows. */
  maxUnits: bigint;
}

async function buyHeld(options: BuyGoodsOptions, spend: HeldSpend, order: Order): Promise<BoughtGoods> {
  const { record } = spend;
  const kept = record?.delivery ?? null;
  // Goods that came once are never paid for a second time, whatever the market says of it now and the caller allows. That some came for
  // nothing, as an import tells, stands in the way of no purchase.
  if (record !== null && kept !== null && (isVerified(record) || !isFree(record))) {
    // Free goods are asked for again: they may have been edited.
    if (!isFree(record) && (await lookAtGoods(kept)) === 'intact') return await giveAgain(options, spend, record, kept);
    return await payAndKeep(options, spend);
  }
  mustNotBeRefused(options, spend, options);
  const isNew = record === null || record.state === 'settled' || record.state === 'over';
  const isAgain = mayPayAgain(options, record);
  if (isNew || isAgain) {
    const offer = await readOffer(options, order.key);
    const owned = await takeOwned(options, spend, offer);
    if (owned !== null) return owned;
    if (isNew) await reserveSpend(options, spend, order, offer);
  }
  const again = async () => reserveSpend(options, spend, order, await readOffer(options, order.key));
  return await payAndKeep(options, spend, isAgain ? again : undefined);
}

/** Goods that an import brought are held against the market before they are called what was bought. */
async function giveAgain(
  { client }: BuyGoodsOptions,
  spend: HeldSpend,
  record: SpendRecord,
  kept: KeptGoods,
): Promise<BoughtGoods> {
  const bought = boughtOf(record, kept, true);
  if (isVerified(record)) return bought;
  const notVerified = await whyNotVerified(record, client);
  if (notVerified === null) await spend.noteVerified();
  return { ...bought, notVerified };
}

/** The goods for sale, and how they would stand in the book. */
interface Offer {
  listing: ListingDetail;
  plan: SpendPlan;
}

async function readOffer(options: BuyGoodsOptions, key: string): Promise<Offer> {
  const { client, wallet, listingId, signal } = options;
  const { listing } = (await client.getListing({ params: { id: listingId }, query: { comments_limit: 1 }, signal }))
    .body;
  goodsOf(listing);
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (amountUnits === null) throw new TermsRefused('unreadable_terms', own`the price cannot be read`);
  if (amountUnits > 0n) mustNotBeOwn(listing.seller_wallet, wallet.address);
  return { listing, plan: await planOf(options, key, listing, amountUnits) };
}

/**
 * The goods without a payment, where this wallet or key has bought them, or an older version that entitles to them. Null: it has not. Asked
 * before any limit is held against the price, since nothing may be due.
 */
async function takeOwned(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  { listing, plan }: Offer,
): Promise<BoughtGoods | null> {
  const { client, wallet, policy, listingId } = options;
  if (plan.amountUnits === 0n) return null;
  const putNothingAside = async (): Promise<void> => {
    if (spend.record?.state !== 'signed') await spend.reserve({ ...plan, amountUnits: 0n }, policy);
  };
  judgeSpend(policy, { market: plan.market, network: plan.network, amountUnits: 0n, goods: null });
  try {
    const delivery = await buy({
      ...{ client, wallet: guardWallet(wallet, spend, { policy, market: plan.market }), listingId },
      ...{ network: plan.network, collectOnly: true },
      ...{ maxPriceUsdc: usdcOfUnits(MAX_PRICE_UNITS), proofStore: createMemoryProofStore() },
      ...withoutCollectProgress(options),
    });
    await putNothingAside();
    return await orUnknown(spend, () => keepGoods(options, spend, delivery, true));
  } catch (error) {
    if (error instanceof ArtifactMismatch) {
      await putNothingAside();
      throw await orUnknown(spend, () => keepMismatch(options, spend, error));
    }
    if (isPlainNo(error, listing)) {
      if (error instanceof TermsRefused)
        options.onNotice?.(
          `It was not asked whether these goods are yours already: ${error.message}. ${error.nextStep}`,
        );
      return null;
    }
    if (error instanceof MarketError && isOfSignature(error))
      throw await afterRefusedCollecting(options, options, error);
    throw error;
  }
}

/**
 * The goods are not this wallet's. A market that cannot be shown a signature over nothing says so of goods that no older version could
 * entitle to; of others it leaves open whether anything is due.
 */
function isPlainNo(error: unknown, { supersedes }: ListingDetail): boolean {
  if (error instanceof MarketError && error.reason === 'nothing_to_collect') return true;
  const cannotAsk =
    (error instanceof MarketError && error.reason === 'payment_required') ||
    (error instanceof TermsRefused && error.why === 'other_market');
  return cannotAsk && supersedes === null;
}

/** A look before a purchase is no collecting that a person would want to hear of. */
function withoutCollectProgress(options: BuyGoodsOptions): ReturnType<typeof passedOn> {
  const { onProgress, ...rest } = passedOn(options);
  if (onProgress === undefined) return rest;
  return { ...rest, onProgress: (progress) => (progress.phase === 'collecting' ? undefined : onProgress(progress)) };
}

/**
 * Before a signature, the first or one that takes its place: what is bought, whether that is allowed now, and its sum put aside. The
 * policy, the price and the person's mind may have changed since the first.
 */
async function reserveSpend(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  { maxUnits }: Order,
  { listing, plan }: Offer,
): Promise<void> {
  const { client, policy } = options;
  const { amountUnits } = plan;
  if (amountUnits > maxUnits) {
    const title = own`The price is ${sayUsdc(amountUnits)}, above the ${sayUsdc(maxUnits)} that were allowed`;
    throw new PolicyRefused('above_max_price', title, own`Allow more, or leave it. Nothing was signed.`);
  }
  const goods = { seller: listing.merchant, sellerWallet: listing.seller_wallet, aisle: listing.aisle };
  judgeSpend(policy, { market: client.baseUrl, network: plan.network, amountUnits, goods });
  await mustBeConfirmed(options, { amountUnits, title: listing.title, seller: listing.merchant });
  await spend.reserve(plan, policy);
}

/** Twice what a market takes. A record must stay readable, whatever a market calls a title. */
const LONGEST_TITLE = 240;
const LONGEST_SELLER = 128;

function cutText(text: string, longest: number): string {
  return text.slice(0, longest);
}

async function planOf(
  { client, listingId, outDir, signal }: BuyGoodsOptions,
  key: string,
  listing: ListingDetail,
  amountUnits: bigint,
): Promise<SpendPlan> {
  const { network } = (await client.getOfficialFacts({ signal })).body;
  const known = NETWORK_NAMES.find((name) => name === network);
  if (known === undefined) throw new TermsRefused('wrong_network', own`its network is not known here`);
  return {
    key,
    market: client.baseUrl,
    kind: 'purchase',
    listing_id: listingId,
    title: cutText(listing.title, LONGEST_TITLE),
    seller: cutText(listing.merchant, LONGEST_SELLER),
    payee: listing.seller_wallet as `0x${string}`,
    network: known,
    out_dir: outDir === undefined ? null : resolve(outDir),
    listing: null,
    amountUnits,
  };
}

/** Goes on with what is signed, or signs what was set aside; and collects what was had before. `again` allows another signature. */
async function payAndKeep(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  again?: () => Promise<void>,
): Promise<BoughtGoods> {
  const { client, wallet, policy, listingId, payAnew } = options;
  const { record } = spend;
  if (record === null) throw new TypeError('nothing was set aside');
  await spend.noteSentAgain();
  const had = record.state === 'settled' ? record.delivery : null;
  const slip = had?.recovery_slip;
  const isFixed = had !== null && !isFree(record);
  let delivery: Delivery;
  try {
    delivery = await buy({
      client,
      wallet: guardWallet(wallet, spend, { policy, market: client.baseUrl, again }),
      listingId,
      maxPriceUsdc: mostFor(record),
      network: record.network,
      proofStore: spend.proofStore,
      // It has been asked already.
      collectFirst: 'never',
      ...(again === undefined ? {} : { mayPayAgain: true }),
      ...(payAnew === true ? { payAnew } : {}),
      ...(typeof slip === 'string' ? { recoverySlip: slip } : {}),
      // Had before: the wallet may show who asks, and that is all that it signs.
      ...(isFixed ? { collectOnly: true } : {}),
      ...passedOn(options),
    });
  } catch (error) {
    if (!(error instanceof ArtifactMismatch)) {
      throw unknownOnceSigned(spend, await afterRefusal(options, spend, options, error));
    }
    throw isFixed ? otherGoods(had) : await orUnknown(spend, () => keepMismatch(options, spend, error));
  }
  // Goods that came once are known: a market that shows another commitment now does not change it. What an import told is not known.
  if (isFixed && isVerified(record) && commitmentOf(delivery) !== had.commitment) throw otherGoods(had);
  const isPriced = record.amount_units !== '0' || record.unpaid !== undefined;
  return await orUnknown(spend, () => keepGoods(options, spend, delivery, isPriced));
}

/** The goods are on the disk before the payment is settled. */
async function keepGoods(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  delivery: Delivery,
  isPriced: boolean,
): Promise<BoughtGoods> {
  const { record } = spend;
  if (record === null) throw new TypeError('there is no record to settle');
  const goods = await saveGoods(delivery, folderOf(options, record));
  await spend.finishSpend({
    delivery: goods,
    ...(isPriced && goods.receipt === null ? { unpaid: nothingDue(record) } : {}),
  });
  return boughtOf(spend.record ?? record, goods, false);
}

async function orUnknown<T>(spend: HeldSpend, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unknownOnceSigned(spend, error);
  }
}

function otherGoods({ path, receipt }: KeptGoods): AgentError {
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: own`The market has other goods for this now than those that came before${receipt === null ? own`` : own`, paid for in ${formed('hash', receipt.tx_hash)}`}; they were not kept`,
    nextStep: own`Do not pay again. Keep the receipt, and flag the listing.`,
    file: path,
  });
}

/** What was put aside. Where nothing is, the guard lets no payment pass, and this only must not stand in the way of collecting. */
function mostFor({ state, amount_units }: SpendRecord): number {
  return usdcOfUnits(state === 'settled' ? MAX_PRICE_UNITS : BigInt(amount_units));
}

// They are paid for, and evidence: kept under the commitment that was published, so that `verify` finds them changed.
async function keepMismatch(options: BuyGoodsOptions, spend: HeldSpend, error: ArtifactMismatch): Promise<AgentError> {
  const { record } = spend;
  if (record === null)
    return new AgentError('unknown', {
      reason: 'goods_mismatch',
      title: own`The goods that came are not what the listing promised`,
    });
  const goods = await saveGoods(error.delivery(), folderOf(options, record));
  await spend.finishSpend({ delivery: { ...goods, commitment: error.expected } });
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: own`The goods that came are not what the listing promised${goods.receipt === null && record.state !== 'signed' ? own`` : own`; they are paid for`}`,
    nextStep: own`Do not pay again. Keep the file and the receipt, and flag the listing.`,
    file: goods.path,
  });
}

function folderOf({ outDir, book, client }: BuyGoodsOptions, record: SpendRecord): string {
  return outDir ?? record.out_dir ?? goodsFolder(book, client.baseUrl);
}

function boughtOf(record: SpendRecord, goods: KeptGoods, alreadyHere: boolean): BoughtGoods {
  const { title, seller } = record;
  const shown = { path: goods.path, title, seller: seller ?? '', goods, paidUnits: paidUnits(record) };
  return { ...shown, alreadyHere, notVerified: null };
}
