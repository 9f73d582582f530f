import { checksummed } from '../../contract/chain-values.ts';
import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { CollectedBy, Delivery } from '../../contract/listings.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { isoTime } from '../../platform/clock.ts';
import { type Hex, toHex } from '../../platform/hex.ts';
import { attributesOf } from '../catalog/store.ts';
import type { Market } from '../context.ts';
import { type DownloadFacts, describeDownload } from '../goods/downloads/describe-download.ts';
import type { Taker } from '../goods/downloads/download-quota.ts';
import { issueDownloadToken } from '../goods/downloads/download-token.ts';
import { GoodsFile } from '../goods/downloads/goods-file.ts';
import type { Payment } from '../payments/payment.ts';
import { settlementHeaders, slipField } from '../payments/present-payment.ts';
import { findProof } from '../payments/proof-store.ts';
import { findPayment } from '../payments/store.ts';
import { type ArtifactRow, type Purchase, readArtifact } from './store.ts';

export type BuyAnswer = AnswerOf<Endpoints['buyListing']>;
type DeliveredGoods = Extract<BuyAnswer, { status: 200 }>;

interface DeliveryFacts {
  collectedBy: CollectedBy | null;
  payment?: Payment | null;
}

/** `taker` is named where no purchase was recorded. */
type GoodsDelivery = DeliveryFacts & ({ purchase: Purchase } | { purchase: null; taker: Taker });

/** Delivers the goods. Call after the caller's right to them was checked. */
export async function deliverGoods(market: Market, listingId: bigint, to: GoodsDelivery): Promise<DeliveredGoods> {
  const { purchase, collectedBy, payment = null } = to;
  const artifact = await readArtifact(market.database, listingId);
  const paid = purchase?.paymentId ? await readPaid(market, purchase.paymentId, payment) : null;
  const receipt = paid !== null && purchase?.txHash ? await readReceipt(market, paid) : null;
  const body: Delivery = {
    listing_id: Number(listingId),
    title: artifact.title,
    artifact: artifact.content?.toString(artifact.encoding === 'base64' ? 'base64' : 'utf8') ?? null,
    ...describeFile(market, listingId, artifact),
    artifact_encoding: artifact.encoding,
    artifact_media_type: artifact.mediaType,
    artifact_filename: artifact.filename,
    artifact_salt: toHex(artifact.salt),
    ...attributesOf(artifact),
    purchase: purchase && presentPurchase(purchase, artifact),
    receipt,
    do_not_pay_again: true,
    ...(collectedBy === null ? {} : { collected_by: collectedBy }),
    ...(paid === null ? {} : slipField(market, paid)),
  };
  const headers = receipt ? settlementHeaders(market.config.network, receipt.tx_hash, receipt.payer) : {};
  const taker = to.purchase === null ? to.taker : { purchaseId: to.purchase.id };
  return { status: 200, body, headers, bytes: fileOf(market, listingId, { artifact, taker }) };
}

/** Opens a merchant's own goods. Call after it was checked that they are. */
export async function openOwnGoods(market: Market, listingId: bigint, merchantId: bigint): Promise<GoodsFile> {
  const artifact = await readArtifact(market.database, listingId);
  return fileOf(market, listingId, { artifact, taker: { merchantId } });
}

function fileOf(
  market: Market,
  listingId: bigint,
  { artifact, taker }: { artifact: ArtifactRow; taker: Taker },
): GoodsFile {
  const { bytes, commitment, filename, content, upload } = artifact;
  const source = content === null ? upload : { content };
  if (source === null) throw new TypeError('a listing without goods');
  return new GoodsFile(market, { listingId, bytes, commitment, filename, source }, taker);
}

function describeFile(
  { config }: Market,
  listingId: bigint,
  { upload, ...artifact }: ArtifactRow,
): Pick<Delivery, 'download' | 'next_step'> {
  if (upload === null) return { download: null };
  const facts: DownloadFacts = { ...artifact, ...upload, listingId };
  return {
    download: describeDownload(config, facts),
    next_step: `These goods are a file: collect them with openaisle download ${listingId}.`,
  };
}

/** Adds a token for the download to goods that only a signature collects, so that one signature is enough for a long download. */
export async function addDownloadToken(market: Market, answer: DeliveredGoods, payer: Hex): Promise<DeliveredGoods> {
  const { download } = answer.body;
  if (!download) return answer;
  const { token, expiresAt } = await issueDownloadToken(market, BigInt(answer.body.listing_id), payer);
  const withToken = { ...download, download_token: token, expires_at: isoTime(expiresAt) };
  return { ...answer, body: { ...answer.body, download: withToken } };
}

function presentPurchase(purchase: Purchase, artifact: ArtifactRow): Delivery['purchase'] {
  return {
    id: Number(purchase.id),
    listing_id: Number(purchase.listingId),
    title: artifact.title,
    seller: artifact.seller,
    price_usdc: usdcOfUnits(purchase.priceUnits),
    paid_usdc: usdcOfUnits(purchase.paidUnits),
    tx_hash: purchase.txHash,
    verified_via: purchase.verifiedVia,
    block_number: purchase.blockNumber === null ? null : Number(purchase.blockNumber),
    created_at: isoTime(purchase.createdAt),
    delivery_kind: 'artifact',
    ...attributesOf(artifact),
  };
}

async function readPaid(market: Market, paymentId: bigint, read: Payment | null): Promise<Payment> {
  const payment = read?.id === paymentId ? read : await findPayment(market.database, paymentId);
  if (payment === null) throw new TypeError('a purchase without its payment');
  return payment;
}

async function readReceipt(market: Market, payment: Payment): Promise<NonNullable<Delivery['receipt']>> {
  const proof = await findProof(market.database, { paymentId: payment.id });
  if (proof === null) throw new TypeError('a purchase without its proof');
  return {
    payment_id: Number(payment.id),
    tx_hash: proof.txHash,
    block_number: Number(proof.blockNumber),
    block_hash: proof.blockHash,
    block_time: isoTime(proof.blockTime),
    payer: checksummed(payment.payer),
    payee: checksummed(payment.payee),
    asset: checksummed(payment.asset),
    amount_usdc: usdcOfUnits(proof.valueUnits),
    amount_units: proof.valueUnits.toString(),
    network: market.config.network.name,
  };
}
