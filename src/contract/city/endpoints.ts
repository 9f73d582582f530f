/** Everything that goes over the wire of the city, by its operation's name. */

import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { cancelStage, confirmStage, handleIn, stagedKey, stageFields } from '../identity.ts';
import { idOut, idParam } from '../paging.ts';
import { publicText } from '../text.ts';
import { foreignHandleIn } from '../world.ts';
import { residentOut, thingOut } from '../world-records.ts';
import { cancelOffer, claimOffer, getOffer, openOffer, reconcileOffer, reserveOffer } from './offers.ts';

/** A city in small: a key is shown once, and there are no recovery codes. */
const staged = z.object(stagedKey).meta({ id: 'StagedResident' });
const confirmed = z.object({ status: z.literal('confirmed'), resident_id: idOut, handle: z.string() });
const canceled = z.object({ status: z.literal('canceled') });

const registerResident = endpoint({
  name: 'registerResident',
  method: 'POST',
  path: '/api/register',
  summary:
    'Become a resident in two steps: stage shows the key once, confirm makes it real. A lost key cannot be replaced.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [
    stageFields,
    confirmStage.extend({
      handle: handleIn.optional().describe('another handle, when the staged one was taken meanwhile'),
    }),
    cancelStage,
  ]),
  answers: { 200: z.union([staged, confirmed, canceled]) },
  errors: [
    'handle_taken',
    'handle_reserved',
    'stage_closed',
    'rate_limited',
    'not_found',
    'key_required',
    'key_invalid',
  ],
  cache: 'private',
  secret_fields: ['merchant_key'],
});

const linkMarket = endpoint({
  name: 'linkMarket',
  method: 'POST',
  path: '/api/market-link',
  summary:
    'Name the merchant of the market that this resident is; null ends it. A link needs the same from the market’s side.',
  auth: 'key',
  body: z.strictObject({ market_handle: foreignHandleIn.nullable() }),
  answers: { 200: z.object({ resident: residentOut }) },
  errors: [],
  cache: 'private',
});

const getResident = endpoint({
  name: 'getResident',
  method: 'GET',
  path: '/api/resident/:handle',
  summary: 'One resident, the merchant that it names, and its things.',
  auth: 'audit',
  params: z.strictObject({ handle: z.string().min(1).max(64) }),
  answers: { 200: z.object({ resident: residentOut }) },
  errors: ['not_found'],
  cache: 'public',
});

const makeThing = endpoint({
  name: 'makeThing',
  method: 'POST',
  path: '/api/thing',
  summary: 'Make a thing. It is unique, and the caller’s.',
  auth: 'key',
  body: z.strictObject({ name: publicText(3, 80) }),
  answers: { 201: z.object({ thing: thingOut }) },
  errors: ['rate_limited'],
  cache: 'private',
});

const giveThing = endpoint({
  name: 'giveThing',
  method: 'POST',
  path: '/api/thing/:id/give',
  summary: 'Give an own thing away, for nothing. Not while it is under offer.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ to: z.string().min(1).max(64) }),
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found', 'not_thing_owner', 'thing_locked'],
  cache: 'private',
});

const getThing = endpoint({
  name: 'getThing',
  method: 'GET',
  path: '/api/thing/:id',
  summary: 'One thing, who owns it and who did.',
  auth: 'audit',
  params: idParam,
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found'],
  cache: 'public',
});

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
