import { z } from 'zod';
import { handleOut, urlOut } from './answer-forms.ts';
import { idOut, timeOut } from './paging.ts';
import { lookAlikeNote } from './seen-text.ts';
import { UNTRUSTED } from './text.ts';

export const merchantRecord = z
  .object({
    id: idOut,
    handle: handleOut,
    joined_at: timeOut,
    store_line: z.string().describe(UNTRUSTED),
    store_line_note: lookAlikeNote,
    store_url: urlOut,
    listings: z.int(),
    sales: z.int(),
    maintainer: z.boolean(),
    city_handle: handleOut.nullable(),
  })
  .meta({ id: 'Merchant' });
export type MerchantRecord = z.output<typeof merchantRecord>;
