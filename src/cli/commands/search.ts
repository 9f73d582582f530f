import { describeSearch } from '../../contract/describe-search.ts';
import { inQuotes } from '../../contract/foreign-words.ts';
import { own } from '../../contract/own-words.ts';
import { AISLES, LONGEST_NEED, MATCHES, SORTS } from '../../contract/vocabulary.ts';
import { isSummary } from '../../sdk/pages.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { requiredMarket } from '../open-account.ts';
import { foreignLine, listingLines, listingRows, nameOf, quoteLines } from '../printable.ts';
import { readCount, readId, readUsdc } from '../read-values.ts';

const USUAL_ROWS = 20;
/** For a market that says nothing about a search. */
const EVERY_WORD = 'This market finds only listings with every word. Search for fewer words.';

async function searchGoods(cli: Cli): Promise<CommandOutput> {
  const { options, positionals } = cli;
  const market = requiredMarket(cli);
  if ((options.tag?.length ?? 0) > 1) throw wrongUse(own`search takes one --tag`);
  const [q, maxPrice] = [positionals.join(' '), readUsdc(options['max-price'], 'max-price')];
  const query = {
    limit: readCount(options.limit, 'limit') ?? USUAL_ROWS,
    ...(q === '' ? {} : { q }),
    ...(options.match === undefined ? {} : { match: MATCHES.find((one) => one === options.match) }),
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
  const { total, returned, has_more, next_cursor, did_you_mean, search: report } = body;
  const said = describeSearch(body, (text) => inQuotes(text, LONGEST_NEED));
  return {
    lines: [
      ...(said === null ? [] : [foreignLine(said)]),
      ...listingRows(listings),
      `${returned} of ${total}`,
      ...(q !== '' && total === 0 && report === null ? [EVERY_WORD] : []),
      ...(did_you_mean === null ? [] : [foreignLine(`Did you mean ${inQuotes(did_you_mean)}?`)]),
      ...(next_cursor === null ? [] : [`next: add --cursor ${next_cursor}`]),
    ],
    json: { market, listings, total, returned, has_more, next_cursor, did_you_mean, search: report },
  };
}

export const search: Command = {
  name: 'search',
  summary: 'finds what you describe in your own words; takes "a phrase", +word and, after --, -word to exclude it',
  positionals: [{ name: 'WORDS', required: false, variadic: true }],
  options: ['aisle', 'tag', 'seller', 'license', 'max-price', 'free', 'match', 'sort', 'limit', 'cursor'],
  examples: [
    'openaisle search write release notes from commits --max-price 2',
    'openaisle search --aisle skills --sort sales --json',
    'openaisle search -- prompts -images',
  ],
  run: searchGoods,
};

const USUAL_COMMENTS = 10;

async function showListing(cli: Cli): Promise<CommandOutput> {
  const market = requiredMarket(cli);
  const id = readId(cli.positionals[0]);
  const query = { comments_limit: readCount(cli.options.limit, 'limit') ?? USUAL_COMMENTS };
  const { body } = await connectTo(cli, market)().getListing({ params: { id }, query });
  const { listing, comments, comments_total, comments_has_more } = body;
  return {
    lines: [
      ...listingLines(listing),
      '',
      comments_total === 0 ? 'No comments' : `Comments (${comments.length} of ${comments_total})`,
      ...comments.flatMap(
        ({ id: of, handle, maintainer, verified_buyer, created_at, parent_id, removed, body: text }) => [
          `${of}  ${nameOf(handle, maintainer)}${verified_buyer ? ' (bought it)' : ''}, ${created_at}${parent_id === null ? '' : `, to ${parent_id}`}`,
          ...(removed ? ['removed'] : quoteLines(text)),
        ],
      ),
    ],
    json: { market, listing, comments, comments_total, comments_has_more },
  };
}

export const show: Command = {
  name: 'show',
  summary: 'shows one listing in full, with its first comments',
  positionals: [{ name: 'ID', required: true }],
  options: ['limit'],
  examples: ['openaisle show 7', 'openaisle show 7 --limit 50 --json'],
  run: showListing,
};
