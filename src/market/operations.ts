import type { Endpoints } from '../contract/index.ts';
import type { ReadFromMemory } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/server-options.ts';
import { type MemoryCall, type MemoryRead, nullIfRefused } from './catalog/answers.ts';
import { listingFromMemory, makeGetListing } from './catalog/get-listing.ts';
import type { MarketCatalog } from './catalog/market-catalog.ts';
import { makeBrowseShelves, shelvesFromMemory } from './catalog/shelf/browse-shelves.ts';
import { listGrants, revokeGrant } from './connect/grants.ts';
import type { Market, Merchant } from './context.ts';
import { type EventTail, listEvents } from './events/read-events.ts';
import { makeGetWindow, windowFromMemory } from './get-window.ts';
import { listUploads } from './goods/uploads/list-uploads.ts';
import { getHelp } from './guide/get-help.ts';
import { getOfficialFacts } from './guide/get-official-facts.ts';
import { getMe } from './history/get-me.ts';
import { getOwnListing } from './history/get-own-listing.ts';
import { listPurchases } from './history/purchase-history.ts';
import { pair } from './identity/pair.ts';
import { recovery } from './identity/recovery.ts';
import { register } from './identity/register.ts';
import { rotate } from './identity/rotate.ts';
import type { Budgets } from './limits/budgets.ts';
import { editListing } from './listings/changes/edit-listing.ts';
import { withdrawListing } from './listings/changes/withdraw-listing.ts';
import { withdrawWithReason } from './listings/changes/withdraw-with-reason.ts';
import { makeCreateListing } from './listings/create-listing.ts';
import { getTreasury } from './listings/fees/get-treasury.ts';
import { makeOpenFeeIntent } from './listings/fees/open-fee-intent.ts';
import { limitWholeStores, makeGetStore, storeFromMemory } from './merchants/get-store.ts';
import { makeListMerchants, merchantsFromMemory } from './merchants/list-merchants.ts';
import { setStoreLine } from './merchants/set-store-line.ts';
import { appealRemoval, decideAppeal } from './moderation/appeals.ts';
import { pinListing } from './moderation/pin-listing.ts';
import { removeComment, removeListing } from './moderation/remove-listing.ts';
import { removeText } from './moderation/remove-text.ts';
import type { Payments } from './payments/payments.ts';
import { makeGetPayment } from './payments/present-payment.ts';
import { makeReviewPayment } from './payments/review-payment.ts';
import { makeBuyListing } from './purchases/buy-listing.ts';
import { makeClaimPurchase, makeOpenPurchaseIntent } from './purchases/claim-purchase.ts';
import { postComment } from './reactions/post-comment.ts';
import { raiseFlag } from './reactions/raise-flag.ts';
import { voteListing } from './reactions/vote-listing.ts';
import type { ReadYourWrites } from './read-your-writes.ts';
import { checkoutWorld, getWorldCheckout } from './world/checkout-world.ts';
import { cancelWorldDraft, draftWorld } from './world/drafts/draft-world.ts';
import { getWorldDraft } from './world/drafts/get-world-draft.ts';
import { makeListWorld } from './world/drafts/list-world.ts';
import { linkCity } from './world/link-city.ts';
import { makeSyncWorld } from './world/sync/sync-world.ts';

/** Parts that only some operations need. */
export interface OperationDependencies {
  payments: Payments;
  catalog: MarketCatalog;
  /** Newest events, in step with the catalog. */
  events: EventTail;
  budgets: Budgets;
}

/** Maps every endpoint to its operation. A missing one is a compile error. */
export function marketOperations({
  payments,
  catalog,
  events,
  budgets,
}: OperationDependencies): Operations<Endpoints, Market, Merchant> {
  return {
    getOfficialFacts,
    browseShelves: makeBrowseShelves(catalog),
    getListing: makeGetListing(catalog),
    createListing: makeCreateListing(payments),
    editListing,
    withdrawListing,
    withdrawWithReason,
    buyListing: makeBuyListing(payments, budgets.attempts),
    openPurchaseIntent: makeOpenPurchaseIntent(payments),
    claimPurchase: makeClaimPurchase(payments),
    openFeeIntent: makeOpenFeeIntent(payments),
    reviewPayment: makeReviewPayment(payments),
    listPurchases,
    listUploads,
    getOwnListing,
    getStore: limitWholeStores({ catalog, wholeStores: budgets.wholeStores }, makeGetStore(catalog)),
    listMerchants: makeListMerchants(catalog),
    getMe,
    listEvents,
    getWindow: makeGetWindow(catalog, events),
    getPayment: makeGetPayment(payments),
    getTreasury,
    setStoreLine,
    postComment,
    voteListing,
    raiseFlag,
    appealRemoval,
    removeListing,
    pinListing,
    removeComment,
    removeText,
    decideAppeal,
    register,
    rotate,
    recovery,
    pair,
    linkCity,
    draftWorld,
    getWorldDraft,
    cancelWorldDraft,
    listWorld: makeListWorld(payments),
    checkoutWorld,
    getWorldCheckout,
    syncWorld: makeSyncWorld(payments),
    listGrants,
    revokeGrant,
    getHelp,
  };
}

/** Answers the most frequent reads from memory. Null leaves the request to the route's operation. */
export function createReadFromMemory(
  { catalog, events }: Pick<OperationDependencies, 'catalog' | 'events'>,
  readYourWrites: Pick<ReadYourWrites, 'leastVersion'>,
): ReadFromMemory {
  const whole: Readonly<Record<string, MemoryRead>> = {
    '/api/shelves': shelvesFromMemory(catalog),
    '/api/merchants': merchantsFromMemory(catalog),
    '/api/window': windowFromMemory(catalog, events),
  };
  const readsByPath: Readonly<Record<string, { route: string; read: MemoryRead }>> = {
    '/api/listing/': { route: '/api/listing/:id', read: listingFromMemory(catalog) },
    '/api/store/': { route: '/api/store/:handle', read: storeFromMemory(catalog) },
  };
  return (request) => {
    const { target, acceptsGzip } = request;
    if (!target.startsWith('/api/')) return null;
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const call = {
      name: path.slice(path.lastIndexOf('/') + 1),
      query: mark < 0 ? '' : target.slice(mark + 1),
      request: { target, acceptsGzip },
      leastVersion: () => readYourWrites.leastVersion(request),
    };
    const read = whole[path];
    if (read !== undefined) return answerFrom(read, call, path);
    const entry = readsByPath[path.slice(0, path.length - call.name.length)];
    return entry === undefined ? null : answerFrom(entry.read, call, entry.route);
  };

  function answerFrom(read: MemoryRead, call: MemoryCall, route: string) {
    catalog.noteRead();
    const prepared = nullIfRefused(() => read(call));
    return prepared && { ...prepared, route };
  }
}
