import { concatBytes, sha256, stringToBytes } from 'viem';
import type { z } from 'zod';
import { checksummed } from '../../src/contract/chain-values.ts';
import { ERRORS, errorClass, NETWORKS, type Problem, type Reason } from '../../src/contract/index.ts';
import { ATTRIBUTE_NAMES, type Attributes } from '../../src/contract/listing-fields.ts';
import type { Delivery, ListingDetail, ListingSummary } from '../../src/contract/listings.ts';
import type { MerchantRecord } from '../../src/contract/merchant-record.ts';
import { getOfficialFacts } from '../../src/contract/official.ts';
import type { PaymentOut } from '../../src/contract/payments.ts';
import { DEFAULT_NETWORK } from '../../src/contract/vocabulary.ts';
import type { Reply } from './scripted-market.ts';

/** Well-formed answers of a market, for scripted servers. */

export const SELLER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
export const TREASURY = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
export const ARTIFACT = 'the hidden goods';
const SALT = `0x${'5a'.repeat(32)}` as const;
const COMMITMENT = sha256(concatBytes([new Uint8Array(32).fill(0x5a), stringToBytes(ARTIFACT)]));
const NOT_SAID = Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, null])) as Attributes;
const AT = '2026-01-02T03:04:05.678Z';

export function listingSummary(id: number, fields: Partial<ListingSummary> = {}): ListingSummary {
  return {
    id,
    merchant: 'ada',
    title: `Goods ${id}`,
    description: 'd',
    preview: '',
    store_url: '/api/store/ada',
    price_usdc: 2.5,
    seller_wallet: SELLER,
    tags: [],
    keywords: [],
    aisle: 'other',
    votes: 0,
    sales: 0,
    pinned: false,
    created_at: AT,
    delivery_kind: 'artifact',
    city_url: null,
    world_offer_id: null,
    world_asset_id: null,
    world_seller_handle: null,
    world_draft_id: null,
    world_state: null,
    city_offer_url: null,
    world_asset_url: null,
    requires_city_resident: false,
    state: 'live',
    artifact_commitment: COMMITMENT,
    artifact_bytes: ARTIFACT.length,
    artifact_media_type: 'text/plain; charset=utf-8',
    verified_sales: 0,
    supersedes: null,
    superseded_by: null,
    text_flags: [],
    ...NOT_SAID,
    ...fields,
  };
}

export function listingDetail(id: number, fields: Partial<ListingDetail> = {}): ListingDetail {
  return {
    ...listingSummary(id),
    removed: false,
    removed_at: null,
    removed_reason: null,
    removed_reason_code: null,
    appeal: null,
    withdrawn: false,
    withdrawn_at: null,
    withdrawn_reason: null,
    world_receipt: null,
    ...fields,
  };
}

export function listingAnswer(id: number, fields: Partial<ListingDetail> = {}): Reply {
  const body = {
    listing: listingDetail(id, fields),
    comments: [],
    comments_total: 0,
    comments_returned: 0,
    comments_page_size: 1,
    comments_has_more: false,
    comments_next_after_id: null,
    artifact: `purchase-required: POST /api/buy/${id}`,
    a_field_of_tomorrow: true,
  };
  return { status: 200, body };
}

export function merchantRecord(id: number): MerchantRecord {
  return {
    id,
    handle: `merchant-${id}`,
    joined_at: AT,
    store_line: '',
    store_url: `/api/store/merchant-${id}`,
    listings: 0,
    sales: 0,
    maintainer: false,
    city_handle: null,
  };
}

export function deliveryAnswer(listingId: number, fields: Partial<Delivery> = {}): Reply {
  const body: Delivery = {
    listing_id: listingId,
    title: 'Goods',
    artifact: ARTIFACT,
    download: null,
    artifact_encoding: 'utf-8',
    artifact_media_type: 'text/plain; charset=utf-8',
    artifact_filename: null,
    artifact_salt: SALT,
    ...NOT_SAID,
    purchase: null,
    receipt: null,
    do_not_pay_again: true,
    ...fields,
  };
  return { status: 200, body };
}

export function paymentRecord(): PaymentOut {
  return {
    id: 9,
    purpose: 'purchase',
    payment_status: 'payment_pending',
    stage: 'mined',
    listing_id: 7,
    tx_hash: null,
    block_number: null,
    block_time: null,
    finalized_head: null,
    payment_ends_at: AT,
    next_step: 'Wait.',
    do_not_pay_again: true,
    updated_at: AT,
  };
}

export function pendingAnswer(fields: Record<string, unknown> = {}): Reply {
  const body = {
    status: 'payment_pending',
    payment: paymentRecord(),
    do_not_pay_again: true,
    retry: 'same_proof',
    retry_after_seconds: 15,
    payment_ends_at: AT,
    estimate_seconds: 1_200,
    next_step: 'Wait.',
    ...fields,
  };
  return { status: 202, body };
}

export function problem(reason: Reason, fields: Record<string, unknown> = {}): Problem {
  const row = ERRORS[reason];
  return {
    type: `https://market.example/docs/errors/${reason}`,
    title: row.title,
    status: row.status,
    detail: row.title,
    reason,
    error_class: errorClass(row.status),
    error: row.title,
    next_step: row.next_step,
    request_id: 'r',
    retry: row.retry,
    ...(row.do_not_pay_again === undefined ? {} : { do_not_pay_again: row.do_not_pay_again }),
    ...fields,
  };
}

export function refusalAnswer(reason: Reason, fields: Record<string, unknown> = {}): Reply {
  const body = problem(reason, fields);
  const wait = fields['retry_after_seconds'];
  const headers = typeof wait === 'number' ? { 'retry-after': String(wait) } : {};
  return { status: body.status, headers, body };
}

interface AskedPayment {
  payTo: string;
  units: string;
  asset?: string;
  maxTimeoutSeconds?: number;
}

/** The 402 of both versions: v1 in the body, v2 in the header. */
export function paymentRequiredAnswer(asked: AskedPayment): Reply {
  const network = NETWORKS.base;
  const shared = {
    scheme: 'exact',
    asset: asked.asset ?? '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: asked.payTo,
    maxTimeoutSeconds: asked.maxTimeoutSeconds ?? 120,
    extra: { name: network.domainName, version: network.domainVersion },
  };
  const resource = 'https://market.example/api/buy/7';
  const described = { resource, description: 'Grüße', mimeType: 'application/json' };
  const v1 = { ...shared, ...described, network: network.name, maxAmountRequired: asked.units };
  const v2 = {
    x402Version: 2,
    resource: { url: resource, description: 'Grüße', mimeType: 'application/json' },
    accepts: [{ ...shared, network: network.caip2, amount: asked.units }],
  };
  return {
    status: 402,
    headers: { 'payment-required': Buffer.from(JSON.stringify(v2)).toString('base64') },
    body: problem('payment_required', { x402Version: 1, accepts: [v1] }),
  };
}

export const DOMAIN = 'market.example';

export function officialAnswer(fields: object = {}): Reply {
  const x402_facilitator = {
    ...{ url: '', x402_versions: [1, 2], verify_deadline_seconds: 8, settle_deadline_seconds: 8 },
    ...{ verification_retry: '', settlement_retry: '', signers: [] },
  };
  const ordinary_direct_payment = {
    ...{ intent: '/api/purchase-intent/:id', claim: '/api/claim/:id', fee_intent: '/api/fee-intent' },
    ...{ signature_method: 'personal_sign' as const, intent_minutes: 10 },
  };
  const identity = {
    ...{ join: null, recovery: null, rotate: null, recovery_enabled: false, rotation_enabled: false },
    ...{
      hosted_connector: 'https://market.example/mcp/connect',
      hosted_proven_hosts: [],
      legacy_registration: '',
      coding_client_doors: null,
    },
  };
  const body: z.input<(typeof getOfficialFacts.answers)[200]> = {
    ...{
      domain: DOMAIN,
      deployment_commit: null,
      treasury: TREASURY,
      network: DEFAULT_NETWORK.name,
      token: null,
      statement: '',
    },
    ...{ usdc_contract: checksummed(DEFAULT_NETWORK.usdc), listing_fee_usdc: 1, ordinary_direct_payment },
    ...{ x402_facilitator, city: null, world: null, source: null, identity, limits: {}, event_kinds: [] },
    ...{ public_pagination: { completeness: '', sizes: {} }, scopes: { door: [], window: [] } },
    ...{ maintainer: { handle: null, merchant_id: 1, powers: [] } },
    ...{ patterns: { handle: '', key: '', recovery_code: '', pairing_code: '', reserved: [] } },
  };
  return { status: 200, body: getOfficialFacts.answers[200].parse({ ...body, ...fields }) };
}
