import type { Endpoints } from '../../../contract/index.ts';
import { canonicalJson, sha256 } from '../../../platform/canonical-json.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toHex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { deleteObject } from '../../goods/object-store.ts';
import { stopAttempts } from '../../payments/store.ts';
import { LISTINGS_LOCK } from '../add-listing.ts';
import { answerListing } from '../answer-listing.ts';
import { duplicateRefusal, type GoodsRequest, mustOwn, takeGuardRun } from '../check-goods.ts';
import {
  type GoodsContent,
  isInlineSize,
  isSameContent,
  readInline,
  sealContent,
  shapeOf,
  type UploadedGoods,
} from '../goods-content.ts';
import { isRefused, judgeStep } from '../listing-steps.ts';
import { lockUploaded, type NamedUpload, passUpload, readNamedUpload } from '../named-upload.ts';
import type { Fingerprint } from '../near/fingerprint.ts';
import { checkNear } from '../near/near-guard.ts';
import { replaceFingerprint } from '../near/store.ts';
import { type Goods, guardKeyOf, REPEAT_WINDOW_MS } from '../read-goods.ts';
import { findGuard, findVersionChain, takeGuardEntry } from '../store.ts';
import {
  changedFields,
  editedGoods,
  fixedFields,
  mustHaveUpload,
  namesArtifact,
  touchesGuard,
} from './edited-goods.ts';
import {
  type ChangingListing,
  type EditConditions,
  findChanging,
  lockListing,
  readEditConditions,
  replaceArtifact,
  updateTexts,
} from './store.ts';

type EditCall = MarketCall<Endpoints['editListing']>;

/** PATCH /api/listing/:id. Applies the whole edit or nothing. An edit that changes nothing records no event and gets the same answer. */
export const editListing: MarketOperation<Endpoints['editListing']> = async (market, call) => {
  const { id } = call.params;
  const edit = await readEdit(market, call);
  let fingerprint: Fingerprint | null = null;
  if (touchesGuard(call.body)) {
    // An edit queries the duplicate guard as a new listing does, so it counts as a guard run, but only if the edit is otherwise allowed.
    const listing = await findChanging(market.database, id);
    const { request } = await planEdit(market.database, market, edit, listing);
    await takeGuardRun(market, request);
    // Compute the fingerprint before any lock, because a big artifact takes time. It depends only on the request.
    if (namesArtifact(call.body)) fingerprint = shapeOf(request.goods.content);
  }
  await market.database.transaction((tx) => applyEdit(tx, market, edit, fingerprint));
  return await answerListing(market, id);
};

/** An edit, with the uploaded bytes that it needs. They are read before the transaction, because they may be in another store. */
interface Edit {
  call: EditCall;
  /** The upload that the edit names. */
  named: NamedUpload | null;
  /** The listed goods, if they were uploaded and are small enough to be compared. */
  known: UploadedGoods | null;
}

async function readEdit(market: Market, call: EditCall): Promise<Edit> {
  const { body, caller, params } = call;
  const named =
    body.artifact_upload === undefined ? null : await readNamedUpload(market, caller.id, body.artifact_upload);
  const listing = await findChanging(market.database, params.id);
  const isOwn = listing?.merchantId === caller.id && listing.goods !== null;
  return { call, named, known: isOwn ? await readKnown(market, params.id) : null };
}

async function readKnown(market: Market, id: bigint): Promise<UploadedGoods | null> {
  const { content } = await readEditConditions(market.database, id);
  if (content === null || Buffer.isBuffer(content) || !isInlineSize(content.bytes)) return null;
  try {
    return { ...content, uploadId: null, inline: await readInline(market, content) };
  } catch (error) {
    // Another edit deletes the bytes that it replaces.
    const { content: current } = await readEditConditions(market.database, id);
    if (current !== null && !Buffer.isBuffer(current) && current.objectId === content.objectId) throw error;
    return null;
  }
}

/** Adds the bytes that were read before to goods that are compared by them. */
function contentOf(content: NonNullable<EditConditions['content']>, known: UploadedGoods | null): GoodsContent {
  if (Buffer.isBuffer(content)) return content;
  if (!isInlineSize(content.bytes)) return { ...content, uploadId: null, inline: null };
  if (known?.objectId === content.objectId) return known;
  throw new Refusal('unavailable', { detail: 'Another edit has just replaced the goods.', retryAfterSeconds: 1 });
}

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
  { call, named, known }: Edit,
  current: ChangingListing | null,
): Promise<Plan> {
  const { caller, body } = call;
  const listing = mustOwn(current, caller);
  const fields = Object.keys(body);
  // A thing cannot be edited, because its offer in the city was compared with the listing's terms.
  if (listing.goods === null)
    throw refuseFields('listing_closed', fields, 'a thing of the city stays as it was listed');
  const { content, purchased, pending } = await readEditConditions(queryable, listing.id);
  if (content === null) throw refuseFields('listing_closed', fields, 'the goods were erased');
  const before = { ...listing.goods, content: contentOf(content, known) };
  const goods = editedGoods(before, body, { limits: market.config.limits, named });
  if (isRefused(judgeStep(listing, 'edit')))
    throw refuseFields('listing_closed', fields, `the listing is ${listing.state}`);
  if (purchased) {
    throw refuseFields('listing_closed', fields, 'the listing has a buyer, and stays what was bought');
  }
  const fixed = fixedFields(body, before);
  if (fixed.length > 0) throw refuseFields('field_fixed', fixed, 'cannot be changed in this listing');
  mustHaveUpload(before, named);
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

/**
 * Plans again, because listing and upload may have changed. New goods need the upload's row and then the lock `listings`, before the
 * listing's row (see LISTINGS_LOCK).
 */
async function applyEdit(tx: Tx, market: Market, edit: Edit, fingerprint: Fingerprint | null): Promise<void> {
  const { call } = edit;
  const named = await lockNamed(tx, market, edit);
  if (namesArtifact(call.body)) await tx.lock(LISTINGS_LOCK);
  const current = await lockListing(tx, call.params.id);
  const { listing, before, request } = await planEdit(tx, market, { ...edit, named }, current);
  const { goods } = request;
  const fields = changedFields(before, goods);
  if (fields.length === 0) return;
  const isReplaced = !isSameContent(goods.content, before.content);
  if (!request.guardKey.equals(guardKeyOf(before, listing.merchantId))) {
    await takeGuard(tx, market, listing.id, request);
  }
  if (isReplaced) await changeFingerprint(tx, market, listing.id, fingerprint);
  await stopAttempts(tx, listing.id, new Date(market.clock.now()));
  const commitment = isReplaced ? await saveArtifact(tx, market, listing.id, { before, goods }) : null;
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

/** Locks the named upload. If a copy of this edit has listed it meanwhile, the plan finds that nothing is left to change. */
async function lockNamed(tx: Tx, market: Market, { call, named }: Edit): Promise<NamedUpload | null> {
  if (named === null || named.found instanceof Refusal) return named;
  try {
    await lockUploaded(tx, market, call.caller.id, named.found.goods);
    return named;
  } catch (error) {
    if (error instanceof Refusal) return { ...named, found: error };
    throw error;
  }
}

/** Stores new goods with a new salt, so that the old commitment says nothing about them. Nothing refers to replaced uploads any more. */
async function saveArtifact(
  tx: Tx,
  market: Market,
  id: bigint,
  { before, goods: { content } }: { before: Goods; goods: Goods },
): Promise<string> {
  const now = new Date(market.clock.now());
  const { salt, commitment } = sealContent(market, content);
  replaceArtifact(tx, id, { salt, content, commitment });
  if (!Buffer.isBuffer(content))
    await passUpload(tx, { objectId: content.objectId, paymentId: null, listingId: id, now });
  if (!Buffer.isBuffer(before.content)) await deleteObject(tx, before.content.objectId, now);
  return toHex(commitment);
}
