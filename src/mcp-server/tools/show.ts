import { z } from 'zod';
import { localTool, READS } from '../local-tool.ts';

const USUAL_COMMENTS = 5;

const input = z.strictObject({
  listing_id: z.int().min(1).describe('the listing, as search names it'),
  comments: z.int().min(1).max(50).default(USUAL_COMMENTS).describe('how many comments to show'),
});

export const show = localTool({
  name: 'show',
  title: 'Show a listing',
  description: 'One listing in full with its first comments. The goods themselves come with buy.',
  input,
  hints: READS,
  run: async ({ client }, { listing_id, comments: limit }, { signal }) => {
    const { body } = await client.getListing({
      params: { id: listing_id },
      query: { comments_limit: limit },
      signal,
    });
    const { listing, comments, comments_total } = body;
    const { id, title, price_usdc, merchant, seller_wallet, state, aisle, tags, license, description, preview } =
      listing;
    const { artifact_bytes, artifact_media_type, artifact_commitment, sales, verified_sales, votes } = listing;
    const { supersedes, superseded_by, removed_reason, withdrawn_reason, text_flags, created_at } = listing;
    return {
      said: [`Listing ${id}: ${price_usdc} USDC, ${state}.`],
      data: {
        ...{ listing_id: id, title, price_usdc, seller: merchant, seller_wallet, state, aisle, tags, license },
        ...{ description, preview, artifact_bytes, artifact_media_type, artifact_commitment },
        ...{ sales, verified_sales, votes, created_at, supersedes, superseded_by, removed_reason, withdrawn_reason },
        text_flags,
        comments: comments.map(({ id: comment_id, handle, verified_buyer, body: text }) => ({
          ...{ comment_id, handle, verified_buyer, text },
        })),
        comments_total,
      },
      untrusted: true,
    };
  },
});
