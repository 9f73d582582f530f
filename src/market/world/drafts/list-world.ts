import type { Endpoints } from '../../../contract/index.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../../context.ts';
import { LISTINGS_LOCK, recordListing } from '../../listings/add-listing.ts';
import { answerListRequest } from '../../listings/answer-list-request.ts';
import { checkWallet } from '../../listings/check-goods.ts';
import type { ThingFees } from '../../listings/fees/complete-fee.ts';
import { bodyBytes, type ListedKind, readFeePayment } from '../../listings/list-request.ts';
import { insertPending } from '../../listings/store.ts';
import type { Payment } from '../../payments/payment.ts';
import type { Payments } from '../../payments/payments.ts';
import { cityOrigin, compareOffer, type OfferDifference, readOffer } from '../city.ts';
import { mustBeLinked } from '../link-city.ts';
import { mustNotBeLost } from '../store.ts';
import { draftStateAt } from './get-world-draft.ts';
import {
  type Draft,
  endDraft,
  findDraft,
  insertThing,
  isOfferListed,
  keepDraftForFee,
  type ListedOffer,
  listedOffer,
  lockDraft,
  markListed,
  releaseWallet,
  reopenDraft,
  reserveWallet,
  type ThingToAdd,
} from './store.ts';

/** POST /api/world/listing. Lists a draft with its offer in the city, for the same fee as any listing. */
export function makeListWorld(payments: Payments): MarketOperation<Endpoints['listWorld']> {
  return async (market, call) => {
    const { rawBody: _, ...paying } = readFeePayment(call);
    const { caller: merchant, body } = call;
    const request = { merchant, bodyHash: paying.bodyHash, draftId: body.draft_id, offerId: body.city_offer_id };
    return await answerListRequest(market, payments, {
      merchant,
      ...paying,
      subject: thingToList(market, request),
    });
  };
}

interface ThingRequest {
  merchant: Merchant;
  bodyHash: Buffer;
  draftId: bigint;
  offerId: bigint;
}

/** Describes a thing for the fee. It needs no duplicate guard, because the city lets a thing be offered only once. */
function thingToList(market: Market, request: ThingRequest): ListedKind {
  return {
    path: '/api/world/listing',
    noun: 'a draft',
    unlistable: 'offer_mismatch',
    check: async () => {
      const offer = await checkThing(market, request);
      return {
        hold: (tx, payment) => holdDraft(tx, market, request, { offer, payment }),
        list: async (tx, feeId) => {
          const draft = await lockPendingDraft(tx, market, request);
          return await addThing(tx, market, { draft, offer, bodyHash: request.bodyHash, feeId });
        },
      };
    },
  };
}

/** Makes every check before any payment is requested. */
async function checkThing(market: Market, request: ThingRequest): Promise<ListedOffer> {
  const origin = cityOrigin(market);
  const row = await findDraft(market.database, request.draftId);
  if (row === null) await mustNotBeLost(market.database, 'world_drafts', request.draftId);
  const draft = mustBePending(row, market, request);
  const resident = await mustBeLinked(market, request.merchant);
  const offer = await readOffer(market, request.offerId);
  if (offer === null) throw new Refusal('not_found', { detail: 'The city has no such offer.' });
  mustMatchDraft(market, request, { draft, offer, resident });
  if (offer.phase !== 'listed') throw new Refusal('offer_not_open', { detail: `The offer is ${offer.phase}.` });
  await checkWallet(market, draft.sellerWallet, 'world');
  const listed = {
    city_origin: origin,
    offer_id: offer.id,
    seller_handle: offer.seller,
    offer_url: offer.offer_url,
    thing_url: offer.thing_url,
  };
  await mustBeUnlisted(market.database, listed);
  return listed;
}

function mustMatchDraft(
  { config }: Market,
  request: ThingRequest,
  { draft, offer, resident }: { draft: Draft; offer: OfferOut; resident: string },
): void {
  const differences = compareOffer(offer, {
    offerId: request.offerId,
    thingId: draft.thingId,
    seller: resident,
    sellerWallet: draft.sellerWallet,
    priceUnits: draft.priceUnits,
    marketOrigin: config.baseUrl,
    chainId: config.network.chainId,
    draftId: draft.id,
    listingId: null,
  });
  differences.push(...unusableAddresses(offer));
  if (differences.length === 0) return;
  const paths = differences.map(({ path }) => path).join(', ');
  throw new Refusal('offer_mismatch', { detail: `The offer differs from the draft: ${paths}.`, errors: differences });
}

/** Finds addresses that are not http or https. Both addresses of an offer are shown to people, who may open them. */
function unusableAddresses(offer: OfferOut): OfferDifference[] {
  const paths = (['offer_url', 'thing_url'] as const).filter((path) => !/^https?:\/\//.test(offer[path]));
  return paths.map((path) => ({ path, message: 'must be an http or https address' }));
}

function mustBePending(draft: Draft | null, { clock }: Pick<Market, 'clock'>, { merchant }: ThingRequest): Draft {
  if (draft === null || draft.merchantId !== merchant.id) throw new Refusal('not_found', { detail: 'No such draft.' });
  const state = draftStateAt(draft, clock.now());
  if (state === 'pending') return draft;
  if (state === 'fee_pending') throw new Refusal('draft_fee_pending', { retryAfterSeconds: 30 });
  throw new Refusal('draft_closed', { detail: `The draft is ${state}.` });
}

async function lockPendingDraft(tx: Tx, market: Market, request: ThingRequest): Promise<Draft> {
  return mustBePending(await lockDraft(tx, request.draftId), market, request);
}

/** Reserves the draft for a new fee. Until the fee ends, the draft can neither expire nor be canceled, and its wallet sells only things. */
async function holdDraft(
  tx: Tx,
  market: Market,
  request: ThingRequest,
  { offer, payment }: { offer: ListedOffer; payment: Payment },
): Promise<void> {
  const draft = await lockPendingDraft(tx, market, request);
  await reserveWallet(tx, draft.sellerWallet);
  await keepDraftForFee(tx, draft.id, { paymentId: payment.id, offerId: request.offerId });
  await insertPending(tx, payment.id, request.merchant.id, { body: bodyBytes(offer), draftId: draft.id });
}

/** Lists a thing, records the event and ends its draft. Lock the draft's row before calling, because this takes the lock `listings`. */
async function addThing(tx: Tx, market: Market, { draft, offer, bodyHash, feeId }: ThingToAdd): Promise<bigint> {
  await tx.lock(LISTINGS_LOCK);
  const at = new Date(market.clock.now());
  await reserveWallet(tx, draft.sellerWallet);
  await mustBeUnlisted(tx, offer);
  const { chainId } = market.config.network;
  const listingId = await insertThing(tx, { draft, offer, bodyHash, feeId, at, chainId });
  await markListed(tx, draft.id, { listingId, offerId: BigInt(offer.offer_id), at });
  await recordListing(tx, market, {
    ...{ id: listingId, merchantId: draft.merchantId, feeId, priceUnits: draft.priceUnits, aisle: 'world' },
    sellerWallet: draft.sellerWallet,
    about: { offer_id: offer.offer_id },
  });
  return listingId;
}

/** Refuses an offer that is already listed. An honest city has one draft per offer, and a draft has at most one listing. */
async function mustBeUnlisted(queryable: Queryable, offer: ListedOffer): Promise<void> {
  if (!(await isOfferListed(queryable, offer))) return;
  throw new Refusal('offer_mismatch', {
    detail: 'That offer is listed already.',
    errors: [{ path: 'city_offer_id', message: 'is listed already' }],
  });
}

/** Finishes a reserved draft when its fee has ended: lists the thing or releases the draft. */
export function createThingFees(market: Market): ThingFees {
  return {
    take: async (tx, payment, { draftId, body }) => {
      const draft = await lockFeePending(tx, draftId);
      const { bodyHash } = payment;
      if (bodyHash === null) throw new TypeError('a listing fee without a body');
      const stored = listedOffer.safeParse(JSON.parse(body.toString('utf8')));
      return async (within, feeId) => {
        // An older version may have stored the offer in another form. A refusal makes the fee a credit, while any other error would be
        // retried for ever.
        if (!stored.success) throw new Refusal('offer_mismatch');
        await addThing(within, market, { draft, offer: stored.data, bodyHash, feeId });
      };
    },
    release: async (tx, draftId) => {
      const draft = await lockFeePending(tx, draftId);
      const now = market.clock.now();
      if (now < draft.expiresAt.getTime()) await reopenDraft(tx, draftId);
      else await endDraft(tx, draftId, 'expired', new Date(now));
      await releaseWallet(tx, draft.sellerWallet);
    },
  };
}

async function lockFeePending(tx: Tx, draftId: bigint): Promise<Draft> {
  const draft = await lockDraft(tx, draftId);
  if (draft?.state !== 'fee_pending') throw new TypeError(`draft ${draftId} has no fee under way`);
  return draft;
}
