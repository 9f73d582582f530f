import { REMOVAL_REASON_CODES } from '../contract/moderation.ts';
import { AISLES, CLIENT_CLASSES, EVENT_KINDS, MATCHES, PAGE_SIZES, SORTS } from '../contract/vocabulary.ts';

interface OptionSpec {
  type: 'string' | 'boolean';
  /** True if the option may be repeated. */
  multiple?: true;
  short?: string;
  /** Placeholder of the value in help. */
  value?: string;
  choices?: readonly string[];
  summary: string;
}

const LIMIT_SUMMARY = `most rows to print, 1 to ${PAGE_SIZES.shelves}; of show: comments, 1 to ${PAGE_SIZES.comments}`;

/** Options of all commands. Parsing, help and completion are derived from them. */
export const OPTIONS = {
  market: {
    type: 'string',
    value: 'URL',
    summary: 'the market’s address (or OPENAISLE_MARKET; a merchant’s file has its own)',
  },
  'market-calls-itself': {
    type: 'string',
    value: 'URL',
    summary: 'the market’s own address, if you reach it by another (or OPENAISLE_MARKET_CALLS_ITSELF)',
  },
  handle: {
    type: 'string',
    value: 'NAME',
    summary: 'the merchant; its file is ~/.config/openaisle/<market host>/<handle>.json',
  },
  file: { type: 'string', value: 'FILE', summary: 'the merchant’s file, if it is elsewhere' },
  'allow-http': { type: 'boolean', summary: 'allow connections without TLS to other machines' },
  json: { type: 'boolean', summary: 'print one JSON object, without secrets' },
  reveal: { type: 'boolean', summary: 'also print the secrets; on a terminal only' },
  help: { type: 'boolean', short: 'h', summary: 'show this help' },
  version: { type: 'boolean', summary: 'show the version' },
  out: { type: 'string', value: 'FILE', summary: 'the file to write' },
  model: { type: 'string', value: 'NAME', summary: 'the model that acts for the merchant' },
  class: { type: 'string', value: 'CLASS', choices: CLIENT_CLASSES, summary: CLIENT_CLASSES.join(' or ') },
  'human-approved': { type: 'boolean', summary: 'confirm that a human approved opening this store' },
  'new-handle': {
    type: 'string',
    value: 'NAME',
    summary: 'with --resume: another handle, if the first has been taken',
  },
  resume: { type: 'boolean', summary: 'finish a saved, unconfirmed change, or find out that it has expired' },
  'key-stdin': { type: 'boolean', summary: 'read the key from the first line of standard input' },
  'code-stdin': { type: 'boolean', summary: 'read a recovery code from the next line of standard input' },
  'key-only': { type: 'boolean', summary: 'use no recovery code: the new codes become valid after 72 hours' },
  aisle: { type: 'string', value: 'AISLE', choices: AISLES, summary: AISLES.join(', ') },
  tag: { type: 'string', multiple: true, value: 'TAG', summary: 'a tag; search takes one, sell and edit up to eight' },
  keyword: {
    type: 'string',
    multiple: true,
    value: 'WORDS',
    summary: 'words that buyers type and the title lacks; up to 20 keywords, or - for none',
  },
  'suggest-keywords': { type: 'boolean', summary: 'use up to 12 keywords from the headings of the goods; public' },
  seller: { type: 'string', value: 'HANDLE', summary: 'only goods sold by this merchant' },
  'max-price': { type: 'string', value: 'USDC', summary: 'only goods that cost at most this' },
  sort: { type: 'string', value: 'ORDER', choices: SORTS, summary: SORTS.join(', ') },
  match: {
    type: 'string',
    value: 'WHICH',
    choices: MATCHES,
    summary: 'any: goods with any of the words, best first (default); all: only goods with every word, as spelled',
  },
  free: { type: 'boolean', summary: 'only free goods' },
  limit: { type: 'string', value: 'COUNT', summary: LIMIT_SUMMARY },
  cursor: { type: 'string', value: 'CURSOR', summary: 'start at the next page; the previous page prints its cursor' },
  kind: { type: 'string', value: 'KIND', choices: EVENT_KINDS, summary: 'only events of this kind' },
  after: { type: 'string', value: 'ID', summary: 'start after this event; 0: from the beginning of the log' },
  count: { type: 'string', value: 'COUNT', summary: 'stop after this many events' },
  title: { type: 'string', value: 'TEXT', summary: '3 to 120 characters' },
  price: { type: 'string', value: 'USDC', summary: '0 or more, with at most 6 decimals; it can never change' },
  description: { type: 'string', value: 'TEXT', summary: 'what you sell, up to 4,000 characters' },
  preview: { type: 'string', value: 'FILE', summary: 'a text that anyone may read, up to 4,000 characters' },
  license: { type: 'string', value: 'SPDX', summary: 'an SPDX license expression, or other' },
  goods: { type: 'string', value: 'FILE', summary: 'new goods; possible only for free listings' },
  'media-type': {
    type: 'string',
    value: 'TYPE',
    summary: 'media type of the goods (default: from the file’s extension)',
  },
  'seller-wallet': {
    type: 'string',
    value: 'ADDRESS',
    summary: 'the wallet that buyers pay (default: the one that pays the fee)',
  },
  supersedes: { type: 'string', value: 'ID', summary: 'your listing that this one replaces as a newer version' },
  entitle: { type: 'boolean', summary: 'give this listing free to buyers of the superseded one; permanent' },
  'dry-run': { type: 'boolean', summary: 'check everything; list and pay nothing' },
  purchases: { type: 'boolean', summary: 'export what the wallet bought from this machine, not a store' },
  yes: { type: 'boolean', summary: 'agree to the fees without being asked' },
  wallet: {
    type: 'string',
    value: 'FILE',
    summary: 'the wallet’s file (default: OPENAISLE_WALLET_KEY, then ~/.config/openaisle/wallet.json)',
  },
  'max-fee': { type: 'string', value: 'USDC', summary: 'the highest fee to pay; default 1' },
  reason: { type: 'string', value: 'TEXT', summary: 'the reason, up to 500 characters; public' },
  'reply-to': { type: 'string', value: 'ID', summary: 'the comment to reply to' },
  code: { type: 'string', value: 'CODE', choices: REMOVAL_REASON_CODES, summary: REMOVAL_REASON_CODES.join(', ') },
  comment: { type: 'boolean', summary: 'ID is a comment: clear its text' },
  'store-line': { type: 'boolean', summary: 'ID is a merchant: clear its store line' },
  statement: { type: 'boolean', summary: 'ID is an appeal: clear its statement' },
  policy: {
    type: 'string',
    value: 'FILE',
    summary: 'file with the limits (default: ~/.config/openaisle/policy.json, then the built-in limits)',
  },
  'sell-from': { type: 'string', value: 'DIR', summary: 'the only folder from which a model may sell files' },
  off: { type: 'boolean', summary: 'unpin the listing' },
  'refund-tx': { type: 'string', value: 'HASH', summary: 'the transaction that refunded the buyer' },
  max: { type: 'string', value: 'USDC', summary: 'the highest price to pay; the policy may allow less' },
  dir: { type: 'string', value: 'DIR', summary: 'where to save the goods (default: ~/.local/share/openaisle/goods)' },
  to: { type: 'string', value: 'FILE', summary: 'the file for the goods; another file is never overwritten' },
  rpc: { type: 'string', value: 'URL', summary: 'an RPC endpoint of the chain (or OPENAISLE_RPC)' },
  encrypt: {
    type: 'boolean',
    summary: 'encrypt the file with a passphrase, typed or from OPENAISLE_WALLET_PASSPHRASE',
  },
  'pay-again': { type: 'boolean', summary: 'sign a new payment, if the market says that the first was never paid' },
  'pay-anew': { type: 'boolean', summary: 'confirm that the transfer found by the market paid for something else' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type OptionName = keyof typeof OPTIONS;

/** Placeholders of arguments and values that name files. */
export const FILE_PLACEHOLDERS: ReadonlySet<string | undefined> = new Set(['FILE', 'DIR', 'PATH', 'GOODS']);
export const GLOBAL_OPTIONS: readonly OptionName[] = ['market', 'allow-http', 'json', 'help', 'version'];
export const MERCHANT_OPTIONS: readonly OptionName[] = ['handle', 'file', 'key-stdin'];

type ValueOf<Spec> = Spec extends { type: 'boolean' } ? boolean : Spec extends { multiple: true } ? string[] : string;

export type Options = { readonly [N in OptionName]?: ValueOf<(typeof OPTIONS)[N]> };

export function specOf(name: OptionName): OptionSpec {
  return OPTIONS[name];
}

/** Returns an option as typed, with its placeholder: `--max USDC`. */
export function optionText(name: OptionName): string {
  const { value } = specOf(name);
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
