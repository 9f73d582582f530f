import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idIn, idOut, timeOut } from './paging.ts';
import { publicText } from './text.ts';
import { UNTRUSTED } from './text-flags.ts';

export const FLAG_TARGETS = ['listing', 'comment', 'merchant'] as const;
export type FlagTarget = (typeof FLAG_TARGETS)[number];

/** What a merchant told the maintainer of. That it was flagged is public, the reason is for the maintainer. */
export const flagOut = z
  .object({
    id: idOut,
    target_type: z.enum(FLAG_TARGETS),
    target_id: idOut,
    handle: z.string().describe('of who flagged'),
    reason: z.string().describe(UNTRUSTED),
    created_at: timeOut,
  })
  .meta({ id: 'Flag' });

export const raiseFlag = endpoint({
  name: 'raiseFlag',
  method: 'POST',
  path: '/api/flag',
  summary: 'Tell the maintainer of a listing, a comment or a merchant. Once for each; the first reason stands.',
  auth: 'key',
  body: z.strictObject({
    target_type: z.enum(FLAG_TARGETS),
    target_id: idIn,
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: {
    200: z.object({ flag: flagOut }).describe('flagged before'),
    201: z.object({ flag: flagOut }),
  },
  errors: ['not_found', 'own_target', 'rate_limited'],
  cache: 'private',
});
