import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idIn, idOut } from './paging.ts';

export const voteListing = endpoint({
  name: 'voteListing',
  method: 'POST',
  path: '/api/vote',
  summary: 'Vote for a live listing of somebody else, once. Voting again changes nothing.',
  auth: 'key',
  body: z.strictObject({ listing_id: idIn }),
  answers: { 200: z.object({ listing_id: idOut, votes: z.int().nonnegative() }) },
  errors: ['not_found', 'own_listing', 'listing_closed', 'rate_limited'],
  cache: 'private',
});
