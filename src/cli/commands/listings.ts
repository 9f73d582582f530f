import { isSummary } from '../../sdk/pages.ts';
import { asMerchant } from '../as-merchant.ts';
import { type Cli, type Done, SHORT_ACCOUNT } from '../cli.ts';
import type { Command } from '../command.ts';
import { listingRows } from '../listing-lines.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { readCount } from '../read-values.ts';

const USUAL_ROWS = 20;

async function run(cli: Cli): Promise<Done> {
  const limit = readCount(cli.options.limit, 'limit') ?? USUAL_ROWS;
  const before = readCount(cli.options.cursor, 'cursor');
  const page = before === undefined ? {} : { listings_before_id: before };
  return asMerchant(cli, async (client, { market }) => {
    const { body } = await client.getMe({ query: { ...SHORT_ACCOUNT, listings_limit: limit, ...page } });
    const { listings_total: total, listings_has_more: has_more, listings_next_before_id: next } = body;
    const listings = body.listings.filter(isSummary);
    return {
      lines: [
        ...listingRows(listings),
        `${listings.length} of ${total}`,
        ...(next === null ? [] : [`next: the same with --cursor ${next}`]),
      ],
      json: { market, listings, total, returned: listings.length, has_more, next_cursor: next },
      secrets: [],
    };
  });
}

export const listings: Command = {
  name: 'listings',
  summary: 'what this merchant listed, withdrawn and removed ones too, newest first',
  positionals: [],
  options: [...OF_A_MERCHANT, 'limit', 'cursor'],
  examples: ['openaisle listings', 'openaisle listings --limit 50 --json'],
  run,
};
