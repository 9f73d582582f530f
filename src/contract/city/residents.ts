import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { cancelStage, confirmStage, handleIn, stagedKey, stageFields } from '../identity.ts';
import { idOut } from '../paging.ts';
import { foreignHandleIn } from '../world.ts';
import { residentOut } from '../world-records.ts';

/** A city in small: a key is shown once, and there are no recovery codes. */
const staged = z.object(stagedKey).meta({ id: 'StagedResident' });
const confirmed = z.object({ status: z.literal('confirmed'), resident_id: idOut, handle: z.string() });
const canceled = z.object({ status: z.literal('canceled') });

export const registerResident = endpoint({
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

export const linkMarket = endpoint({
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

export const getResident = endpoint({
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
