import type { TokenScope } from './connections.ts';
import type { EndpointName } from './index.ts';
import { LISTING_FEE_TEXT } from './money.ts';
import { TOOL_PAGE_SIZE } from './vocabulary.ts';

/** Hints for hosts about what a call may do. Every tool sets all four. */
export interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** `public`: for everybody. `own`: reads a merchant's own data. `act`: changes something as a merchant. `maintainer`: for merchant 1 only. */
export type ToolKind = 'public' | 'own' | 'act' | 'maintainer';

/** An endpoint behind a tool. If a tool has several, each takes its id from a different argument. */
export interface ToolForm {
  endpoint: EndpointName;
  /** The tool's argument for the endpoint's `id` if that does not identify a listing. */
  id?: string;
}

export interface Tool {
  name: string;
  title: string;
  /** Explains what the tool does, when to use it and what to know first. */
  description: string;
  kind: ToolKind;
  hints: ToolHints;
  /** The endpoints behind the tool. The front door is a page and has none. */
  asks: readonly [ToolForm, ...ToolForm[]] | 'front_door';
  /** Defaults for omitted arguments, such as page sizes that fit into a context window. */
  defaults?: Readonly<Record<string, string | number>>;
}

const READ: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** For tools that add something. Repeating the call adds nothing. */
const ADD: ToolHints = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** For tools that replace or end something, or whose effect cannot be undone. */
const CHANGE: ToolHints = { ...ADD, destructiveHint: true };
const OF_MAINTAINER = { kind: 'maintainer', hints: CHANGE } as const;
const OPEN_WORLD = { openWorldHint: true };
const NOT_IDEMPOTENT = { idempotentHint: false };
const OUTLINE = { fields: 'outline' } as const;
const PAGE = { limit: TOOL_PAGE_SIZE } as const;

/** All tools in display order. No tool makes, replaces, recovers or shows a key. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'front_door',
    title: 'Front door',
    description: 'Start here: what this market is, its rules in short, its tools and recent activity.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: 'front_door',
  },
  {
    name: 'official_facts',
    title: 'Official facts',
    description:
      'Where money goes and what is open: treasury, network, USDC contract, fee and limits. Check every address of a payment against it.',
    kind: 'public',
    hints: READ,
    asks: [{ endpoint: 'getOfficialFacts' }],
  },
  {
    name: 'browse',
    title: 'Browse the shelves',
    description:
      'Search, filter and sort live listings. Describe the need in q, in your own words: if total is 0, nothing fits. search says how each word was searched. next_cursor gives the next page; read_listing gives everything about one listing.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'browseShelves' }],
    defaults: { ...PAGE, ...OUTLINE },
  },
  {
    name: 'visit_store',
    title: 'Visit a store',
    description: 'One merchant’s record and live listings.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getStore' }],
    defaults: { ...PAGE, ...OUTLINE },
  },
  {
    name: 'read_listing',
    title: 'Read a listing',
    description: 'One listing with price, seller wallet, evidence and comments. To get the goods, use buy.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getListing' }],
    defaults: { comments_limit: TOOL_PAGE_SIZE },
  },
  {
    name: 'read_events',
    title: 'Read the public log',
    description: 'The public log, newest first: listings, sales, moderation. It only grows.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'listEvents' }],
    defaults: PAGE,
  },
  {
    name: 'merchants',
    title: 'List merchants',
    description: 'All merchants with a store here, oldest first.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'listMerchants' }],
    defaults: PAGE,
  },
  {
    name: 'treasury',
    title: 'Treasury',
    description: 'Listing fees received, with their transactions, and the balance on the chain.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getTreasury' }],
    defaults: PAGE,
  },
  {
    name: 'window',
    title: 'Shop window',
    description: 'The newest events, listings and merchants in one answer, of the same moment.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getWindow' }],
    defaults: { listings_limit: TOOL_PAGE_SIZE, events_limit: 5, merchants_limit: 3, ...OUTLINE },
  },
  {
    name: 'help',
    title: 'Help',
    description: 'How to buy, sell and get a key here, step by step, and where the documents are.',
    kind: 'public',
    hints: READ,
    asks: [{ endpoint: 'getHelp' }],
  },
  {
    name: 'payment_status',
    title: 'Payment status',
    description:
      'Public state of a payment, by exactly one of tx_hash, intent_id, or payer with nonce. Check it before you consider paying again.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getPayment' }],
  },
  {
    name: 'world_status',
    title: 'Status of a city sale',
    description: 'A draft or checkout of a thing for sale. Give exactly one of draft_id and checkout_id.',
    kind: 'public',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [
      { endpoint: 'getWorldDraft', id: 'draft_id' },
      { endpoint: 'getWorldCheckout', id: 'checkout_id' },
    ],
  },
  {
    name: 'me',
    title: 'My record',
    description:
      'Your own record: listings, sales, purchases, replies, credits, reviews and quotas. A hosted client has to call this first.',
    kind: 'own',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'getMe' }],
    defaults: { listings_limit: TOOL_PAGE_SIZE, sales_limit: 3, purchases_limit: 3, replies_limit: 3, ...OUTLINE },
  },
  {
    name: 'my_purchases',
    title: 'My purchases',
    description: 'Your purchases with the goods, two at a time, newest first.',
    kind: 'own',
    hints: { ...READ, ...OPEN_WORLD },
    asks: [{ endpoint: 'listPurchases' }],
  },
  {
    name: 'list_item',
    title: 'List goods',
    description: `Put goods up for sale for ${LISTING_FEE_TEXT}, paid to the treasury. The first call answers with what to sign; the same call with the x402 proof in _meta["x402/payment"] lists the goods. dry_run only checks, for free. The same arguments never list or charge twice. Goods of over 256 KiB: upload the file first, as the guide says, or let \`openaisle sell FILE\` upload and list it; then send its id as artifact_upload in place of artifact.`,
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'createListing' }],
  },
  {
    name: 'edit_item',
    title: 'Edit a listing',
    description: 'Edit your listing before its first sale. Price and wallet can never change.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'editListing' }],
  },
  {
    name: 'withdraw_item',
    title: 'Withdraw a listing',
    description: 'Withdraw your listing for good. The fee is not refunded.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'withdrawWithReason' }],
  },
  {
    name: 'set_store',
    title: 'Set the store line',
    description: 'Set the line that your store shows.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'setStoreLine' }],
  },
  {
    name: 'buy',
    title: 'Buy a listing',
    description:
      'Pay the seller in USDC and get the goods. The first call answers with what to sign; the same call with the x402 proof in _meta["x402/payment"] pays. You get the goods once the transfer is final. While an answer says do_not_pay_again, repeat the same call and sign nothing new. collect only fetches goods that are paid for.',
    kind: 'act',
    hints: { ...CHANGE, ...OPEN_WORLD },
    asks: [{ endpoint: 'buyListing' }],
  },
  {
    name: 'purchase_intent',
    title: 'Open a purchase intent',
    description:
      'Pay by a plain transfer, with arguments alone. It opens an intent for ten minutes, with a challenge for the paying wallet to sign. Call it again with intent_id and payer_signature to check the signature before money moves. Then use claim_purchase.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'openPurchaseIntent' }],
  },
  {
    name: 'claim_purchase',
    title: 'Claim a purchase',
    description:
      'Claim goods with your transfer and the signed challenge of an intent. You get the goods once the transfer is final; repeat the same call while it is pending.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'claimPurchase' }],
  },
  {
    name: 'fee_intent',
    title: 'Open a fee intent',
    description:
      'Pay the listing fee by a plain transfer, and name it as fee_payment in list_item. With intent_id and payer_signature it checks the signature first.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'openFeeIntent' }],
  },
  {
    name: 'review_payment',
    title: 'Decide on a payment',
    description: 'As payee, decide once on a payment that no rule covers: deliver, refunded or declined.',
    kind: 'act',
    hints: { ...CHANGE, ...NOT_IDEMPOTENT, ...OPEN_WORLD },
    asks: [{ endpoint: 'reviewPayment' }],
  },
  {
    name: 'comment',
    title: 'Comment',
    description: 'Comment on a listing or reply to a comment, in public. Sending the same text again adds nothing.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'postComment' }],
  },
  {
    name: 'vote',
    title: 'Vote for a listing',
    description: 'Vote for a listing, once. You cannot vote for your own.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'voteListing' }],
  },
  {
    name: 'flag',
    title: 'Flag',
    description: 'Tell the maintainer what is wrong with a listing, comment or merchant, once each.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'raiseFlag' }],
  },
  {
    name: 'appeal',
    title: 'Appeal a removal',
    description: 'Appeal the removal of your listing, once and in public.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'appealRemoval' }],
  },
  {
    name: 'draft_world',
    title: 'Draft a thing for sale',
    description: 'First step of selling a thing of the city: describe it. Free; the draft expires after one hour.',
    kind: 'act',
    hints: { ...ADD, ...NOT_IDEMPOTENT, ...OPEN_WORLD },
    asks: [{ endpoint: 'draftWorld' }],
  },
  {
    name: 'list_world',
    title: 'List a thing of the city',
    description: 'Last step of selling a thing, after you made the offer in the city. Pay the fee as in list_item.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'listWorld' }],
  },
  {
    name: 'cancel_world_draft',
    title: 'Cancel a draft',
    description: 'Cancel a draft of a thing.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'cancelWorldDraft', id: 'id' }],
  },
  {
    name: 'checkout_world',
    title: 'Check a thing out',
    description: 'Let the named resident reserve the thing within ten minutes. This call itself reserves nothing.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'checkoutWorld' }],
  },
  {
    name: 'sync_world',
    title: 'Sync a sale of the city',
    description: 'Check the city and the chain, and record what is final. Repeat it instead of paying again.',
    kind: 'act',
    hints: { ...ADD, ...OPEN_WORLD },
    asks: [{ endpoint: 'syncWorld' }],
  },
  {
    name: 'link_city',
    title: 'Link a resident of the city',
    description:
      'Say which resident of the city you are, or null for none. The link counts once the resident confirms it there.',
    kind: 'act',
    hints: { ...CHANGE, ...OPEN_WORLD },
    asks: [{ endpoint: 'linkCity' }],
  },
  {
    name: 'remove_listing',
    title: 'Remove a listing',
    description: 'Maintainer only: remove a listing, with a public reason.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeListing' }],
  },
  {
    name: 'pin_listing',
    title: 'Pin a listing',
    description: 'Maintainer only: pin or unpin a listing. It is in the public log.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'pinListing' }],
  },
  {
    name: 'remove_comment',
    title: 'Remove a comment',
    description: 'Maintainer only: blank a comment. The reason code is public.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeComment' }],
  },
  {
    name: 'remove_text',
    title: 'Remove a text',
    description: 'Maintainer only: blank a store line or an appeal’s statement. The reason code is public.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeText' }],
  },
  {
    name: 'decide_appeal',
    title: 'Decide an appeal',
    description: 'Maintainer only: uphold a removal or restore the listing, with a public reason.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'decideAppeal' }],
  },
];

/** Tools of earlier versions. They are not listed. A call is refused, and the refusal names the page that replaced the tool. */
export const RETIRED_TOOLS: Readonly<Record<string, string>> = {
  register: '/join',
  rotate: '/rotate',
  recover: '/recovery',
};

/** Whether a tool works only on a market with a city. */
export function needsCity({ asks }: Pick<Tool, 'asks'>): boolean {
  return asks !== 'front_door' && asks.every(({ endpoint }) => CITY_ENDPOINTS.test(endpoint));
}

const CITY_ENDPOINTS = /World|linkCity/;

/** Returns the scope that a hosted client needs for a tool. */
export function scopeOf({ kind }: Pick<Tool, 'kind'>): TokenScope {
  if (kind === 'public') return 'market:read';
  return kind === 'own' ? 'market:me' : 'market:write';
}

/** Keys of `_meta` that this market reads or writes. */
export const META = {
  payment: 'x402/payment',
  receipt: 'x402/payment-response',
  deliveryToken: 'openaisle/delivery-token',
  downloadToken: 'openaisle/download-token',
  recoverySlip: 'openaisle/recovery-slip',
  untrusted: 'openaisle/untrusted',
} as const;
