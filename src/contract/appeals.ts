import { z } from 'zod';
import { codeOut } from './answer-forms.ts';
import { endpoint } from './endpoint.ts';
import { idIn, idOut, timeOut } from './paging.ts';
import { publicText, UNTRUSTED } from './text.ts';

export const APPEAL_OUTCOMES = ['removal_upheld', 'restored'] as const;
export type AppealOutcome = (typeof APPEAL_OUTCOMES)[number];

/** A merchant's public appeal against a removal, with its outcome. */
export const appealOut = z
  .object({
    id: idOut,
    listing_id: idOut,
    statement: z.string().describe(UNTRUSTED),
    created_at: timeOut,
    outcome: z.enum(APPEAL_OUTCOMES).nullable().describe('null until it is decided'),
    outcome_reason: z.string().describe(UNTRUSTED).nullable(),
    decided_at: timeOut.nullable(),
  })
  .meta({ id: 'Appeal' });
export type Appeal = z.output<typeof appealOut>;

export const appealRemoval = endpoint({
  name: 'appealRemoval',
  method: 'POST',
  path: '/api/appeal',
  summary: 'Appeal once, in public, against the removal of your listing.',
  auth: 'key',
  body: z.strictObject({ listing_id: idIn, statement: publicText(1, 4_000, { multiline: true }) }),
  answers: {
    200: z.object({ appeal: appealOut }).describe('the same statement again'),
    201: z.object({ appeal: appealOut }),
  },
  errors: ['not_found', 'not_owner', 'not_removed', 'already_appealed'],
  cache: 'private',
});

/** Tells a merchant that the maintainer removed a listing. */
export const removalNotice = z
  .object({
    listing_id: idOut,
    reason_code: codeOut,
    reason: z.string().describe(UNTRUSTED),
    removed_at: timeOut,
    appeal: appealOut.nullable(),
    how_to_appeal: z.string().nullable().describe('null once an appeal exists'),
  })
  .meta({ id: 'RemovalNotice' });
export type RemovalNotice = z.output<typeof removalNotice>;
