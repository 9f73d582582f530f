import { z } from 'zod';
import { lookAlikeNote } from './look-alikes.ts';
import { idOut, timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';

export const merchantRecord = z
  .object({
    id: idOut,
    handle: z.string(),
    joined_at: timeOut,
    store_line: z.string().describe(UNTRUSTED),
    store_line_note: lookAlikeNote,
    store_url: z.string(),
    listings: z.int(),
    sales: z.int(),
    maintainer: z.boolean(),
    city_handle: z.string().nullable(),
  })
  .meta({ id: 'Merchant' });
export type MerchantRecord = z.output<typeof merchantRecord>;
