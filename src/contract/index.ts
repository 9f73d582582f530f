/** The contract: everything that goes over the wire. The one barrel of the project. */
import { register } from './identity.ts';
import { browseShelves, buyListing, createListing, getListing, getStore, listPurchases } from './listings.ts';
import { getMe, getWindow, listEvents, listMerchants } from './merchants.ts';
import { getOfficialFacts } from './official.ts';
import { getPayment, getTreasury } from './payments.ts';

/** Every JSON endpoint by its operation's name. An endpoint without an operation does not compile. */
export const endpoints = {
  getOfficialFacts,
  browseShelves,
  getListing,
  createListing,
  buyListing,
  listPurchases,
  getStore,
  listMerchants,
  getMe,
  listEvents,
  getWindow,
  getPayment,
  getTreasury,
  register,
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
