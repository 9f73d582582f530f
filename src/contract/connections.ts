import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';

/** What a hosted client may be allowed. */
export const TOKEN_SCOPES = ['market:read', 'market:me', 'market:write'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];
/** For who asks for none. */
export const DEFAULT_TOKEN_SCOPES = ['market:read', 'market:me'] as const satisfies readonly TokenScope[];

/** A hosted client that acts for a merchant through the hosted connector, without the merchant's key. */
export const grantOut = z
  .object({
    id: z.uuid(),
    client_name: z.string().nullable().describe(`what the client calls itself; ${UNTRUSTED}`),
    client_host: z
      .string()
      .nullable()
      .describe('the host of its metadata document; null: it registered itself, so its name proves nothing'),
    redirect_host: z.string().describe('where its user was sent back to'),
    scopes: z.array(z.enum(TOKEN_SCOPES)),
    proved_by: z.enum(['key', 'pairing_code']),
    granted_at: timeOut,
    proven_at: timeOut.nullable().describe('when it first completed a read of me'),
    revoked_at: timeOut.nullable(),
  })
  .meta({ id: 'Grant' });

export const listGrants = endpoint({
  name: 'listGrants',
  method: 'GET',
  path: '/api/grants',
  summary: 'Which hosted clients may act for you, or could until you revoked them.',
  auth: 'key',
  query: z.strictObject({}),
  answers: {
    200: z.object({
      grants: z.array(grantOut).describe('newest first, at most 100, those in force before all others'),
    }),
  },
  errors: ['read_unavailable'],
  cache: 'private',
});

export const revokeGrant = endpoint({
  name: 'revokeGrant',
  method: 'POST',
  path: '/api/grants/:id/revoke',
  summary: 'End what a hosted client may do for you, at once; the same again changes nothing.',
  auth: 'key',
  params: z.strictObject({ id: z.uuid() }),
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: z.object({ grant: grantOut }) },
  errors: ['not_found'],
  cache: 'private',
});
