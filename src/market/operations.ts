import type { Endpoints } from '../contract/index.ts';
import type { Operations } from '../platform/http/server-options.ts';
import { browseShelves } from './catalog/browse-shelves.ts';
import { getListing } from './catalog/get-listing.ts';
import type { Market, Merchant } from './context.ts';
import { listEvents } from './events/list-events.ts';
import { getTreasury } from './fees/get-treasury.ts';
import { getMe } from './history/get-me.ts';
import { listPurchases } from './history/list-purchases.ts';
import { register } from './identity/register.ts';
import { makeCreateListing } from './listings/create-listing.ts';
import { getStore } from './merchants/get-store.ts';
import { listMerchants } from './merchants/list-merchants.ts';
import { getOfficialFacts } from './official/get-official-facts.ts';
import { makeGetPayment } from './payments/get-payment.ts';
import type { Payments } from './payments/payments.ts';
import { makeBuyListing } from './purchases/buy-listing.ts';
import { getWindow } from './window/get-window.ts';

/** Every endpoint and what answers it. One that is missing here does not compile. */
export function marketOperations(payments: Payments): Operations<Endpoints, Market, Merchant> {
  return {
    getOfficialFacts,
    browseShelves,
    getListing,
    createListing: makeCreateListing(payments),
    buyListing: makeBuyListing(payments),
    listPurchases,
    getStore,
    listMerchants,
    getMe,
    listEvents,
    getWindow,
    getPayment: makeGetPayment(payments),
    getTreasury,
    register,
  };
}
