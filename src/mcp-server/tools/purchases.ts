import { z } from 'zod';
import { listSpends } from '../../agent/list-purchases.ts';
import { checkPurchase } from '../check-purchase.ts';
import { localTool, READS } from '../local-tool.ts';

const USUAL_ROWS = 20;

const input = z.strictObject({
  listing_id: z.int().min(1).optional().describe('check the purchase of this listing: file, receipt, transfer'),
  limit: z.int().min(1).max(100).default(USUAL_ROWS).describe('rows of the list, newest first'),
});

export const purchases = localTool({
  name: 'purchases',
  title: 'What was bought and paid',
  description:
    'The local book: what this wallet bought and which fees it paid, with paths and whether the files are still what was bought. With listing_id that purchase is checked against the market, and the chain where an RPC endpoint is given.',
  input,
  hints: READS,
  run: async (context, { listing_id, limit }) => {
    const book = context.openBook(await context.walletAddress());
    const all = await listSpends(book);
    const rows = all
      .filter((row) => listing_id === undefined || row.listing_id === listing_id)
      .slice(0, listing_id === undefined ? limit : all.length);
    const verified = listing_id === undefined ? undefined : await checkPurchase(context, book, listing_id);
    return {
      said: [`${rows.length} of ${all.length} payments of this wallet.`],
      data: { payments: rows, total: all.length, ...(verified === undefined ? {} : { verified }) },
      untrusted: true,
    };
  },
});
