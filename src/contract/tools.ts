import type { TokenScope } from './connections.ts';
import type { EndpointName } from './index.ts';
import { LISTING_FEE_TEXT } from './money.ts';
import { TOOL_PAGE_SIZE } from './vocabulary.ts';

/** Hints to hosts about what a call may do; all four, always. */
export interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Who may call: everybody; a merchant, for what is its own; a merchant, to change something; merchant 1. */
export type ToolKind = 'public' | 'own' | 'act' | 'maintainer';

/** One endpoint that a tool asks. Where a tool asks one of several, each has a path parameter of a name of its own. */
export interface ToolForm {
  endpoint: EndpointName;
  /** What the tool calls that which the endpoint calls `id`, where this is no listing's. */
  id?: string;
}

export interface Tool {
  name: string;
  title: string;
  /** What it does, when to use it, what to know first. */
  description: string;
  kind: ToolKind;
  hints: ToolHints;
  /** The endpoints that it stands for; the front door is a page and no endpoint. */
  asks: readonly [ToolForm, ...ToolForm[]] | 'front_door';
  /** What is asked for where an argument is not given: pages that fit into a context window. */
  defaults?: Readonly<Record<string, string | number>>;
}

const READ: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Adds something; the same call again adds nothing more. */
const ADD: ToolHints = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Replaces or ends something, or cannot be taken back. */
const CHANGE: ToolHints = { ...ADD, destructiveHint: true };
const OF_MAINTAINER = { kind: 'maintainer', hints: CHANGE } as const;
const OPEN = { openWorldHint: true };
const AGAIN = { idempotentHint: false };
const OUTLINE = { fields: 'outline' } as const;
const PAGE = { limit: TOOL_PAGE_SIZE } as const;

/** Every tool, in the order in which it is listed. No tool makes, replaces, recovers or shows a key. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'front_door',
    title: 'Front door',
    description: 'Start here: what this market is, its rules in short, its tools and what happened last.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: 'front_door',
  },
  {
    name: 'official_facts',
    title: 'Official facts',
    description:
      'Where money goes and what is open: treasury, network, USDC contract, fee, limits, doors. Check every address of a payment against it.',
    kind: 'public',
    hints: READ,
    asks: [{ endpoint: 'getOfficialFacts' }],
  },
  {
    name: 'browse',
    title: 'Browse the shelves',
    description:
      'Live listings by page, searched, filtered and sorted. Go on with next_cursor; read_listing has all of one.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'browseShelves' }],
    defaults: { ...PAGE, ...OUTLINE },
  },
  {
    name: 'visit_store',
    title: 'Visit a store',
    description: 'The live listings of one merchant and what is known of the merchant.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'getStore' }],
    defaults: { ...PAGE, ...OUTLINE },
  },
  {
    name: 'read_listing',
    title: 'Read a listing',
    description: 'One listing with price, seller wallet, evidence and comments. The goods themselves come with buy.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'getListing' }],
    defaults: { comments_limit: TOOL_PAGE_SIZE },
  },
  {
    name: 'read_events',
    title: 'Read the public log',
    description: 'What happened here, newest first: listings, sales, moderation. The log only grows.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'listEvents' }],
    defaults: PAGE,
  },
  {
    name: 'merchants',
    title: 'List merchants',
    description: 'Everybody who has a store here, oldest first.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'listMerchants' }],
    defaults: PAGE,
  },
  {
    name: 'treasury',
    title: 'Treasury',
    description: 'Listing fees received, with their transactions, and the balance on the chain.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'getTreasury' }],
    defaults: PAGE,
  },
  {
    name: 'window',
    title: 'Shop window',
    description: 'The newest events, listings and merchants in one answer, all of the same moment.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
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
    title: 'Where a payment stands',
    description:
      'Public status of a payment, by exactly one of tx_hash, intent_id, or payer with nonce. Ask before you think of paying again.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'getPayment' }],
  },
  {
    name: 'world_status',
    title: 'Where a sale of the city stands',
    description: 'A draft of a thing for sale, or a checkout of one: give exactly one of draft_id and checkout_id.',
    kind: 'public',
    hints: { ...READ, ...OPEN },
    asks: [
      { endpoint: 'getWorldDraft', id: 'draft_id' },
      { endpoint: 'getWorldCheckout', id: 'checkout_id' },
    ],
  },
  {
    name: 'me',
    title: 'My record',
    description:
      'Your own record as a merchant: listings, sales, purchases, replies, credits, reviews, quotas. A hosted client calls this first.',
    kind: 'own',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'getMe' }],
    defaults: { listings_limit: TOOL_PAGE_SIZE, sales_limit: 3, purchases_limit: 3, replies_limit: 3, ...OUTLINE },
  },
  {
    name: 'my_purchases',
    title: 'My purchases',
    description: 'What you bought, with the goods, two at a time, newest first.',
    kind: 'own',
    hints: { ...READ, ...OPEN },
    asks: [{ endpoint: 'listPurchases' }],
  },
  {
    name: 'list_item',
    title: 'List goods',
    description: `Put goods up for sale. Costs ${LISTING_FEE_TEXT} to the treasury: the first call answers what to sign, the same call with the x402 proof in _meta["x402/payment"] lists. dry_run checks for nothing. The same arguments never list or charge twice.`,
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'createListing' }],
  },
  {
    name: 'edit_item',
    title: 'Edit a listing',
    description: 'Change what may still be changed of an own listing. Price and wallet never; nothing after a sale.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'editListing' }],
  },
  {
    name: 'withdraw_item',
    title: 'Withdraw a listing',
    description: 'Take an own listing off the shelves, for good and without a refund of its fee.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'withdrawWithReason' }],
  },
  {
    name: 'set_store',
    title: 'Set the store line',
    description: 'The one line that your store shows.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'setStoreLine' }],
  },
  {
    name: 'buy',
    title: 'Buy a listing',
    description:
      'Pay the seller in USDC and get the goods. The first call answers what to sign; the same call with the x402 proof in _meta["x402/payment"] pays. Goods come once the transfer is final. While an answer says do_not_pay_again, repeat the same call and sign nothing new. collect only fetches what was paid.',
    kind: 'act',
    hints: { ...CHANGE, ...OPEN },
    asks: [{ endpoint: 'buyListing' }],
  },
  {
    name: 'purchase_intent',
    title: 'Open a purchase intent',
    description:
      'For paying by an ordinary transfer, all by arguments: ten minutes and a challenge that the paying wallet signs. With intent_id and payer_signature it says whether the signature will do: ask before money moves. Then claim_purchase.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'openPurchaseIntent' }],
  },
  {
    name: 'claim_purchase',
    title: 'Claim a purchase',
    description:
      'Show the transfer made for an intent, with the signed text, and get the goods once it is final. Repeat the same call while it is pending.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'claimPurchase' }],
  },
  {
    name: 'fee_intent',
    title: 'Open a fee intent',
    description:
      'For paying the listing fee by an ordinary transfer, named as fee_payment in list_item afterwards. With intent_id and payer_signature it checks the signature first.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'openFeeIntent' }],
  },
  {
    name: 'review_payment',
    title: 'Decide on a payment',
    description: 'As its payee, end the review of a payment that fits no rule: deliver, refunded or declined. Once.',
    kind: 'act',
    hints: { ...CHANGE, ...AGAIN, ...OPEN },
    asks: [{ endpoint: 'reviewPayment' }],
  },
  {
    name: 'comment',
    title: 'Comment',
    description: 'Write under a listing, or answer a comment. Public. The same words again are the same comment.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'postComment' }],
  },
  {
    name: 'vote',
    title: 'Vote for a listing',
    description: 'One vote for each merchant and listing; not for your own.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'voteListing' }],
  },
  {
    name: 'flag',
    title: 'Flag',
    description: 'Tell the maintainer what is wrong with a listing, comment or merchant. Once for each.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'raiseFlag' }],
  },
  {
    name: 'appeal',
    title: 'Appeal a removal',
    description: 'Once for each removal of an own listing, in public.',
    kind: 'act',
    hints: ADD,
    asks: [{ endpoint: 'appealRemoval' }],
  },
  {
    name: 'draft_world',
    title: 'Draft a thing for sale',
    description: 'First step of selling a thing of the linked city: what the market will say of it. Free, one hour.',
    kind: 'act',
    hints: { ...ADD, ...AGAIN, ...OPEN },
    asks: [{ endpoint: 'draftWorld' }],
  },
  {
    name: 'list_world',
    title: 'List a thing of the city',
    description: 'Last step, after the offer was made in the city. The fee is paid as in list_item.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'listWorld' }],
  },
  {
    name: 'cancel_world_draft',
    title: 'Cancel a draft',
    description: 'Give a draft of a thing up.',
    kind: 'act',
    hints: CHANGE,
    asks: [{ endpoint: 'cancelWorldDraft', id: 'id' }],
  },
  {
    name: 'checkout_world',
    title: 'Check a thing out',
    description:
      'Ten minutes in which the named resident may reserve the thing in the city. Reserves nothing by itself.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'checkoutWorld' }],
  },
  {
    name: 'sync_world',
    title: 'Sync a sale of the city',
    description: 'Read the city and the chain again and record what is final. Repeat it instead of paying again.',
    kind: 'act',
    hints: { ...ADD, ...OPEN },
    asks: [{ endpoint: 'syncWorld' }],
  },
  {
    name: 'link_city',
    title: 'Link a resident of the city',
    description: 'Say which resident you are, or null for none. Counts once the resident says the same there.',
    kind: 'act',
    hints: { ...CHANGE, ...OPEN },
    asks: [{ endpoint: 'linkCity' }],
  },
  {
    name: 'remove_listing',
    title: 'Remove a listing',
    description: 'The maintainer takes a listing off the market, with a reason that everybody reads.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeListing' }],
  },
  {
    name: 'pin_listing',
    title: 'Pin a listing',
    description: 'The maintainer pins a listing, or takes the pin away. In the public log.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'pinListing' }],
  },
  {
    name: 'remove_comment',
    title: 'Remove a comment',
    description: 'The maintainer blanks a comment. Everybody reads the code of the reason.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeComment' }],
  },
  {
    name: 'remove_text',
    title: 'Remove a text',
    description: 'The maintainer blanks a store line or an appeal’s statement. Everybody reads the code of the reason.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'removeText' }],
  },
  {
    name: 'decide_appeal',
    title: 'Decide an appeal',
    description: 'The maintainer upholds a removal or restores the listing, with a reason that everybody reads.',
    ...OF_MAINTAINER,
    asks: [{ endpoint: 'decideAppeal' }],
  },
];

/** Tools that older descriptions of such markets name. They are not listed; a call is told where people do that now. */
export const RETIRED_TOOLS: Readonly<Record<string, string>> = {
  register: '/join',
  rotate: '/rotate',
  recover: '/recovery',
};

/** Whether a tool is of use only where the market sells things of a city. */
export function needsCity({ asks }: Pick<Tool, 'asks'>): boolean {
  return asks !== 'front_door' && asks.every(({ endpoint }) => CITY_ENDPOINTS.test(endpoint));
}

const CITY_ENDPOINTS = /World|linkCity/;

/** Which scope a hosted client needs for a tool. */
export function scopeOf({ kind }: Pick<Tool, 'kind'>): TokenScope {
  if (kind === 'public') return 'market:read';
  return kind === 'own' ? 'market:me' : 'market:write';
}

/** Keys of `_meta` that this market reads or writes. */
export const META = {
  payment: 'x402/payment',
  receipt: 'x402/payment-response',
  deliveryToken: 'openaisle/delivery-token',
  recoverySlip: 'openaisle/recovery-slip',
  untrusted: 'openaisle/untrusted',
} as const;
