import { dirname, join, resolve } from 'node:path';
import type { ListingDetail } from '../contract/listings.ts';
import { formatUsdc, unitsOfUsdc, usdcOfUnits } from '../contract/money.ts';
import { type OwnWords, own } from '../contract/own-words.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { MarketError } from '../sdk/errors.ts';
import type { DeliveredGoods } from '../sdk/goods/download.ts';
import { ArtifactMismatch, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { buy } from '../sdk/payments/buy.ts';
import { commitmentOfListing, refuseOwnGoods, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { createMemoryProofStore } from '../sdk/payments/proof-store.ts';
import { AgentError, PolicyRefused } from './agent-error.ts';
import { folderNameOf } from './folders.ts';
import {
  changedGoodsError,
  isNotBought,
  isPaymentAsked,
  mayBuyAfter,
  notBought,
  toMissingFile,
  uncheckedNotice,
  unfinishedError,
  wrongGoodsError,
} from './goods/goods-errors.ts';
import { saveFile } from './goods/save-file.ts';
import { guardWallet } from './guard-wallet.ts';
import { judgeSpend } from './policy.ts';
import { explainRefusedCollecting, isAboutSignature, mustNotBeRefused, recordRefusal } from './refused-payment.ts';
import { checkGoodsFile, copyGoods, type GoodsTarget, prepareGoodsFolder, saveGoods } from './save-goods.ts';
import type { HeldSpend, SpendBook } from './spend-book.ts';
import {
  mayPayAgain,
  mustBeConfirmed,
  orUnknown,
  type SpendOptions,
  sdkOptions,
  toUnknownOutcome,
} from './spend-options.ts';
import {
  isFree,
  isVerified,
  type KeptGoods,
  nothingDueEntry,
  paidUnits,
  type SpendPlan,
  type SpendRecord,
} from './spend-record.ts';
import { whyNotVerified } from './verify-goods.ts';

export interface BuyGoodsOptions extends SpendOptions {
  listingId: number;
  /** Highest price in USDC; the policy may allow less. */
  maxPriceUsdc: number;
  /** Folder for the goods. Default: `goodsFolder`. */
  outDir?: string | undefined;
  /** Exact file for the goods, instead of a free name in a folder. Refused if it exists and has other content. */
  outFile?: string | undefined;
  /** Only collects goods that are bought already, or free: no payment is signed, and none that was signed is sent. */
  collectOnly?: boolean | undefined;
}

export interface BoughtGoods {
  /** Absolute path of the goods. */
  path: string;
  title: string;
  seller: string;
  goods: KeptGoods;
  /** Amount paid by this call or an earlier one under the same record. 0n if nothing was due. */
  paidUnits: bigint;
  /** True if the goods were on disk, so that the market wasn't asked for them. */
  alreadyHere: boolean;
  /** Why goods from an import may not be what the listing promised. Null if the market or this book confirms them. */
  notVerified: OwnWords | null;
}

/** Returns `<data>/goods/<host>`. */
export function goodsFolder({ folder }: Pick<SpendBook, 'folder'>, market: string): string {
  return join(folder, '..', 'goods', folderNameOf(market));
}

/**
 * Buys one listing under policy and book, and saves the goods. A wallet that bought them before, or bought an older version whose buyers
 * get them free, proves it by signing an authorization of value 0 and pays nothing. Otherwise this function judges the payment, reserves
 * the sum, signs once, waits, checks the goods against the commitment, writes them to disk, and only then closes the record. After a kill
 * at any point the same call resumes and pays nothing twice. Priced goods on disk are returned again. Throws `PolicyRefused`,
 * `goods_mismatch`, `goods_under_way`, `goods_not_arrived` and errors of the SDK's `buy`; with `collectOnly` also `no_purchase` and
 * `payment_under_way`.
 */
export async function buyGoods(options: BuyGoodsOptions): Promise<BoughtGoods> {
  const { client, wallet, listingId, book } = options;
  const maxUnits = unitsOfUsdc(options.maxPriceUsdc);
  if (maxUnits === null) {
    const title = own`The highest price must be an amount in USDC, 0 or more, with at most 6 decimals`;
    throw new AgentError('wrong_use', { reason: 'wrong_use', title });
  }
  const { outFile, outDir = goodsFolder(book, client.baseUrl) } = options;
  await prepareGoodsFolder(outFile === undefined ? outDir : dirname(resolve(outFile)));
  // The SDK uses the same key for this payment.
  const key = `${client.baseUrl} buy ${listingId} ${wallet.address.toLowerCase()}`;
  return await book.hold(key, (spend) => buyHeld(options, spend, { key, maxUnits }));
}

interface Order {
  key: string;
  maxUnits: bigint;
}

async function buyHeld(options: BuyGoodsOptions, spend: HeldSpend, order: Order): Promise<BoughtGoods> {
  const { record } = spend;
  const kept = record?.delivery ?? null;
  // Goods that were delivered once are never paid for again, whatever the market says now or the caller allows. An unverified import of
  // free goods doesn't count, because it must not prevent a purchase.
  if (record !== null && kept !== null && (isVerified(record) || !isFree(record))) {
    // Free goods are fetched again, because their seller may have edited them.
    if (!isFree(record) && (await checkGoodsFile(kept)) === 'intact')
      return await returnFromDisk(options, spend, record, kept);
    return await payAndKeep(options, spend);
  }
  if (options.collectOnly === true && record?.state === 'signed')
    return await collectUnfinished(options, spend, record);
  mustNotBeRefused(options, spend, options);
  const isNew = record === null || record.state === 'settled' || record.state === 'over';
  const isAgain = mayPayAgain(options, record);
  if (isNew || isAgain) {
    const offer = await readOffer(options, order.key);
    const owned = await takeOwned(options, spend, offer);
    if (owned !== null) return owned;
    if (options.collectOnly === true && offer.plan.amountUnits > 0n) throw notBought(options);
    if (isNew) await reserveSpend(options, spend, order, offer);
  }
  const again = async () => reserveSpend(options, spend, order, await readOffer(options, order.key));
  return await payAndKeep(options, spend, isAgain ? again : undefined);
}

/** Returns goods from disk. Goods of an unverified import are first checked with the market. */
async function returnFromDisk(
  { client, outFile }: BuyGoodsOptions,
  spend: HeldSpend,
  record: SpendRecord,
  kept: KeptGoods,
): Promise<BoughtGoods> {
  const path = outFile === undefined ? kept.path : await copyGoods(kept, resolve(outFile));
  const bought = boughtOf(record, { ...kept, path }, true);
  if (isVerified(record)) return bought;
  const notVerified = await whyNotVerified(record, client);
  if (notVerified === null) await spend.noteVerified();
  return { ...bought, notVerified };
}

/** A listing and the book entry that buying it would make. */
interface Offer {
  listing: ListingDetail;
  plan: SpendPlan;
}

async function readOffer(options: BuyGoodsOptions, key: string): Promise<Offer> {
  const { client, wallet, listingId, signal } = options;
  const { listing } = (await client.getListing({ params: { id: listingId }, query: { comments_limit: 1 }, signal }))
    .body;
  commitmentOfListing(listing);
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (amountUnits === null) throw new TermsRefused('unreadable_terms', own`the price can’t be read`);
  if (amountUnits > 0n) refuseOwnGoods(listing.seller_wallet, wallet.address);
  return { listing, plan: await planOf(options, key, listing, amountUnits) };
}

/**
 * Collects the goods without paying if this wallet or key bought them, or bought an older version whose buyers get them free. Returns null
 * if not, or if the goods are free. Price limits are checked later, because perhaps nothing is due.
 */
async function takeOwned(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  { listing, plan }: Offer,
): Promise<BoughtGoods | null> {
  const { policy } = options;
  if (plan.amountUnits === 0n) return null;
  const reserveNothing = async (): Promise<void> => {
    if (spend.record?.state !== 'signed') await spend.reserve({ ...plan, amountUnits: 0n }, policy);
  };
  judgeSpend(policy, { market: plan.market, network: plan.network, amountUnits: 0n, goods: null });
  let delivery: DeliveredGoods;
  // Covers only the collecting: a refusal while the goods are saved must not be read as goods that nobody bought.
  try {
    delivery = await collectWithout(options, spend, plan.network);
  } catch (error) {
    if (error instanceof ArtifactMismatch) {
      await reserveNothing();
      throw await orUnknown(spend, () => keepMismatch(options, spend, error));
    }
    if (options.collectOnly === true ? isNotBought(error) : mayBuyAfter(error, listing)) {
      if (error instanceof TermsRefused) options.onNotice?.(uncheckedNotice(error));
      return null;
    }
    if (error instanceof MarketError && isAboutSignature(error))
      throw await explainRefusedCollecting(options, options, error);
    throw error;
  }
  await reserveNothing();
  return await orUnknown(spend, () => keepGoods(options, spend, delivery, true));
}

/**
 * Collects goods whose payment is signed and not closed in the book. The signed payment isn't sent, because sending it pays if the market
 * hasn't settled it. If the market doesn't deliver without it, the purchase has to be finished first.
 */
async function collectUnfinished(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  record: SpendRecord,
): Promise<BoughtGoods> {
  let delivery: DeliveredGoods;
  try {
    delivery = await collectWithout(options, spend, record.network);
  } catch (error) {
    if (error instanceof ArtifactMismatch) throw await orUnknown(spend, () => keepMismatch(options, spend, error));
    throw isNotBought(error) || isPaymentAsked(error) ? unfinishedError(options) : error;
  }
  return await orUnknown(spend, () => keepGoods(options, spend, delivery, true));
}

/** Collects goods that this wallet or key owns, with a signature of value 0. Pays nothing. */
async function collectWithout(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  network: SpendPlan['network'],
): Promise<DeliveredGoods> {
  const { client, wallet, policy, listingId } = options;
  return await buy({
    ...{ client, wallet: guardWallet(wallet, spend, { policy, market: client.baseUrl }), listingId },
    ...{ network, collectOnly: true },
    ...{ maxPriceUsdc: usdcOfUnits(MAX_PRICE_UNITS), proofStore: createMemoryProofStore() },
    ...withoutCollectProgress(options),
  });
}

/** Hides the progress of the ownership check, which isn't worth reporting before a purchase. */
function withoutCollectProgress(options: BuyGoodsOptions): ReturnType<typeof sdkOptions> {
  const { onProgress, ...rest } = sdkOptions(options);
  if (onProgress === undefined) return rest;
  return { ...rest, onProgress: (progress) => (progress.phase === 'collecting' ? undefined : onProgress(progress)) };
}

/** Judges, confirms and reserves the sum. Called before each new signature, because policy, price or consent may have changed. */
async function reserveSpend(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  { maxUnits }: Order,
  { listing, plan }: Offer,
): Promise<void> {
  const { client, policy } = options;
  const { amountUnits } = plan;
  if (amountUnits > maxUnits) {
    const title = own`The price is ${formatUsdc(amountUnits)}, but you allowed at most ${formatUsdc(maxUnits)}`;
    throw new PolicyRefused('above_max_price', title, own`Nothing was signed. Allow more, or don’t buy it.`);
  }
  const goods = { seller: listing.merchant, sellerWallet: listing.seller_wallet, aisle: listing.aisle };
  judgeSpend(policy, { market: client.baseUrl, network: plan.network, amountUnits, goods });
  await mustBeConfirmed(options, { amountUnits, title: listing.title, seller: listing.merchant });
  await spend.reserve(plan, policy);
}

/** Twice what a market accepts. Keeps records small enough to read back, whatever title a market sends. */
const LONGEST_TITLE = 240;
const LONGEST_SELLER = 128;

async function planOf(
  { client, listingId, outDir, signal }: BuyGoodsOptions,
  key: string,
  listing: ListingDetail,
  amountUnits: bigint,
): Promise<SpendPlan> {
  const { network } = (await client.getOfficialFacts({ signal })).body;
  const knownNetwork = NETWORK_NAMES.find((name) => name === network);
  if (knownNetwork === undefined) throw new TermsRefused('wrong_network', own`its network is unknown here`);
  return {
    key,
    market: client.baseUrl,
    kind: 'purchase',
    listing_id: listingId,
    title: listing.title.slice(0, LONGEST_TITLE),
    seller: listing.merchant.slice(0, LONGEST_SELLER),
    payee: listing.seller_wallet as `0x${string}`,
    network: knownNetwork,
    out_dir: outDir === undefined ? null : resolve(outDir),
    listing: null,
    amountUnits,
  };
}

/** Resumes a signed payment, signs a reserved one, or collects goods delivered before. `again` reserves the sum for another signature. */
async function payAndKeep(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  again?: () => Promise<void>,
): Promise<BoughtGoods> {
  const { client, wallet, policy, listingId, payAnew } = options;
  const { record } = spend;
  if (record === null) throw new TypeError('nothing was reserved');
  await spend.noteSentAgain();
  const kept = record.state === 'settled' ? record.delivery : null;
  const slip = kept?.recovery_slip;
  const isFixed = kept !== null && !isFree(record);
  let delivery: DeliveredGoods;
  try {
    delivery = await buy({
      client,
      wallet: guardWallet(wallet, spend, { policy, market: client.baseUrl, again }),
      listingId,
      maxPriceUsdc: highestPrice(record),
      network: record.network,
      proofStore: spend.proofStore,
      // Before the first signature, `takeOwned` has already tried to collect.
      collectFirst: 'never',
      ...(again === undefined ? {} : { mayPayAgain: true }),
      ...(payAnew === true ? { payAnew } : {}),
      ...(typeof slip === 'string' ? { recoverySlip: slip } : {}),
      // Goods that were delivered before are only collected: the wallet signs to prove its identity, and pays nothing.
      ...(isFixed ? { collectOnly: true } : {}),
      ...sdkOptions(options),
    });
  } catch (error) {
    if (!(error instanceof ArtifactMismatch)) {
      throw toUnknownOutcome(spend, await recordRefusal(options, spend, options, error));
    }
    throw isFixed ? changedGoodsError(kept) : await orUnknown(spend, () => keepMismatch(options, spend, error));
  }
  // A market must not replace delivered goods by changing the commitment. An unverified import proves nothing about the goods.
  const commitment = delivery.artifact_commitment ?? commitmentOf(delivery);
  if (isFixed && isVerified(record) && commitment !== kept.commitment) throw changedGoodsError(kept);
  const isPriced = record.amount_units !== '0' || record.unpaid !== undefined;
  return await orUnknown(spend, () => keepGoods(options, spend, delivery, isPriced));
}

/** Writes the goods to disk before the record is closed. A file comes now, and wrong bytes of it are kept as evidence. */
async function keepGoods(
  options: BuyGoodsOptions,
  spend: HeldSpend,
  delivery: DeliveredGoods,
  isPriced: boolean,
): Promise<BoughtGoods> {
  const { record } = spend;
  if (record === null) throw new TypeError('there is no record to finish');
  const target = targetOf(options, record);
  if (delivery.download === null) return await finishGoods(spend, await saveGoods(delivery, target), isPriced);
  const { client, onBytes, signal } = options;
  const collectAgain = () => collectWithout(options, spend, record.network);
  const saving = saveFile({ client, collectAgain, onBytes, signal }, delivery, target);
  const { kept, mismatch } = await saving.catch((error: unknown) => {
    throw isPriced ? toMissingFile(error, delivery) : error;
  });
  if (mismatch === null) return await finishGoods(spend, kept, isPriced);
  await spend.finishSpend({ delivery: { ...kept, commitment: mismatch.expected } });
  throw wrongGoodsError(kept, record);
}

async function finishGoods(spend: HeldSpend, goods: KeptGoods, isPriced: boolean): Promise<BoughtGoods> {
  const { record } = spend;
  if (record === null) throw new TypeError('there is no record to finish');
  await spend.finishSpend({
    delivery: goods,
    ...(isPriced && goods.receipt === null ? { unpaid: nothingDueEntry(record) } : {}),
  });
  return boughtOf(spend.record ?? record, goods, false);
}

/**
 * Returns the reserved sum. For a finished record, returns the highest price there is, because the guard refuses any payment then, and
 * the limit must not prevent collecting.
 */
function highestPrice({ state, amount_units }: SpendRecord): number {
  return usdcOfUnits(state === 'settled' ? MAX_PRICE_UNITS : BigInt(amount_units));
}

// Saves wrong goods as evidence, under the published commitment, so that `openaisle verify` reports them as changed.
async function keepMismatch(options: BuyGoodsOptions, spend: HeldSpend, error: ArtifactMismatch): Promise<AgentError> {
  const { record } = spend;
  if (record === null)
    return new AgentError('unknown', {
      reason: 'goods_mismatch',
      title: own`The delivered goods don’t match the listing`,
    });
  const delivery = error.delivery();
  // A file isn't downloaded if its delivery alone shows that it is the wrong one, so that there is nothing to save.
  if (delivery.artifact === null) return wrongGoodsError({ receipt: delivery.receipt }, record);
  const goods = await saveGoods(delivery, targetOf(options, record));
  await spend.finishSpend({ delivery: { ...goods, commitment: error.expected } });
  return wrongGoodsError(goods, record);
}

function targetOf({ outFile, outDir, book, client }: BuyGoodsOptions, record: SpendRecord): GoodsTarget {
  if (outFile !== undefined) return { file: outFile };
  return { folder: outDir ?? record.out_dir ?? goodsFolder(book, client.baseUrl) };
}

function boughtOf(record: SpendRecord, goods: KeptGoods, alreadyHere: boolean): BoughtGoods {
  const { title, seller } = record;
  const shown = { path: goods.path, title, seller: seller ?? '', goods, paidUnits: paidUnits(record) };
  return { ...shown, alreadyHere, notVerified: null };
}
