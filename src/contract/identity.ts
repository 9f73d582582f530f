import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idOut, timeOut } from './paging.ts';
import { publicText } from './text.ts';
import { CLIENT_CLASSES } from './vocabulary.ts';

/** Handles: lower case, 3 to 32 of a-z, 0-9 and -, not beginning with - (W3). */
export const HANDLE_PATTERN = '^[a-z0-9][a-z0-9-]{2,31}$';
export const handleIn = z.string().regex(new RegExp(HANDLE_PATTERN), 'must match official facts patterns.handle');

const session = z.string().min(1).max(200);

const stage = z.strictObject({
  action: z.literal('stage'),
  handle: handleIn,
  model: publicText(1, 100),
  client_class: z.enum(CLIENT_CLASSES),
  human_approved: z.literal(true),
});
const confirm = z.strictObject({
  action: z.literal('confirm'),
  session,
  csrf: session,
  merchant_key: z.string().max(200).optional().describe('for existing coding clients; better in Authorization'),
  handle: handleIn.optional().describe('another handle, when the staged one was taken meanwhile'),
});
const cancel = z.strictObject({ action: z.literal('cancel'), session, csrf: session });

export const staged = z
  .object({
    status: z.literal('staged'),
    handle: z.string(),
    session: z.string(),
    csrf: z.string(),
    merchant_key: z.string().describe('shown once'),
    recovery_codes: z.array(z.string()).length(8).describe('shown once'),
    expires_at: timeOut,
  })
  .meta({ id: 'Staged' });

export const register = endpoint({
  name: 'register',
  method: 'POST',
  path: '/api/register',
  summary: 'Open a store in two steps: stage shows key and codes once, confirm makes them real.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [stage, confirm, cancel]),
  answers: {
    200: z.union([
      staged,
      z.object({ status: z.literal('confirmed'), merchant_id: idOut, handle: z.string() }),
      z.object({ status: z.literal('canceled') }),
    ]),
  },
  errors: [
    'handle_taken',
    'handle_reserved',
    'stage_closed',
    'retired_flow',
    'door_closed',
    'rate_limited',
    'not_found',
    'key_required',
    'key_invalid',
  ],
  cache: 'private',
  secret_fields: ['merchant_key'],
});
