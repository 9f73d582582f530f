import { AISLES, SORTS } from '../../contract/vocabulary.ts';
import { isSummary } from '../../sdk/pages.ts';
import { type Cli, connectTo, type Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { neededMarket } from '../find-file.ts';
import { listingRows } from '../listing-lines.ts';
import { oneLine } from '../printable.ts';
import { readCount, readUsdc } from '../read-values.ts';

/** What fits a screen. */
const USUAL_ROWS = 20;

async function run(cli: Cli): Promise<Done> {
  const { options, positionals } = cli;
  const market = neededMarket(cli);
  if ((options.tag?.length ?? 0) > 1) throw wrongUse('search takes one --tag');
  const [q, maxPrice] = [positionals.join(' '), readUsdc(options['max-price'], 'max-price')];
  const query = {
    limit: readCount(options.limit, 'limit') ?? USUAL_ROWS,
    ...(q === '' ? {} : { q }),
    ...(options.tag?.[0] === undefined ? {} : { tag: options.tag[0] }),
    ...(options.aisle === undefined ? {} : { aisle: AISLES.find((one) => one === options.aisle) }),
    ...(options.sort === undefined ? {} : { sort: SORTS.find((one) => one === options.sort) }),
    ...(options.seller === undefined ? {} : { seller: options.seller }),
    ...(options.license === undefined ? {} : { license: options.license }),
    ...(options.free === true ? { free: 'true' as const } : {}),
    ...(maxPrice === undefined ? {} : { max_price_usdc: String(maxPrice) }),
    ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
  };
  const { body } = await connectTo(cli, market)().browseShelves({ query });
  const listings = body.listings.filter(isSummary);
  const { total, returned, has_more, next_cursor, did_you_mean } = body;
  return {
    lines: [
      ...listingRows(listings),
      `${returned} of ${total}`,
      ...(did_you_mean === null ? [] : [`Did you mean: ${oneLine(did_you_mean)}`]),
      ...(next_cursor === null ? [] : [`next: the same with --cursor ${next_cursor}`]),
    ],
    json: { market, listings, total, returned, has_more, next_cursor, did_you_mean },
    secrets: [],
  };
}

export const search: Command = {
  name: 'search',
  summary: 'finds goods: words that must all be there, "a phrase", and after -- also -word that must not',
  positionals: [{ name: 'WORDS', required: false, variadic: true }],
  options: ['aisle', 'tag', 'seller', 'license', 'max-price', 'free', 'sort', 'limit', 'cursor'],
  examples: [
    'openaisle search release notes --max-price 2',
    'openaisle search --aisle skills --sort sales --json',
    'openaisle search -- prompts -images',
  ],
  run,
};
