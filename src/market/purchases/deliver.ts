import { checksummed } from '../../contract/chain-values.ts';
import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { CollectedBy, Delivery } from '../../contract/listings.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { isoTime } from '../../platform/clock.ts';
import { toHex } from '../../platform/hex.ts';
import { attributesOf } from '../catalog/store.ts';
import type { Market } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import { settlementHeaders, slipField } from '../payments/present-payment.ts';
import { findProof } from '../payments/proof-store.ts';
import { findPayment } from '../payments/store.ts';
import { type ArtifactRow, type Purchase, readArtifact } from './store.ts';

export type BuyAnswer = AnswerOf<Endpoints['buyListing']>;

interface GoodsDelivery {
  purchase: Purchase | null;
  collectedBy: CollectedBy | null;
  payment?: Payment | null;
}

/** Delivers the goods. Call after the caller's right to them was checked. `purchase` is null if none was recorded. */
export async function deliverGoods(
  market: Market,
  listingId: bigint,
  { purchase, collectedBy, payment = null }: GoodsDelivery,
): Promise<BuyAnswer> {
  const artifact = await readArtifact(market.database, listingId);
  const paid = purchase?.paymentId ? await readPaid(market, purchase.paymentId, payment) : null;
  const receipt = paid !== null && purchase?.txHash ? await readReceipt(market, paid) : null;
  const body: Delivery = {
    listing_id: Number(listingId),
    title: artifact.title,
    artifact: artifact.content.toString(artifact.encoding === 'base64' ? 'base64' : 'utf8'),
    download: null,
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
  return { status: 200, body, headers, bytes: artifact.content };
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
