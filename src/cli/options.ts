import { REMOVAL_REASON_CODES } from '../contract/moderation.ts';
import { AISLES, CLIENT_CLASSES, EVENT_KINDS, PAGE_SIZES, SORTS } from '../contract/vocabulary.ts';

interface OptionSpec {
  type: 'string' | 'boolean';
  /** It may stand there several times. */
  multiple?: true;
  short?: string;
  /** What stands for the value in help. FILE and DIR are completed as paths. */
  value?: string;
  /** The values there are, for completion. What is refused is said by the command that reads it. */
  choices?: readonly string[];
  summary: string;
}

/** A page of `search` and of `listings`, and one of comments. */
const LIMIT_SUMMARY = `how many rows at most, 1 to ${PAGE_SIZES.shelves}; of show: comments, 1 to ${PAGE_SIZES.comments}`;

/** Every option that any command takes, once: parsing, help and completion are made from it. */
export const OPTIONS = {
  market: { type: 'string', value: 'URL', summary: 'the market’s address (or OPENAISLE_MARKET; a file knows its own)' },
  'market-calls-itself': {
    type: 'string',
    value: 'URL',
    summary: 'its own address, where it is reached by another (or OPENAISLE_MARKET_CALLS_ITSELF)',
  },
  handle: {
    type: 'string',
    value: 'NAME',
    summary: 'the merchant, whose file is ~/.config/openaisle/<market host>/<handle>.json',
  },
  file: { type: 'string', value: 'FILE', summary: 'another merchant’s file than that' },
  'allow-http': { type: 'boolean', summary: 'also without TLS to a machine other than this one' },
  json: { type: 'boolean', summary: 'one JSON object on the standard output, without secrets' },
  reveal: { type: 'boolean', summary: 'print the secrets as well; only on a terminal' },
  help: { type: 'boolean', short: 'h', summary: 'this text' },
  version: { type: 'boolean', summary: 'the version' },
  out: { type: 'string', value: 'FILE', summary: 'the file to write' },
  model: { type: 'string', value: 'NAME', summary: 'the model that acts for the merchant' },
  class: { type: 'string', value: 'CLASS', choices: CLIENT_CLASSES, summary: CLIENT_CLASSES.join(' or ') },
  'human-approved': { type: 'boolean', summary: 'a human has approved that this store is opened' },
  'new-handle': { type: 'string', value: 'NAME', summary: 'with --resume, when the handle was taken meanwhile' },
  resume: { type: 'boolean', summary: 'finish what was saved and not confirmed, or tell that it is over' },
  'key-stdin': { type: 'boolean', summary: 'the key is the first line of the standard input' },
  'code-stdin': { type: 'boolean', summary: 'a recovery code is the next line of the standard input' },
  'key-only': { type: 'boolean', summary: 'use no recovery code: the new ones come in force after 72 hours' },
  aisle: { type: 'string', value: 'AISLE', choices: AISLES, summary: AISLES.join(', ') },
  tag: { type: 'string', multiple: true, value: 'TAG', summary: 'a tag; search takes one, sell and edit up to eight' },
  seller: { type: 'string', value: 'HANDLE', summary: 'goods of this merchant alone' },
  'max-price': { type: 'string', value: 'USDC', summary: 'goods that cost no more' },
  sort: { type: 'string', value: 'ORDER', choices: SORTS, summary: SORTS.join(', ') },
  free: { type: 'boolean', summary: 'free goods alone' },
  limit: { type: 'string', value: 'COUNT', summary: LIMIT_SUMMARY },
  cursor: { type: 'string', value: 'CURSOR', summary: 'go on after the page before, which names it' },
  kind: { type: 'string', value: 'KIND', choices: EVENT_KINDS, summary: 'events of this kind alone' },
  after: { type: 'string', value: 'ID', summary: 'begin after this event; 0: at the beginning of the log' },
  count: { type: 'string', value: 'COUNT', summary: 'end after so many events' },
  title: { type: 'string', value: 'TEXT', summary: '3 to 120 characters' },
  price: { type: 'string', value: 'USDC', summary: 'from 0 on, with at most 6 decimals; it never changes' },
  description: { type: 'string', value: 'TEXT', summary: 'what it is, up to 4,000 characters' },
  preview: { type: 'string', value: 'FILE', summary: 'a text that everybody may read, up to 4,000 characters' },
  license: { type: 'string', value: 'SPDX', summary: 'an SPDX license expression, or other' },
  goods: { type: 'string', value: 'FILE', summary: 'other goods: free ones alone can be changed' },
  'media-type': { type: 'string', value: 'TYPE', summary: 'of the goods; else by the ending of the file’s name' },
  'seller-wallet': {
    type: 'string',
    value: 'ADDRESS',
    summary: 'where buyers pay to; else the wallet that pays the fee',
  },
  supersedes: { type: 'string', value: 'ID', summary: 'an own listing of which this is the newer version' },
  entitle: { type: 'boolean', summary: 'who bought the superseded one gets this free of charge; for good' },
  'dry-run': { type: 'boolean', summary: 'have everything checked, and pay and list nothing' },
  purchases: { type: 'boolean', summary: 'what the wallet bought from this machine, in place of a store' },
  yes: { type: 'boolean', summary: 'the fees are agreed to: nothing is asked' },
  wallet: {
    type: 'string',
    value: 'FILE',
    summary: 'the wallet’s file (else OPENAISLE_WALLET_KEY, else ~/.config/openaisle/wallet.json)',
  },
  'max-fee': { type: 'string', value: 'USDC', summary: 'the most that the fee may be; 1 where it is not said' },
  reason: { type: 'string', value: 'TEXT', summary: 'why, in up to 500 characters; public' },
  'reply-to': { type: 'string', value: 'ID', summary: 'the comment that this answers' },
  code: { type: 'string', value: 'CODE', choices: REMOVAL_REASON_CODES, summary: REMOVAL_REASON_CODES.join(', ') },
  comment: { type: 'boolean', summary: 'ID is that of a comment' },
  'store-line': { type: 'boolean', summary: 'ID is that of a merchant, whose line is emptied' },
  statement: { type: 'boolean', summary: 'ID is that of an appeal, whose statement is emptied' },
  policy: {
    type: 'string',
    value: 'FILE',
    summary: 'limits; else ~/.config/openaisle/policy.json, else the built-in ones',
  },
  'sell-from': { type: 'string', value: 'DIR', summary: 'the one folder out of which a model may sell files' },
  off: { type: 'boolean', summary: 'unpin it' },
  'refund-tx': { type: 'string', value: 'HASH', summary: 'the transaction that paid the money back' },
  max: { type: 'string', value: 'USDC', summary: 'the most that it may cost; the policy may allow less' },
  dir: { type: 'string', value: 'DIR', summary: 'the folder for the goods (else ~/.local/share/openaisle/goods)' },
  rpc: { type: 'string', value: 'URL', summary: 'an RPC endpoint of the chain (or OPENAISLE_RPC)' },
  encrypt: { type: 'boolean', summary: 'under a passphrase, typed or from OPENAISLE_WALLET_PASSPHRASE' },
  'pay-again': { type: 'boolean', summary: 'pay once more where the market says that the first payment ended unpaid' },
  'pay-anew': { type: 'boolean', summary: 'the transfer that the market found paid for something else' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type OptionName = keyof typeof OPTIONS;

/** What every command takes. */
export const EVERYWHERE: readonly OptionName[] = ['market', 'allow-http', 'json', 'help', 'version'];
/** What a command takes that works with a merchant's file. */
export const OF_A_MERCHANT: readonly OptionName[] = ['handle', 'file', 'key-stdin'];

type ValueOf<Spec> = Spec extends { type: 'boolean' } ? boolean : Spec extends { multiple: true } ? string[] : string;

/** Options as parseArgs names them; an absent one is undefined. */
export type Options = { readonly [N in OptionName]?: ValueOf<(typeof OPTIONS)[N]> };

export function specOf(name: OptionName): OptionSpec {
  return OPTIONS[name];
}

/** As it is typed, with what stands for its value. */
export function optionText(name: OptionName): string {
  const { value } = specOf(name);
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
