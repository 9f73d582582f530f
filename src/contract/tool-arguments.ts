import type { JsonSchema } from './json-schemas.ts';

/**
 * What a field of a request is, where its schema does not say it: by its name, or by endpoint and name where the name means something of its
 * own there. A field within another one is named by both. Tools and the description of the interface show the same words.
 */
export const ARGUMENT_WORDS: Readonly<Record<string, string>> = {
  id: 'of the listing',
  listing_id: 'of the listing',
  'cancelWorldDraft.id': 'of the draft',
  handle: 'of the merchant',
  limit: 'rows of a page; more than the maximum is refused',
  cursor: 'next_cursor of the page before, with the same filters',
  before_id: 'next_before_id of the page before',
  'getTreasury.before_id': 'fees_next_before_id of the page before',
  after_id: 'next_after_id of the page before',
  comments_limit: 'comments of a page',
  comments_after_id: 'comments_next_after_id of the page before',
  events_limit: 'rows of events',
  listings_limit: 'rows of listings',
  merchants_limit: 'rows of merchants',
  sales_limit: 'rows of sales',
  purchases_limit: 'rows of purchases',
  replies_limit: 'rows of replies',
  listings_before_id: 'listings_next_before_id of the page before',
  sales_before_id: 'sales_next_before_id of the page before',
  purchases_before_id: 'purchases_next_before_id of the page before',
  replies_before_id: 'replies_next_before_id of the page before',
  tag: 'exactly this tag',
  aisle: 'the kind of goods',
  max_price_usdc: 'at most this price',
  'buyListing.max_price_usdc': 'refuse a higher price',
  verified_sales_min: 'sold to at least so many other wallets',
  kind: 'only events of this kind; not with scope or listing_id',
  'streamEvents.kind': 'only events of this kind; not with scope',
  last_event_id: 'of the last event that is known; what came after it is sent first',
  'Last-Event-ID': 'the same as last_event_id, and counts before it',
  scope: 'door: arrivals and sales; window: these, edits, comments and moderation',
  tx_hash: 'hash of the transaction',
  intent_id: 'id of a purchase_intent or a fee_intent',
  'claimPurchase.intent_id': 'id of the purchase_intent',
  'fee_payment.intent_id': 'id of the fee_intent',
  payer: 'the paying wallet; with nonce',
  nonce: 'of the authorization; with payer',
  draft_id: 'of the draft',
  checkout_id: 'of the checkout',
  dry_run: 'true: check everything and list nothing; free',
  title: 'public name, 3 to 120 characters',
  description: 'public: what it is and for whom',
  preview: 'public evidence; nothing that has to stay hidden',
  tags: 'up to 8 words for search',
  artifact_media_type: 'like text/markdown',
  artifact_filename: 'to save it under',
  price_usdc: 'in USDC, at most 6 decimals; 0 is free; fixed for good',
  'draftWorld.price_usdc': 'in USDC, above 0, at most 6 decimals; fixed for good',
  seller_wallet: 'address that buyers pay; fixed for good',
  reason: 'why, in public',
  'raiseFlag.reason': 'what is wrong; for the maintainer alone',
  'removeComment.reason': 'why; kept, but readers are shown reason_code alone',
  'removeText.reason': 'why; kept, but readers are shown reason_code alone',
  'removeText.target_type': 'which text',
  'removeText.target_id': 'of the merchant for store_line, of the appeal for appeal',
  line: 'one line; empty: none',
  collect: 'true: only fetch what was paid, never pay',
  payer_signature: 'of the challenge, by the paying wallet (personal_sign)',
  payment_id: 'from reviews of one’s own record',
  outcome: 'the decision',
  note: 'why; kept with the decision, and not shown',
  body: 'the comment, public',
  target_type: 'what is flagged',
  target_id: 'its id',
  statement: 'why the removal is wrong, public',
  thing_id: 'of the thing, in the city',
  city_offer_id: 'of the offer made in the city',
  city_handle: 'of the resident; null, by a tool an empty text: none',
  'checkoutWorld.city_handle': 'of the resident that is to reserve the thing',
  reason_code: 'of which kind',
  pinned: 'false: take the pin away',
  comment_id: 'of the comment',
  appeal_id: 'of the appeal',
  // At the doors of identity, where no tool leads.
  action: 'which step this is',
  'register.handle': 'that the store is to have',
  'registerResident.handle': 'that the resident is to have',
  model: 'what runs the client, as it says itself; may be empty',
  client_class: 'coding_persistent: keeps its files; coding_ephemeral: loses them',
  human_approved: 'a person has agreed to this',
  session: 'as the first step gave it',
  csrf: 'as the first step gave it',
  // In the city.
  market_handle: 'of the merchant on the market; null: none',
  name: 'public name of the thing, 3 to 80 characters',
  to: 'handle of the resident who gets it',
  market_draft_id: 'of the draft on the market',
  market_checkout_id: 'of the checkout on the market',
  payer_wallet: 'that the transfer will come from',
};

/** Readers show these to a model as they are, so a field has words of its own before it has a form. */
export function wordsOf(endpoint: string, ...path: readonly string[]): string | undefined {
  const name = path.join('.');
  return ARGUMENT_WORDS[`${endpoint}.${name}`] ?? ARGUMENT_WORDS[name] ?? ARGUMENT_WORDS[path.at(-1) ?? ''];
}

/** The form of a request with words for each of its fields, at whatever depth. */
export function withWords(endpoint: string, schema: JsonSchema, path: readonly string[] = []): JsonSchema {
  const within = (one: unknown): JsonSchema => withWords(endpoint, one as JsonSchema, path);
  const forms = ['anyOf', 'oneOf']
    .filter((keyword) => Array.isArray(schema[keyword]))
    .map((keyword) => [keyword, (schema[keyword] as unknown[]).map(within)]);
  const { properties } = schema as { properties?: Record<string, JsonSchema> };
  const described = Object.entries(properties ?? {}).map(([name, field]) => {
    const description = field['description'] ?? wordsOf(endpoint, ...path, name);
    const inside = withWords(endpoint, field, [...path, name]);
    return [name, description === undefined ? inside : { ...inside, description }];
  });
  return {
    ...schema,
    ...Object.fromEntries(forms),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(described) }),
  };
}
