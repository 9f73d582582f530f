import { join, resolve } from 'node:path';
import type { Delivery, ListingDetail } from '../contract/listings.ts';
import { sayUsdc, unitsOfUsdc, usdcOfUnits } from '../contract/money.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import { ArtifactMismatch, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { buy } from '../sdk/payments/buy.ts';
import { goodsOf, TermsRefused } from '../sdk/payments/payment-errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { PaymentOptions } from '../sdk/payments/payment-run.ts';
import { AgentError, PolicyRefused } from './agent-error.ts';
import { guardWallet } from './guard-wallet.ts';
import { folderNameOf } from './places.ts';
import { howToChange, judgeSpend, type Policy } from './policy.ts';
import { lookAtGoods, mustTakeFiles, saveGoods } from './save-goods.ts';
import type { HeldSpend, SpendBook } from './spend-book.ts';
import type { KeptGoods, SpendPlan, SpendRecord } from './spend-record.ts';

/** How a payment is made under a policy and into a book, whatever it pays for. */
export interface SpendOptions extends Pick<PaymentOptions, 'onProgress' | 'signal' | 'maxWaitSeconds' | 'payAnew'> {
  client: Client;
  wallet: Wallet;
  policy: Policy;
  book: SpendBook;
  /** Asks a person, where the sum is above `askAboveUnits`. Without it such a sum is refused. */
  confirm?: (asked: { amountUnits: bigint; title: string; seller: string | null }) => Promise<boolean>;
  /** Allows one more payment where the market says that the first ended unpaid. It is judged, reserved and counted again. */
  payAgain?: boolean;
}

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
  /** What this call or an earlier one under the same record signed for; 0n for free goods. */
  paidUnits: bigint;
  /** True: nothing was asked of the market, the goods lay here. */
  alreadyHere: boolean;
}

/** `<data>/goods/<host>`. */
export function goodsFolder({ folder }: Pick<SpendBook, 'folder'>, market: string): string {
  return join(folder, '..', 'goods', folderNameOf(market));
}

/**
 * Buys one listing under policy and book, and keeps the goods: judged, set aside, signed once, waited for, checked against the
 * commitment, written, and only then settled. Killed at any point, the same call goes on and pays nothing twice; goods that are here
 * already are given again. Throws `PolicyRefused`, what `buy` of the SDK throws, and `goods_mismatch`.
 */
export async function buyGoods(options: BuyGoodsOptions): Promise<BoughtGoods> {
  const { client, wallet, listingId, book } = options;
  const maxUnits = unitsOfUsdc(options.maxPriceUsdc);
  if (maxUnits === null) {
    const title = 'The most that it may cost must be USDC from 0 on with at most 6 decimals';
    throw new AgentError('wrong_use', { reason: 'wrong_use', title });
  }
  await mustTakeFiles(options.outDir ?? goodsFolder(book, client.baseUrl));
  // The SDK's own name for this payment.
  const key = `${client.baseUrl} buy ${listingId} ${wallet.address.toLowerCase()}`;
  return await book.hold(key, async (held) => {
    const { record } = held;
    const kept = record?.delivery ?? null;
    // What was had once is never paid for a second time, whatever the market says of it now and the caller allows.
    const isHad = record !== null && kept !== null;
    // Free goods, and those that an earlier purchase gives, are asked for again: they may have been edited.
    const isFree = kept?.receipt === null && record?.amount_units === '0';
    if (isHad && !isFree && (await lookAtGoods(kept)) === 'intact') return boughtOf(record, kept, true);
    const judgeAndReserve = () => prepare(options, held, key, maxUnits);
    if (!isHad && (record === null || record.state === 'settled')) await judgeAndReserve();
    return await payAndKeep(options, held, mayPayAgain(options, record) ? judgeAndReserve : undefined);
  });
}

/** Another payment may take the place of one that was signed for and ended unpaid; nothing else is paid for twice. */
export function mayPayAgain({ payAgain }: Pick<SpendOptions, 'payAgain'>, record: SpendRecord | null): boolean {
  return payAgain === true && record?.state === 'signed';
}

/**
 * Before a signature, the first or one that takes its place: what is bought, whether that is allowed now, and its sum put aside. The
 * policy, the price and the person's mind may have changed since the first.
 */
async function prepare(options: BuyGoodsOptions, held: HeldSpend, key: string, maxUnits: bigint): Promise<void> {
  const { client, policy, listingId, signal } = options;
  const { listing } = (await client.getListing({ params: { id: listingId }, query: { comments_limit: 1 }, signal }))
    .body;
  goodsOf(listing);
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (amountUnits === null) throw new TermsRefused('unreadable_terms', 'the price cannot be read');
  if (amountUnits > maxUnits) {
    const title = `The price is ${sayUsdc(amountUnits)}, above the ${sayUsdc(maxUnits)} that were allowed`;
    throw new PolicyRefused('above_max_price', title, 'Allow more, or leave it. Nothing was signed.');
  }
  const plan = await planOf(options, key, listing, amountUnits);
  if (amountUnits > 0n) {
    const goods = { seller: listing.merchant, sellerWallet: listing.seller_wallet, aisle: listing.aisle };
    judgeSpend(policy, { market: client.baseUrl, network: plan.network, amountUnits, goods });
    await mustBeConfirmed(options, { amountUnits, title: listing.title, seller: listing.merchant });
  }
  await held.reserve(plan, policy);
}

/** Twice what a market takes. A record must stay readable, whatever a market calls a title. */
const LONGEST_TITLE = 240;
const LONGEST_SELLER = 128;

function cut(text: string, longest: number): string {
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
  if (known === undefined) throw new TermsRefused('wrong_network', `the network ${network} is not known here`);
  return {
    key,
    market: client.baseUrl,
    kind: 'purchase',
    listing_id: listingId,
    title: cut(listing.title, LONGEST_TITLE),
    seller: cut(listing.merchant, LONGEST_SELLER),
    payee: listing.seller_wallet as `0x${string}`,
    network: known,
    out_dir: outDir === undefined ? null : resolve(outDir),
    listing: null,
    amountUnits,
  };
}

/** Asks where the policy says so. Throws `PolicyRefused` when the person says no, or cannot be asked. */
export async function mustBeConfirmed(
  { policy, confirm }: Pick<SpendOptions, 'policy' | 'confirm'>,
  asked: { amountUnits: bigint; title: string; seller: string | null },
): Promise<void> {
  if (policy.askAboveUnits === null || asked.amountUnits <= policy.askAboveUnits) return;
  const limit = `above ${sayUsdc(policy.askAboveUnits)} a person has to agree`;
  if (confirm === undefined)
    throw new PolicyRefused(
      'needs_person',
      `The policy says that ${limit}, and none can be asked here`,
      howToChange(policy),
    );
  if (await confirm(asked)) return;
  throw new PolicyRefused(
    'not_confirmed',
    `The person who was asked did not agree to ${sayUsdc(asked.amountUnits)}`,
    'Leave it, or ask again.',
  );
}

async function payAndKeep(
  options: BuyGoodsOptions,
  held: HeldSpend,
  again: (() => Promise<void>) | undefined,
): Promise<BoughtGoods> {
  const { client, wallet, listingId, payAnew } = options;
  const { record } = held;
  if (record === null) throw new TypeError('nothing was set aside');
  const had = record.state === 'settled' ? record.delivery : null;
  const slip = had?.recovery_slip;
  const isPaid = had !== null && had.receipt !== null;
  let delivery: Delivery;
  try {
    delivery = await buy({
      client,
      wallet: guardWallet(wallet, held, again),
      listingId,
      maxPriceUsdc: mostFor(record),
      network: record.network,
      proofStore: held.proofStore,
      ...(again === undefined ? {} : { mayPayAgain: true }),
      ...(payAnew === true ? { payAnew } : {}),
      ...(typeof slip === 'string' ? { recoverySlip: slip } : {}),
      // Paid for before: the wallet may show who asks, and that is all that it signs.
      ...(isPaid ? { collectOnly: true } : {}),
      ...passedOn(options),
    });
  } catch (error) {
    if (!(error instanceof ArtifactMismatch)) throw unknownOnceSigned(held, error);
    throw isPaid ? otherGoods(had) : await orUnknown(held, () => keepMismatch(options, held, error));
  }
  // What was paid for once is known: a market that shows another commitment now does not change it.
  if (isPaid && commitmentOf(delivery) !== had.commitment) throw otherGoods(had);
  return await orUnknown(held, async () => {
    const goods = await saveGoods(delivery, folderOf(options, record));
    await held.settle({ delivery: goods });
    return boughtOf(held.record ?? record, goods, false);
  });
}

/** After a signature neither a fault of this machine nor a market that asks once more means that nothing was done. */
export function unknownOnceSigned({ record }: HeldSpend, error: unknown): unknown {
  if (record === null || record.state === 'reserved' || error instanceof AgentError) return error;
  if (error instanceof MarketError && error.reason === 'payment_required' && record.state === 'signed')
    return new AgentError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: 'The market asks for a payment once more, though one is signed for this and may still be carried out',
      nextStep: 'Do not pay again. Run the same command later: it shows the same signature, and signs nothing new.',
    });
  const { code, syscall, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === undefined || syscall === undefined) return error;
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'not_kept',
    title: `It may be paid for, and could not be written on this machine (${syscall} failed with ${code})`,
    nextStep:
      'Do not pay again. Make room, or mend the folder, then run the same command: it goes on with the same payment.',
    file: path,
  });
}

async function orUnknown<T>(held: HeldSpend, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unknownOnceSigned(held, error);
  }
}

function otherGoods({ path, receipt }: KeptGoods): AgentError {
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: `The market has other goods for this now than those that were paid for in ${receipt?.tx_hash}; they were not kept`,
    nextStep: 'Do not pay again. Keep the receipt, and flag the listing.',
    file: path,
  });
}

/** What was put aside. Where nothing is, the guard lets no payment pass, and this only must not stand in the way of collecting. */
function mostFor({ state, amount_units }: SpendRecord): number {
  return usdcOfUnits(state === 'settled' ? MAX_PRICE_UNITS : BigInt(amount_units));
}

/** What goes to the SDK as it is. */
export function passedOn({ onProgress, signal, maxWaitSeconds }: SpendOptions) {
  return {
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
    ...(maxWaitSeconds === undefined ? {} : { maxWaitSeconds }),
  };
}

// They are paid for, and evidence: kept under the commitment that was published, so that `verify` finds them changed.
async function keepMismatch(options: BuyGoodsOptions, held: HeldSpend, error: ArtifactMismatch): Promise<AgentError> {
  const { record } = held;
  if (record === null) return new AgentError('unknown', { reason: 'goods_mismatch', title: error.message });
  const goods = await saveGoods(error.delivery(), folderOf(options, record));
  await held.settle({ delivery: { ...goods, commitment: error.expected } });
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: 'The goods that came are not what the listing promised; they are paid for',
    nextStep: 'Do not pay again. Keep the file and the receipt, and flag the listing.',
    file: goods.path,
  });
}

function folderOf({ outDir, book, client }: BuyGoodsOptions, record: SpendRecord): string {
  return outDir ?? record.out_dir ?? goodsFolder(book, client.baseUrl);
}

function boughtOf(record: SpendRecord, goods: KeptGoods, alreadyHere: boolean): BoughtGoods {
  const { title, seller, amount_units } = record;
  return { path: goods.path, title, seller: seller ?? '', goods, paidUnits: BigInt(amount_units), alreadyHere };
}
