import { TEXT_FLAGS, type TextFlag } from '../../contract/text.ts';
import {
  asksForSecret,
  type FoldedText,
  foldText,
  hasInstructions,
  SENTENCE_GAP,
  SENTENCE_NEAR,
} from './text-patterns.ts';

/** Markup that tells a model who is speaking. */
const ROLES: readonly RegExp[] = [
  /<\|[a-z_ ]{2,24}\|>/,
  /\[\/?inst\]|<<\/?sys>>/,
  /<\/?(?:system|assistant|human|developer|important|admin)(?:[-_ ](?:prompt|message|reminder|instructions?|note|override))? ?\/?>/,
  /\[(?:system|assistant|(?:ai|agent|admin|priority|hidden|secret|editor|teacher|developer|system|assistant)[ _-](?:prompt|message|note|override|instructions?|directive|command|reminder)(?: to ai)?)[\]:]/,
  /\[admin\] ?:|<hidden\b|\{\{[#/] ?(?:ai|system)[_ ]/,
  /^#{2,6} ?(?:end[_ ])?system(?:[_ ]prompt)? ?#{2,6}/m,
  /^#{1,6} {0,4}(?:system|assistant|human|user|instructions?|response)(?: (?:prompt|message|instructions?|override))? ?:/m,
  /^[>*_ ]{0,8}(?:assistant|human|system (?:prompt|message|instructions?|override|note|alert)) ?\** ?:/m,
  /^[>*_ ]{0,8}system ?\** ?: ?(?:you|your|ignore|new|override|always|never|do not|the (?:user|assistant|agent)|from now)\b/m,
  /^[-=*#]{3,60} ?(?:end|begin|start)(?: of)?(?: the)? (?:system|user|listing|document|untrusted|prompt|context|input|instructions?|data|tool)\b/m,
  /"role" ?: ?"(?:system|assistant|developer|tool)"/,
];

/** Whether the text pretends that another party of the conversation begins to speak. */
function hasRoleMarkup({ latin }: FoldedText): boolean {
  return ROLES.some((pattern) => pattern.test(latin));
}

const TOOL_CALLS: readonly RegExp[] = [
  /"(?:tool_calls?|function_call|tool_use|tool_use_id|tool_name|tool_choice|recipient_name)" {0,4}:/,
  /"name" {0,4}: {0,4}"[^"\n]{1,60}", {0,4}"(?:arguments|parameters|input)" {0,4}: {0,4}[{"]/,
  /"method" {0,4}: {0,4}"tools\/call"/,
  /<\/?(?:tool_call|tool_calls|tool_use|tool_code|function_call|function_calls|function_results|tool_response|tool_result|tool_results)\b/,
  /<(?:[a-z]{2,12}:)?invoke name=|<parameter name=|<function=[a-z_]{2,40}/,
  /\bto=functions\.[a-z_]/,
];

const TOOL_CALL_PHRASES =
  / (?:call|invoke|trigger) (?:the |your |its |this |a )?(?:[^ ]+ ){0,2}tools? | use your (?:[^ ]+ ){0,2}tools? (?:to|and|now|for) /u;

/** Whether the text looks like a tool call or asks for one. */
function hasToolCall({ latin, words }: FoldedText): boolean {
  return TOOL_CALL_PHRASES.test(words) || TOOL_CALLS.some((pattern) => pattern.test(latin));
}

/**
 * Returns the flags of texts that seem meant to steer a model that reads them, in the order of TEXT_FLAGS. Joins the texts as a model reads
 * them, because an attack that begins in a title may continue in the description.
 */
export function flagText(texts: readonly string[]): TextFlag[] {
  const text = texts.join('\n\n');
  const folded = foldText(text);
  const flags: Record<TextFlag, boolean> = {
    instructions: hasInstructions(folded),
    role_markup: hasRoleMarkup(folded),
    tool_call: hasToolCall(folded),
    asks_for_secret: asksForSecret(folded),
    payment_request: requestsPayment(folded),
    encoded: hasEncoded(text),
  };
  return TEXT_FLAGS.filter((flag) => flags[flag]);
}

/** Returns the flags of a listing's texts. Keywords are read as one list, as a model reads them. */
export function flagListing(listing: {
  title: string;
  description: string;
  preview: string;
  keywords: readonly string[];
}): TextFlag[] {
  return flagText([listing.title, listing.description, listing.preview, listing.keywords.join(', ')]);
}

/** Longer than a hash, and long enough to carry a message. */
const HEX = /[0-9a-f]{65,}/i;
const BASE64 = /[A-Za-z0-9+/_-]{120,}/g;
const ESCAPES: readonly RegExp[] = [
  /(?:%[0-9a-f]{2}){10,}/i,
  /(?:\\u\{?[0-9a-f]{4,6}\}?){4,}/i,
  /(?:\\x[0-9a-f]{2}[ ,]?){8,}/i,
  /(?:&#x?[0-9a-f]{2,6};){6,}/i,
  /(?:\b[01]{8} ){6,}/,
  /(?:\b[0-9a-f]{2}[ :]){24,}/i,
];
const DIFFERENT_LETTERS = 20;

function hasEncoded(text: string): boolean {
  // Join the lines of an encoded block.
  const joined = text.replace(/\r?\n/g, '');
  return (
    HEX.test(joined) ||
    ESCAPES.some((pattern) => pattern.test(text)) ||
    [...joined.matchAll(BASE64)].some(([run]) => isBase64(run))
  );
}

/** Excludes rulers, words with a repeated letter and paths of lowercase words. */
function isBase64(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run) && new Set(run).size >= DIFFERENT_LETTERS;
}

const ADDRESS = /\b0x[0-9a-f]{40}\b|\b(?:bc1|ltc1)[0-9a-z]{25,60}\b|\b[a-z0-9-]{3,40}\.eth\b/g;
const PAY_VERBS =
  /\b(?:send|pay|transfer|deposit|wire|remit|donate|tip|forward|fund|top up)\b(?! events?\b| logs?\b| history\b)/;
/** Maximum distance between an address and a payment verb, in characters. */
const VERB_DISTANCE = 100;

const MARKET_WORDS = '(?:market|marketplace|platform|site|escrow|store|checkout|app)';
const PAYMENT_MEANS =
  '(?:paypal|venmo|cashapp|cash app|zelle|western union|moneygram|gift cards?|bitcoin|btc|monero|xmr|usdt|bank transfer|wire transfer|revolut|wise)';
const MESSENGERS = '(?:telegram|whatsapp|discord|signal|email|dm|twitter)';

const OFF_MARKET_PHRASES: readonly RegExp[] = [
  `(?:pay|payment|payments|paying|buy|purchase|deal|order|trade|settle|send|transfer|contact) ${SENTENCE_GAP}(?:outside|off|around|without) (?:of )?(?:the |this )?${MARKET_WORDS}`,
  `(?:pay|transfer|wire) (?:me|us|the seller) ${SENTENCE_NEAR}(?:directly|privately|instead|first|outside)`,
  `(?:send|transfer|wire|deposit) ${SENTENCE_NEAR}(?:usdc|eth|ether|usd|dollars|funds|money|payment|btc|usdt|tokens|crypto) ${SENTENCE_NEAR}to (?:me|us|my|our|this|the following) `,
  `(?:pay|send|transfer) ${SENTENCE_NEAR}(?:me|us|my|our|seller) ${SENTENCE_NEAR}(?:via|by|with|through|using|in|over|on) ${PAYMENT_MEANS}`,
  `(?:discount|cheaper|half price|bonus|free) ${SENTENCE_GAP}(?:pay|paying|paid) ${SENTENCE_NEAR}(?:outside|directly|privately|off|via|by|with|in) ${SENTENCE_NEAR}(?:${PAYMENT_MEANS}|${MARKET_WORDS}|us|me|crypto)`,
  `(?:contact|message|dm|write|text|reach) (?:me|us) (?:on|via|at|by|over|through) ${MESSENGERS} ${SENTENCE_GAP}(?:pay|payment|price|deal|discount|buy|order|purchase|cheaper)`,
  `(?:approve|increase) ${SENTENCE_NEAR}(?:allowance|spending|unlimited|spender) ${SENTENCE_NEAR}(?:for|to|of) `,
  `(?:skip|avoid|save) ${SENTENCE_NEAR}(?:market|platform|marketplace) (?:fee|fees|checkout)`,
].map((words) => new RegExp(` ${words.trimEnd()} `, 'u'));

/** Whether the text asks for money outside the market. */
function requestsPayment({ latin, sentences }: FoldedText): boolean {
  if (OFF_MARKET_PHRASES.some((pattern) => pattern.test(sentences))) return true;
  return [...latin.matchAll(ADDRESS)].some(({ 0: address, index }) => {
    const end = index + address.length;
    return (
      PAY_VERBS.test(latin.slice(Math.max(0, index - VERB_DISTANCE), index)) ||
      PAY_VERBS.test(latin.slice(end, end + VERB_DISTANCE))
    );
  });
}
