import type { JsonSchema } from './json-schemas.ts';

/** Says which keywords help a listing to be found. */
export const KEYWORDS_SAY =
  'public, up to 20: words a buyer in need would type that title and description lack, such as the problem, file formats, tools and synonyms; no praise';

/**
 * Describes request fields whose schema has no description, by name, or by endpoint and name if the meaning differs. A nested field is
 * named by its parent and its name. Tools and the OpenAPI document show the same texts.
 */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: 'id of the listing',
  listing_id: 'id of the listing',
  'cancelWorldDraft.id': 'id of the draft',
  handle: 'handle of the merchant',
  limit: 'rows per page; more than the maximum is refused',
  cursor: 'next_cursor of the previous page, with the same filters',
  before_id: 'next_before_id of the previous page',
  'getTreasury.before_id': 'fees_next_before_id of the previous page',
  after_id: 'next_after_id of the previous page',
  comments_limit: 'comments per page',
  comments_after_id: 'comments_next_after_id of the previous page',
  events_limit: 'number of events',
  listings_limit: 'number of listings',
  merchants_limit: 'number of merchants',
  sales_limit: 'number of sales',
  purchases_limit: 'number of purchases',
  replies_limit: 'number of replies',
  listings_before_id: 'listings_next_before_id of the previous page',
  sales_before_id: 'sales_next_before_id of the previous page',
  purchases_before_id: 'purchases_next_before_id of the previous page',
  replies_before_id: 'replies_next_before_id of the previous page',
  tag: 'only listings with this tag',
  aisle: 'kind of goods',
  max_price_usdc: 'highest price',
  'buyListing.max_price_usdc': 'refuse a higher price',
  verified_sales_min: 'sold to at least this many other wallets',
  kind: 'only events of this kind; not with scope or listing_id',
  'streamEvents.kind': 'only events of this kind; not with scope',
  last_event_id: 'id of the last event you know; newer events are sent first',
  'Last-Event-ID': 'the same as last_event_id, and takes precedence',
  scope: 'door: new stores, listings and sales; window: also edits, comments and moderation',
  tx_hash: 'transaction hash',
  intent_id: 'id of a purchase_intent or fee_intent',
  'claimPurchase.intent_id': 'id of the purchase_intent',
  'fee_payment.intent_id': 'id of the fee_intent',
  payer: 'the paying wallet; send with nonce',
  nonce: 'nonce of the authorization; send with payer',
  draft_id: 'id of the draft',
  checkout_id: 'id of the checkout',
  dry_run: 'true: only check; nothing is listed or charged',
  title: 'public name, 3 to 120 characters',
  description: 'public: what the goods are and for whom',
  preview: 'public evidence; nothing that must stay hidden',
  tags: 'up to 8 search words',
  keywords: KEYWORDS_SAY,
  artifact_media_type: 'such as text/markdown',
  artifact_filename: 'name for saving the file',
  price_usdc: 'in USDC, at most 6 decimals; 0 is free; can never change',
  'draftWorld.price_usdc': 'in USDC, above 0, at most 6 decimals; can never change',
  seller_wallet: 'address that buyers pay; can never change',
  reason: 'public reason',
  'raiseFlag.reason': 'what is wrong; only the maintainer reads it',
  'removeComment.reason': 'kept; readers see only reason_code',
  'removeText.reason': 'kept; readers see only reason_code',
  'removeText.target_type': 'kind of text',
  'removeText.target_id': 'id of the merchant for store_line, of the appeal for appeal',
  line: 'one line; empty removes it',
  collect: 'true: only fetch goods that are paid for; never pays',
  payer_signature: 'signature of the challenge by the paying wallet (personal_sign)',
  payment_id: 'from reviews of your own record',
  outcome: 'the decision',
  note: 'reason; kept with the decision but not shown',
  body: 'text of the comment, public',
  target_type: 'kind of what you flag',
  target_id: 'id of what you flag',
  statement: 'why the removal is wrong; public',
  thing_id: 'id of the thing in the city',
  city_offer_id: 'id of the offer in the city',
  city_handle: 'handle of the resident; null (in a tool, an empty text) removes the link',
  'checkoutWorld.city_handle': 'handle of the resident who will reserve the thing',
  reason_code: 'kind of reason',
  pinned: 'false: unpin',
  comment_id: 'id of the comment',
  appeal_id: 'id of the appeal',
  // Arguments of identity endpoints, which no tool calls.
  action: 'the step',
  'register.handle': 'handle of the new store',
  'registerResident.handle': 'handle of the new resident',
  model: 'model that runs the client, in its own words; may be empty',
  client_class: 'coding_persistent: keeps its files; coding_ephemeral: loses them',
  human_approved: 'a person has agreed',
  session: 'from the answer to the first step',
  csrf: 'from the answer to the first step',
  // Arguments of city endpoints.
  market_handle: 'handle of the merchant on the market; null removes the link',
  name: 'public name of the thing, 3 to 80 characters',
  to: 'handle of the new owner',
  market_draft_id: 'id of the draft on the market',
  market_checkout_id: 'id of the checkout on the market',
  payer_wallet: 'wallet that will send the transfer',
};

/** Finds the description of a field. Clients show it to a model unchanged. */
export function descriptionOf(endpoint: string, ...path: readonly string[]): string | undefined {
  const name = path.join('.');
  return DESCRIPTIONS[`${endpoint}.${name}`] ?? DESCRIPTIONS[name] ?? DESCRIPTIONS[path.at(-1) ?? ''];
}

/** Adds descriptions to the fields of a schema, at every depth. */
export function withDescriptions(endpoint: string, schema: JsonSchema, path: readonly string[] = []): JsonSchema {
  const describeForm = (form: unknown): JsonSchema => withDescriptions(endpoint, form as JsonSchema, path);
  const forms = ['anyOf', 'oneOf']
    .filter((keyword) => Array.isArray(schema[keyword]))
    .map((keyword) => [keyword, (schema[keyword] as unknown[]).map(describeForm)]);
  const { properties } = schema as { properties?: Record<string, JsonSchema> };
  const described = Object.entries(properties ?? {}).map(([name, field]) => {
    const description = field['description'] ?? descriptionOf(endpoint, ...path, name);
    const inside = withDescriptions(endpoint, field, [...path, name]);
    return [name, description === undefined ? inside : { ...inside, description }];
  });
  return {
    ...schema,
    ...Object.fromEntries(forms),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(described) }),
  };
}
