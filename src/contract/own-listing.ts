import { z } from 'zod';
import { hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { created, listingDetail, merchantText } from './listings.ts';
import { idParam } from './paging.ts';
import { UNTRUSTED } from './text.ts';
import { downloadOut } from './uploads.ts';

const OF_A_THING = 'null for a thing of the city';

export const getOwnListing = endpoint({
  name: 'getOwnListing',
  method: 'GET',
  path: '/api/me/listing/:id',
  summary: 'Read your own listing in any state, with its goods, salt and fee, to keep a copy of your store.',
  auth: 'key',
  params: idParam,
  answers: {
    200: z.object({
      listing: listingDetail,
      artifact: z.string().nullable().describe(`the goods, byte for byte; ${OF_A_THING}; ${UNTRUSTED}`),
      download: downloadOut.nullable().default(null).describe('goods that were uploaded'),
      artifact_encoding: z.enum(['utf-8', 'base64']).nullable(),
      artifact_media_type: merchantText.nullable(),
      artifact_filename: merchantText.nullable(),
      artifact_salt: hashOut
        .nullable()
        .describe(`32 bytes; SHA-256 over this salt and the artifact is artifact_commitment; ${OF_A_THING}`),
      fee: created.shape.fee,
      recovery_slip: created.shape.recovery_slip,
    }),
  },
  errors: ['read_unavailable'],
  cache: 'private',
});
