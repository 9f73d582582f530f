/** Everything that goes over the wire of the city, by its operation's name. */
import { cancelOffer, claimOffer, getOffer, openOffer, reconcileOffer, reserveOffer } from './offers.ts';
import { getResident, linkMarket, registerResident } from './residents.ts';
import { getThing, giveThing, makeThing } from './things.ts';

export const cityEndpoints = {
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
} as const;

export type CityEndpoints = typeof cityEndpoints;
export type CityEndpointName = keyof CityEndpoints;

/** Named rates of the city; every one may be overridden by CITY_LIMITS. */
export const CITY_LIMITS = {
  registration_per_ip_hour: 3,
  registration_per_hour: 300,
  confirm_per_ip_hour: 10,
  networks_per_site: 10,
  things_per_resident_day: 50,
  reservations_per_resident_hour: 20,
  claims_per_resident_hour: 60,
  reconciles_per_resident_hour: 600,
} as const;
export type CityLimits = { readonly [K in keyof typeof CITY_LIMITS]: number };
