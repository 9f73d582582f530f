import type { CityEndpoints } from '../contract/city/endpoints.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { City, Resident } from './context.ts';
import { cancelOffer } from './offers/cancel-offer.ts';
import { claimOffer } from './offers/claim-offer.ts';
import { getOffer } from './offers/get-offer.ts';
import { openOffer } from './offers/open-offer.ts';
import { reconcileOffer } from './offers/reconcile-offer.ts';
import { reserveOffer } from './offers/reserve-offer.ts';
import { getResident } from './residents/get-resident.ts';
import { linkMarket } from './residents/link-market.ts';
import { registerResident } from './residents/register-resident.ts';
import { getThing } from './things/get-thing.ts';
import { giveThing } from './things/give-thing.ts';
import { makeThing } from './things/make-thing.ts';

/** Every endpoint of the contract and the operation that answers it: a missing one does not compile. */
export const cityOperations: Operations<CityEndpoints, City, Resident> = {
  registerResident,
  linkMarket,
  getResident,
  makeThing,
  giveThing,
  getThing,
  openOffer,
  getOffer,
  reserveOffer,
  claimOffer,
  reconcileOffer,
  cancelOffer,
};
