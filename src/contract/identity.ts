import { z } from 'zod';
import { HANDLE_PATTERN, handleOut, secretOut } from './answer-forms.ts';
import { endpoint } from './endpoint.ts';
import { idOut, timeOut } from './paging.ts';
import { publicText } from './text.ts';
import { CLIENT_CLASSES, RECOVERY_CODE_COUNT } from './vocabulary.ts';

export { HANDLE_PATTERN };
export const handleIn = z.string().regex(new RegExp(HANDLE_PATTERN), 'must match official facts patterns.handle');

const session = z.string().min(1).max(200);
const stageId = { session, csrf: session };

/**
 * Clients of the original service also send this field to begin a rotation or recovery, and to generate codes. Only registration uses it.
 */
const ignoredClass = publicText(0, 100).optional().describe('ignored');
/** Accepts any text, because a malformed code must be refused exactly like an inactive one. */
const recoveryCode = z.string().describe('one of your eight valid codes, in upper or lower case');

export const stageFields = z.strictObject({
  action: z.literal('stage'),
  handle: handleIn,
  model: publicText(0, 120),
  client_class: z.enum(CLIENT_CLASSES),
  human_approved: z.literal(true),
});
export const confirmStage = z.strictObject({
  action: z.literal('confirm'),
  ...stageId,
  merchant_key: z.string().max(200).optional().describe('for older coding clients; prefer Authorization'),
});
export const cancelStage = z.strictObject({ action: z.literal('cancel'), ...stageId });

const shownCodes = z.array(secretOut).length(RECOVERY_CODE_COUNT).describe('shown once');

/** A staged key. It becomes active only when confirmed. */
export const stagedKey = {
  status: z.literal('staged'),
  handle: handleOut,
  session: secretOut,
  csrf: secretOut,
  merchant_key: secretOut.describe('shown once'),
  expires_at: timeOut,
};

export const staged = z.object({ ...stagedKey, recovery_codes: shownCodes }).meta({ id: 'Staged' });
/** A rotation keeps the recovery codes. */
export const stagedRotation = z.object(stagedKey).meta({ id: 'StagedRotation' });

const confirmed = z.object({ status: z.literal('confirmed'), merchant_id: idOut, handle: handleOut });
const canceled = z.object({ status: z.literal('canceled') });

export const register = endpoint({
  name: 'register',
  method: 'POST',
  path: '/api/register',
  summary: 'Open a store in two steps: stage shows the key and codes once, confirm activates them.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [
    stageFields,
    confirmStage.extend({
      handle: handleIn.optional().describe('another handle, if the staged one has been taken meanwhile'),
    }),
    cancelStage,
  ]),
  answers: { 200: z.union([staged, confirmed, canceled]) },
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

export const rotate = endpoint({
  name: 'rotate',
  method: 'POST',
  path: '/api/rotate',
  summary:
    'Replace your key in two steps: begin with the current key, confirm with the new one. The codes stay the same.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [
    z.strictObject({ action: z.literal('begin'), client_class: ignoredClass }),
    confirmStage,
    cancelStage,
  ]),
  answers: { 200: z.union([stagedRotation, confirmed, canceled]) },
  errors: ['stage_closed', 'retired_flow', 'door_closed', 'rate_limited', 'not_found', 'key_required', 'key_invalid'],
  cache: 'private',
  secret_fields: ['merchant_key'],
});

/** `now`: valid at once, and the old set ends. `later`: valid from `valid_from`, unless an old code is used first. */
export const generatedCodes = z
  .object({
    status: z.literal('generated'),
    handle: handleOut.optional().describe('absent from markets before 0.2.0'),
    recovery_codes: shownCodes,
    valid: z.enum(['now', 'later']),
    valid_from: timeOut,
  })
  .meta({ id: 'GeneratedCodes' });

export const recovery = endpoint({
  name: 'recovery',
  method: 'POST',
  path: '/api/recovery',
  summary: 'Recover your store with a code: begin shows a new key and eight new codes once, confirm activates them.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [
    z.strictObject({ action: z.literal('begin'), recovery_code: recoveryCode, client_class: ignoredClass }),
    confirmStage,
    cancelStage,
    z.strictObject({
      action: z.literal('generate'),
      recovery_code: recoveryCode.optional(),
      client_class: ignoredClass,
    }),
  ]),
  answers: { 200: z.union([staged, confirmed, canceled, generatedCodes]) },
  errors: [
    'recovery_code_refused',
    'stage_closed',
    'door_closed',
    'rate_limited',
    'not_found',
    'key_required',
    'key_invalid',
  ],
  cache: 'private',
  secret_fields: ['merchant_key', 'recovery_code'],
});

export const pair = endpoint({
  name: 'pair',
  method: 'POST',
  path: '/api/pair',
  summary: 'Get a pairing code for a person to type on the hosted connector’s page. It works once, for ten minutes.',
  auth: 'key',
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: z.object({ status: z.literal('created'), pairing_code: secretOut, expires_at: timeOut }) },
  errors: ['door_closed', 'rate_limited'],
  cache: 'private',
});
