import { join } from 'node:path';
import type { Hex } from 'viem';
import { formatUsdc, unitsOfUsdc, usdcOfUnits } from '../contract/money.ts';
import { formed, own } from '../contract/own-words.ts';
import { LISTING_FEE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import type { Client } from '../sdk/client.ts';
import { bodyDigest, type ListedGoods, type ListGoodsOptions, listGoods } from '../sdk/payments/list-goods.ts';
import { TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PolicyRefused } from './agent-error.ts';
import { type GoodsFile, prepareGoods } from './goods/goods-file.ts';
import { forgetUpload, sendUploaded, type UploadFileOptions } from './goods/upload-file.ts';
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

type Body = ListGoodsOptions['listing'];

export interface SellGoodsOptions extends SpendOptions {
  /** Body of `POST /api/listing`. Sending the same body again gives the same listing. The client needs the merchant's key. */
  listing: Body;
  /** Goods on this machine, if the body has none. Larger ones are uploaded. */
  file?: GoodsFile | undefined;
  /** Key of the fee in the book, for a body from there. Default: computed from the body. */
  key?: string;
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
 * that exactly the same body is sent again. Goods of over 64 KiB are uploaded before the fee is reserved, and an interrupted upload is
 * continued. After a kill at any point the same call resumes and pays nothing twice. Throws `PolicyRefused` and what `uploadFile`, and
 * `listGoods` of the SDK, throw.
 */
export async function sellGoods(options: SellGoodsOptions): Promise<SoldGoods> {
  const order = await orderOf({ ...options, folder: dataFolderOf(options) });
  return await options.book.hold(order.key, (spend) => sellHeld(options, spend, order));
}

/** Goods to send, with what their upload needs. */
interface Given
  extends UploadFileOptions,
    Pick<SellGoodsOptions, 'listing' | 'file' | 'key'>,
    Partial<Pick<SellGoodsOptions, 'book'>> {}

export interface TriedListing {
  /** The fee that would be due; null if exactly this is listed. */
  feeUsdc: number | null;
  /** Null for goods that are uploaded. */
  encoding: 'utf-8' | 'base64' | null;
}

/** Sends the listing as a dry run, after an upload if the goods need one. */
export async function tryListing(options: Omit<Given, 'book' | 'key'>): Promise<TriedListing> {
  const { client, signal } = options;
  const order = await orderOf(options);
  return await withUpload(options, order, null, async (body) => {
    const { body: answer } = await client.createListing({ body, query: { dry_run: 'true' }, signal });
    const encoding = body.artifact === undefined ? null : (body.artifact_encoding ?? 'utf-8');
    return { feeUsdc: 'dry_run' in answer ? answer.would_cost_usdc : null, encoding };
  });
}

/** Goods and terms of a new listing. */
interface Order {
  key: string;
  /** Without the ID of an upload of `file`. */
  listing: Body;
  /** Hash of `file` if it has to be uploaded. */
  sha256: Hex | null;
}

async function orderOf(options: Given): Promise<Order> {
  const { client, book, listing, file, signal } = options;
  if (file === undefined) {
    const key = options.key ?? feeKey(client, listing, await hashOfUpload(options));
    return { key, listing, sha256: null };
  }
  const { fields, sha256 } = await prepareGoods({ client, signal }, file, async (inline) => {
    const key = feeKey(client, { ...listing, ...inline }, null);
    return book !== undefined && (await book.list()).some((record) => record.key === key);
  });
  const body = { ...listing, ...fields };
  return { key: feeKey(client, body, sha256), listing: body, sha256 };
}

/** Returns the hash of an upload that the body names, or null if it names none or the market doesn't list it. */
async function hashOfUpload({ client, listing, signal }: Given): Promise<string | null> {
  if (listing.artifact_upload === undefined) return null;
  const { uploads } = (await client.listUploads({ signal })).body;
  return uploads.find(({ id }) => id === listing.artifact_upload)?.sha256 ?? null;
}

/** Runs work with a body that names uploaded goods, and once more if the market no longer has that upload for it. */
async function withUpload<T>(
  options: Given,
  { listing, sha256 }: Order,
  before: SpendRecord | null,
  work: (body: Body) => Promise<T>,
): Promise<T> {
  const { file } = options;
  if (sha256 === null || file === undefined) return await work(listing);
  // A fee that is under way holds its own upload.
  const begun = before?.state === 'signed' ? before.listing?.['artifact_upload'] : undefined;
  const held = typeof begun === 'string' ? begun : undefined;
  return await sendUploaded(options, file, { sha256, held }, (id) => work({ ...listing, artifact_upload: id }));
}

function dataFolderOf({ book }: Pick<SellGoodsOptions, 'book'>): string {
  return join(book.folder, '..');
}

async function sellHeld(options: SellGoodsOptions, spend: HeldSpend, order: Order): Promise<SoldGoods> {
  const before = spend.record;
  if (before !== null && before.listed !== null && options.listAgain !== true)
    return soldOf(options, before, { ...before.listed, alreadyListed: true });
  mustNotBeRefused(options, spend, FEE_SUBJECT);
  mustNotRepeatRefusal(options, spend, FEE_SUBJECT);
  const isNew = before === null || before.state === 'settled' || before.state === 'over';
  const folder = dataFolderOf(options);
  const done = await withUpload({ ...options, folder }, order, before, async (listing) => {
    const fee: Fee = { ...options, listing, key: order.key };
    if (isNew && spend.record === before) await reserveFee(fee, spend);
    else {
      await spend.noteSentAgain();
      // The body in the book is what `openaisle wait` sends.
      if (spend.record?.listing?.['artifact_upload'] !== listing.artifact_upload)
        await spend.noteListing({ ...listing });
    }
    return await payFee(fee, spend, isNew).catch(async (error: unknown) => {
      throw toUnknownOutcome(spend, await recordRefusal(options, spend, FEE_SUBJECT, error));
    });
  });
  if (order.sha256 !== null) await forgetUpload({ client: options.client, folder }, order.sha256);
  const { record } = spend;
  if (record === null) throw new TypeError('there is no record to finish');
  const url = urlOf(options, done.listing_id);
  const listed = { listing_id: done.listing_id, url, tx_hash: done.fee.tx_hash };
  const isWithoutFee = listed.tx_hash === null && record.state === 'signed';
  await spend.finishSpend({ listed, ...(isWithoutFee ? { unpaid: nothingDueEntry(record) } : {}) });
  return soldOf(options, spend.record ?? record, { ...listed, alreadyListed: false });
}

type Fee = SellGoodsOptions & { key: string };

async function payFee(options: Fee, spend: HeldSpend, isNew: boolean): Promise<ListedGoods> {
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
function feeKey({ baseUrl }: Client, listing: Body, uploadHash: string | null): string {
  // The market takes an upload by its bytes too: the same goods uploaded again are the same listing.
  const body = uploadHash === null ? listing : { ...listing, artifact_upload: uploadHash };
  return `${baseUrl} list ${bodyDigest(body)}`;
}

async function reserveFee(options: Fee, spend: HeldSpend): Promise<void> {
  const { client, policy, listing, key, signal, maxFeeUsdc = usdcOfUnits(LISTING_FEE_UNITS) } = options;
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
    key,
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
