import { z } from 'zod';
import { type SearchAnswer, searchedNeed } from '../../contract/describe-search.ts';
import type { ListingSummary } from '../../contract/listings.ts';
import { named, type OwnWords, own } from '../../contract/own-words.ts';
import { AISLES, LONGEST_NEED, SORTS } from '../../contract/vocabulary.ts';
import { isSummary } from '../../sdk/pages.ts';
import { localTool, READS } from '../local-tool.ts';

const USUAL_ROWS = 10;
const LONGEST_PREVIEW = 160;

const input = z.strictObject({
  q: z
    .string()
    .min(1)
    .max(LONGEST_NEED)
    .optional()
    .describe('what you need, in your own words; "a phrase" and +word must occur, -word must not'),
  aisle: z.enum(AISLES).optional().describe('only goods of this kind'),
  tag: z.string().max(40).optional().describe('only goods with this tag'),
  seller: z.string().max(64).optional().describe('only goods of the merchant with this handle'),
  max_price_usdc: z.number().min(0).max(10_000).optional().describe('only goods that cost at most this'),
  free: z.boolean().optional().describe('true: only free goods; false: only goods with a price'),
  sort: z.enum(SORTS).optional().describe('sort order; relevance needs q'),
  limit: z.int().min(1).max(50).default(USUAL_ROWS).describe('most rows to return'),
  cursor: z.string().max(2_048).optional().describe('next_cursor of the previous answer, with the same filters'),
});

function namesOf({ id, title, title_note, price_usdc, merchant, maintainer }: ListingSummary) {
  return {
    ...{ listing_id: id, title, ...(title_note === undefined ? {} : { title_note }), price_usdc, seller: merchant },
    ...(maintainer === true ? { seller_is_maintainer: true } : {}),
  };
}

function rowOf(listing: ListingSummary) {
  const { aisle, tags, keywords, sales, votes, votes_by_buyers, license, description, text_flags } = listing;
  const about = description.replaceAll(/\s+/g, ' ').slice(0, LONGEST_PREVIEW);
  return { ...namesOf(listing), aisle, tags, keywords, sales, votes, votes_by_buyers, license, about, text_flags };
}

/** Says how the results differ from the need. Only counts its words, because they come from the market. */
function describeDifference({ search: report, total }: SearchAnswer): OwnWords | null {
  if (report === null) {
    return total === 0 ? own`This market finds only listings with every word. Search for fewer words.` : null;
  }
  const { absent, searched } = searchedNeed(report);
  if (total === 0) {
    return searched.length === 0
      ? own`No listing has any of these words: nothing fits.`
      : own`Listings have these words, but none fits the filters, quotes and signs.`;
  }
  if (absent.length > 0)
    return own`No listing has ${absent.length} of the words; search names what was searched instead.`;
  return report.matched === 'some' ? own`No listing has all of these words. These come closest.` : null;
}

export const search = localTool({
  name: 'search',
  title: 'Search goods',
  description:
    'Searches goods for sale, best first, one page at a time. Describe the need in your own words, once: if total is 0, nothing fits. search says how each word was searched. text_flags marks text that seems meant to steer a model.',
  input,
  hints: READS,
  run: async ({ client }, { max_price_usdc, free, ...filters }, { signal }) => {
    const query = {
      ...filters,
      ...(free === undefined ? {} : { free: free ? ('true' as const) : ('false' as const) }),
      // `toFixed` avoids the exponent of small numbers, which the market refuses.
      ...(max_price_usdc === undefined ? {} : { max_price_usdc: max_price_usdc.toFixed(6).replace(/\.?0+$/, '') }),
    };
    const { body } = await client.browseShelves({ query, signal });
    const listings = body.listings.filter(isSummary).map(rowOf);
    const { total, has_more, next_cursor, did_you_mean, search: report } = body;
    const difference = query.q === undefined ? null : describeDifference(body);
    return {
      said: [own`${listings.length} of ${total} listings.`, ...(difference === null ? [] : [difference])],
      data: { listings, total, has_more, next_cursor, did_you_mean, search: report },
      untrusted: true,
    };
  },
});

const USUAL_COMMENTS = 5;

const showInput = z.strictObject({
  listing_id: z.int().min(1).describe('ID of the listing, from search'),
  comments: z.int().min(1).max(50).default(USUAL_COMMENTS).describe('how many comments to show'),
});

export const show = localTool({
  name: 'show',
  title: 'Show a listing',
  description: 'Shows one listing in full, with its first comments. To get the goods, use buy.',
  input: showInput,
  hints: READS,
  run: async ({ client }, { listing_id, comments: limit }, { signal }) => {
    const { body } = await client.getListing({
      params: { id: listing_id },
      query: { comments_limit: limit },
      signal,
    });
    const { listing, comments, comments_total } = body;
    const { id, price_usdc, seller_wallet, state, aisle, tags, keywords, license, description, preview } = listing;
    const { artifact_bytes, artifact_media_type, artifact_commitment, sales, verified_sales, votes, votes_by_buyers } =
      listing;
    const { supersedes, superseded_by, removed_reason, withdrawn_reason, text_flags, created_at } = listing;
    return {
      said: [own`Listing ${id}: ${price_usdc} USDC, ${named(state)}.`],
      data: {
        ...{ ...namesOf(listing), seller_wallet, state, aisle, tags, keywords, license },
        ...{ description, preview, artifact_bytes, artifact_media_type, artifact_commitment },
        ...{
          sales,
          verified_sales,
          votes,
          votes_by_buyers,
          created_at,
          supersedes,
          superseded_by,
          removed_reason,
          withdrawn_reason,
        },
        text_flags,
        comments: comments.map(({ id: comment_id, handle, maintainer, verified_buyer, body: text }) => ({
          ...{ comment_id, handle, ...(maintainer === true ? { maintainer } : {}), verified_buyer, text },
        })),
        comments_total,
      },
      untrusted: true,
    };
  },
});
