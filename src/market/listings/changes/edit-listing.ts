import type { Endpoints } from '../../../contract/index.ts';
import type { ListingEdit } from '../../../contract/listing-changes.ts';
import {
  COMPARED_FIELDS,
  FIELD_NAMES,
  type FieldName,
  type FieldValues,
  LISTING_FIELDS,
} from '../../../contract/listing-fields.ts';
import type { NewListing } from '../../../contract/listings.ts';
import { canonicalJson, sha256 } from '../../../platform/canonical-json.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toHex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { stopAttempts } from '../../payments/store.ts';
import { LISTINGS_LOCK } from '../add-listing.ts';
import { answerListing } from '../answer-listing.ts';
import { duplicateRefusal, type GoodsRequest, mustOwn, takeGuardRun } from '../check-goods.ts';
import { isRefused, judgeStep } from '../listing-steps.ts';
import { type Fingerprint, fingerprintOf } from '../near/fingerprint.ts';
import { checkNear } from '../near/near-guard.ts';
import { replaceFingerprint } from '../near/store.ts';
import { type Goods, guardKeyOf, REPEAT_WINDOW_MS, readGoods } from '../read-goods.ts';
import { findGuard, findVersionChain, takeGuardEntry } from '../store.ts';
import {
  type ChangingListing,
  findChanging,
  type ListedGoods,
  lockListing,
  readEditConditions,
  replaceArtifact,
  updateTexts,
} from './store.ts';

type EditCall = MarketCall<Endpoints['editListing']>;

/** PATCH /api/listing/:id. Applies the whole edit or nothing. An edit that changes nothing records no event and gets the same answer. */
export const editListing: MarketOperation<Endpoints['editListing']> = async (market, call) => {
  const { id } = call.params;
  let fingerprint: Fingerprint | null = null;
  if (touchesGuard(call.body)) {
    // An edit queries the duplicate guard as a new listing does, so it counts as a guard run, but only if the edit is otherwise allowed.
    const listing = await findChanging(market.database, id);
    const { request } = await planEdit(market.database, market, call, listing);
    await takeGuardRun(market, request);
    // Compute the fingerprint before any lock, because a big artifact takes time. It depends only on the request.
    if (namesArtifact(call.body)) fingerprint = fingerprintOf(request.goods.content);
  }
  await market.database.transaction((tx) => applyEdit(tx, market, call, fingerprint));
  return await answerListing(market, id);
};

interface Plan {
  listing: ChangingListing;
  before: Goods;
  request: GoodsRequest;
}

/**
 * Checks in this order: owner, thing of a city, bad input, state, buyers, fixed fields, pending payments. Permanent obstacles come before
 * temporary ones.
 */
async function planEdit(
  queryable: Queryable,
  market: Market,
  call: EditCall,
  current: ChangingListing | null,
): Promise<Plan> {
  const { caller, body } = call;
  const listing = mustOwn(current, caller);
  const fields = Object.keys(body);
  // A thing cannot be edited, because its offer in the city was compared with the listing's terms.
  if (listing.goods === null)
    throw refuseFields('listing_closed', fields, 'a thing of the city stays as it was listed');
  const { content, purchased, pending } = await readEditConditions(queryable, listing.id);
  const before = { ...listing.goods, content };
  const goods = editedGoods(before, body, market.config.limits);
  if (isRefused(judgeStep(listing, 'edit')))
    throw refuseFields('listing_closed', fields, `the listing is ${listing.state}`);
  if (purchased) {
    throw refuseFields('listing_closed', fields, 'the listing has a buyer, and stays what was bought');
  }
  const fixed = fixedFields(body, before);
  if (fixed.length > 0) throw refuseFields('field_fixed', fixed, 'cannot be changed in this listing');
  if (pending) throw new Refusal('purchase_pending', { retryAfterSeconds: 30 });
  const request = {
    merchant: caller,
    goods,
    version: null,
    rawBody: call.rawBody,
    // The same edit of the same listing counts as one guard run a day, however often it is sent.
    bodyHash: sha256(canonicalJson(['edit', listing.id.toString(), call.rawBody])),
    guardKey: guardKeyOf(goods, caller.id),
  };
  return { listing, before, request };
}

function refuseFields(reason: 'listing_closed' | 'field_fixed', fields: string[], message: string): Refusal {
  return new Refusal(reason, {
    detail: `${fields.join(', ')}: ${message}.`,
    errors: fields.map((path) => ({ path, message })),
  });
}

/** Plans again, because the listing may have changed. New goods need the lock `listings`, taken before the row (see LISTINGS_LOCK). */
async function applyEdit(tx: Tx, market: Market, call: EditCall, fingerprint: Fingerprint | null): Promise<void> {
  if (namesArtifact(call.body)) await tx.lock(LISTINGS_LOCK);
  const { listing, before, request } = await planEdit(tx, market, call, await lockListing(tx, call.params.id));
  const { goods } = request;
  const fields = changedFields(before, goods);
  if (fields.length === 0) return;
  const isReplaced = !goods.content.equals(before.content);
  if (!request.guardKey.equals(guardKeyOf(before, listing.merchantId))) {
    await takeGuard(tx, market, listing.id, request);
  }
  if (isReplaced) await changeFingerprint(tx, market, listing.id, fingerprint);
  await stopAttempts(tx, listing.id, new Date(market.clock.now()));
  const commitment = isReplaced ? saveArtifact(tx, market, listing.id, goods) : null;
  updateTexts(tx, listing.id, goods);
  await recordEvent(tx, market, {
    kind: 'listing_edit',
    actor: call.caller.handle,
    detail: {
      listing_id: Number(listing.id),
      merchant_id: Number(listing.merchantId),
      fields,
      ...(commitment === null ? {} : { artifact_commitment: commitment }),
    },
  });
}

/**
 * Takes the duplicate-guard entry of the new goods. The old goods keep their entry until it expires, because they were also listed within
 * the seven days and the listing may go back to them. An entry held by another version of the listing is not a duplicate.
 */
async function takeGuard(tx: Tx, market: Market, id: bigint, request: GoodsRequest): Promise<void> {
  const nowMs = market.clock.now();
  const now = new Date(nowMs);
  const holder = await findGuard(tx, request.guardKey, now);
  if (holder?.listingId === id) return;
  const owner = { merchantId: request.merchant.id, listingId: id, paymentId: null };
  const term = { until: new Date(nowMs + REPEAT_WINDOW_MS), now, versionChain: await findVersionChain(tx, id) };
  if (await takeGuardEntry(tx, request.guardKey, owner, term)) return;
  throw duplicateRefusal(request.merchant.id, (await findGuard(tx, request.guardKey, now)) ?? owner);
}

async function changeFingerprint(tx: Tx, market: Market, id: bigint, fingerprint: Fingerprint | null): Promise<void> {
  await checkNear(tx, market, fingerprint, await findVersionChain(tx, id));
  replaceFingerprint(tx, id, fingerprint);
}

/** Stores new goods with a new salt, so that the old commitment says nothing about them. */
function saveArtifact(tx: Tx, market: Market, id: bigint, { content }: Goods): string {
  const salt = market.random.bytes(32);
  const commitment = sha256(salt, content);
  replaceArtifact(tx, id, { salt, content, commitment });
  return toHex(commitment);
}

const NEVER_EDITABLE = ['price_usdc', 'seller_wallet'] as const;
/** Field names in the order of refusals and events. The goods come before their encoding, type and file name. */
const FIELDS = [...COMPARED_FIELDS, 'artifact', ...FIELD_NAMES.filter((name) => name.startsWith('artifact_'))] as const;
const FREE_EDITABLE = FIELDS.filter((name) => name === 'artifact' || LISTING_FIELDS[name].changes === 'free_goods');

/** Returns the edit's fields that can never change in a listing of these goods. */
function fixedFields(edit: ListingEdit, goods: ListedGoods): string[] {
  const fixed = goods.priceUnits === 0n ? NEVER_EDITABLE : [...NEVER_EDITABLE, ...FREE_EDITABLE];
  return fixed.filter((field) => edit[field] !== undefined);
}

function touchesGuard(edit: ListingEdit): boolean {
  return edit.title !== undefined || namesArtifact(edit);
}

function namesArtifact(edit: ListingEdit): boolean {
  return edit.artifact !== undefined;
}

/**
 * Builds the edited goods, which must obey every rule for new ones. Fields that the edit does not name stay, except that new goods without
 * an encoding are UTF-8 and a new encoding drops the media type.
 */
function editedGoods(before: Goods, edit: ListingEdit, limits: { artifact_bytes: number }): Goods {
  if (edit.artifact === undefined && edit.artifact_encoding !== undefined) {
    // Without an artifact, a new encoding would change the bytes of the stored goods.
    const message = 'goes with an artifact only';
    throw new Refusal('invalid_fields', { errors: [{ path: 'artifact_encoding', message }] });
  }
  const isKept = edit.artifact === undefined;
  const encoding = isKept ? before.artifact_encoding : (edit.artifact_encoding ?? 'utf-8');
  const mediaType = encoding === before.artifact_encoding ? before.artifact_media_type : undefined;
  const fields = Object.fromEntries(
    FIELD_NAMES.map((name) => [name, (edit[name] === undefined ? before[name] : edit[name]) ?? undefined]),
  );
  return readGoods(
    {
      ...(fields as Omit<NewListing, 'artifact' | 'price_usdc' | 'seller_wallet'>),
      artifact: edit.artifact ?? before.content.toString(encoding === 'base64' ? 'base64' : 'utf8'),
      artifact_encoding: encoding,
      artifact_media_type: edit.artifact_media_type ?? mediaType,
      price_usdc: before.priceUnits,
      seller_wallet: before.sellerWallet,
    },
    // Goods that stay are exempt from a size limit that was lowered since.
    isKept ? { artifact_bytes: Number.MAX_SAFE_INTEGER } : limits,
  );
}

function changedFields(before: Goods, after: Goods): string[] {
  return FIELDS.filter((name) =>
    name === 'artifact' ? !before.content.equals(after.content) : differs(before[name], after[name]),
  );
}

function differs(one: FieldValues[FieldName], other: FieldValues[FieldName]): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
