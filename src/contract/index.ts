/** The market's wire contract. */
import { appealRemoval } from './appeals.ts';
import { listGrants, revokeGrant } from './connections.ts';
import { claimPurchase, openFeeIntent, openPurchaseIntent, reviewPayment } from './direct-payments.ts';
import { postComment, raiseFlag, voteListing } from './feedback.ts';
import { pair, recovery, register, rotate } from './identity.ts';
import { editListing, withdrawListing, withdrawWithReason } from './listing-changes.ts';
import { buyListing, createListing, getListing, getStore } from './listings.ts';
import { getMe, getWindow, listEvents, listMerchants, setStoreLine } from './merchants.ts';
import { decideAppeal, pinListing, removeComment, removeListing, removeText } from './moderation.ts';
import { getHelp, getOfficialFacts } from './official.ts';
import { getOwnListing } from './own-listing.ts';
import { getPayment, getTreasury } from './payments.ts';
import { listPurchases } from './purchases.ts';
import { browseShelves } from './shelves.ts';
import { listUploads } from './uploads.ts';
import {
  cancelWorldDraft,
  checkoutWorld,
  draftWorld,
  getWorldCheckout,
  getWorldDraft,
  linkCity,
  listWorld,
  syncWorld,
} from './world.ts';

/** All endpoints of the market's JSON API, by operation name. An endpoint without an operation does not compile. */
export const endpoints = {
  getOfficialFacts,
  browseShelves,
  getListing,
  createListing,
  editListing,
  withdrawListing,
  withdrawWithReason,
  buyListing,
  openPurchaseIntent,
  claimPurchase,
  openFeeIntent,
  reviewPayment,
  listPurchases,
  listUploads,
  getOwnListing,
  getStore,
  listMerchants,
  getMe,
  listEvents,
  getWindow,
  getPayment,
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
  listWorld,
  checkoutWorld,
  getWorldCheckout,
  syncWorld,
  listGrants,
  revokeGrant,
  getHelp,
} as const;

export type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;

export * from './chain-values.ts';
export * from './endpoint.ts';
export * from './errors.ts';
export * from './money.ts';
export * from './paging.ts';
export * from './text.ts';
export * from './vocabulary.ts';
