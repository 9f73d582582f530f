import type { FoldedText } from './fold-text.ts';

const ADDRESS = /\b0x[0-9a-f]{40}\b|\b(?:bc1|ltc1)[0-9a-z]{25,60}\b|\b[a-z0-9-]{3,40}\.eth\b/g;
const PAY =
  /\b(?:send|pay|transfer|deposit|wire|remit|donate|tip|forward|fund|top up)\b(?! events?\b| logs?\b| history\b)/;
/** How far from an address it may be said what to do with it. */
const REACH = 100;

const GAP = '(?:[^ |]+ ){0,5}';
const NEAR = '(?:[^ |]+ ){0,3}';
const PLACE = '(?:market|marketplace|platform|site|escrow|store|checkout|app)';
const MEANS =
  '(?:paypal|venmo|cashapp|cash app|zelle|western union|moneygram|gift cards?|bitcoin|btc|monero|xmr|usdt|bank transfer|wire transfer|revolut|wise)';
const PLACES = '(?:telegram|whatsapp|discord|signal|email|dm|twitter)';

const BESIDE: readonly RegExp[] = [
  `(?:pay|payment|payments|paying|buy|purchase|deal|order|trade|settle|send|transfer|contact) ${GAP}(?:outside|off|around|without) (?:of )?(?:the |this )?${PLACE}`,
  `(?:pay|transfer|wire) (?:me|us|the seller) ${NEAR}(?:directly|privately|instead|first|outside)`,
  `(?:send|transfer|wire|deposit) ${NEAR}(?:usdc|eth|ether|usd|dollars|funds|money|payment|btc|usdt|tokens|crypto) ${NEAR}to (?:me|us|my|our|this|the following) `,
  `(?:pay|send|transfer) ${NEAR}(?:me|us|my|our|seller) ${NEAR}(?:via|by|with|through|using|in|over|on) ${MEANS}`,
  `(?:discount|cheaper|half price|bonus|free) ${GAP}(?:pay|paying|paid) ${NEAR}(?:outside|directly|privately|off|via|by|with|in) ${NEAR}(?:${MEANS}|${PLACE}|us|me|crypto)`,
  `(?:contact|message|dm|write|text|reach) (?:me|us) (?:on|via|at|by|over|through) ${PLACES} ${GAP}(?:pay|payment|price|deal|discount|buy|order|purchase|cheaper)`,
  `(?:approve|increase) ${NEAR}(?:allowance|spending|unlimited|spender) ${NEAR}(?:for|to|of) `,
  `(?:skip|avoid|save) ${NEAR}(?:market|platform|marketplace) (?:fee|fees|checkout)`,
].map((words) => new RegExp(` ${words.trimEnd()} `, 'u'));

/** Asks for money in another way than the market's own. */
export function requestsPayment({ latin, sentences }: FoldedText): boolean {
  if (BESIDE.some((pattern) => pattern.test(sentences))) return true;
  return [...latin.matchAll(ADDRESS)].some(({ 0: address, index }) => {
    const end = index + address.length;
    return PAY.test(latin.slice(Math.max(0, index - REACH), index)) || PAY.test(latin.slice(end, end + REACH));
  });
}
