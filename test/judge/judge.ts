/**
 * A second implementation of what counts as paid. It decodes a node's JSON answers on its own and shares only the rules with the market: a
 * final transfer in the canonical chain that fits the payment, a window for claims, and one delivery per transaction.
 */

export type Json = Readonly<Record<string, unknown>>;

export interface Answers {
  chainId: unknown;
  /** Hash of the requested transaction. */
  asked: string;
  latest: Json;
  /** Finalized block. Null while no finalized head is trusted. */
  finalized: Json | null;
  receipt: Json | null;
  block: Json | null;
  /** The party's token transfers in the receipt's block, from the node's index. */
  logs: readonly Json[];
}

/** A verdict. `log` is the log that pays. `seen` is true if an undecided transfer is in a block. */
export interface Ruling {
  outcome: 'settled' | 'refused' | 'review' | 'unknown';
  reason?: string;
  log?: number;
  seen?: boolean;
}

export interface Rules {
  chainId: number;
  token: string;
  payer: string;
  payee: string;
  units: bigint;
  /** Unix time in milliseconds. Null if not removed. */
  removedAt: number | null;
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
const CANCELED = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81';

const lowerCase = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');
const count = (value: unknown): number =>
  /^0x[0-9a-f]+$/.test(lowerCase(value)) ? Number(lowerCase(value)) : Number.NaN;
const party = (topic: string): string => (/^0x0{24}[0-9a-f]{40}$/.test(topic) ? `0x${topic.slice(26)}` : '');
const unclear: Ruling = { outcome: 'unknown', seen: false };
const refused = (reason: string): Ruling => ({ outcome: 'refused', reason });

/** A token log. For an authorization, `from` is its signer. */
interface Entry extends Record<'from' | 'to' | 'nonce', string> {
  index: number;
  what: 'transfer' | 'used' | 'canceled' | 'other';
  units: bigint;
  removed: boolean;
  whole: readonly unknown[];
}

function readEntry(raw: Json, token: string): Entry {
  const topics = (Array.isArray(raw['topics']) ? raw['topics'] : []).map(lowerCase);
  const [kind = '', first = '', second = ''] = topics;
  const [address, data, index] = [lowerCase(raw['address']), lowerCase(raw['data']), count(raw['logIndex'])];
  const [removed, whole] = [raw['removed'] === true, [index, address, topics, data]];
  const parties = { from: party(first), to: party(second), nonce: second, units: 0n };
  const entry: Entry = { index, what: 'other', ...parties, removed, whole };
  if (address !== token || topics.length !== 3 || entry.from === '') return entry;
  const isTransfer = kind === TRANSFER && entry.to !== '' && /^0x[0-9a-f]{64}$/.test(data);
  if (isTransfer) return { ...entry, what: 'transfer', units: BigInt(data) };
  const mark = kind === USED ? 'used' : kind === CANCELED ? 'canceled' : 'other';
  return data === '0x' ? { ...entry, what: mark } : entry;
}

const review = (reason: string, { index }: Entry): Ruling => ({ outcome: 'review', reason, log: index });

/** Position of a transaction. `time` is in seconds; `final` means at or below the finalized head. */
interface Place extends Record<'number' | 'time', number>, Record<'failed' | 'final', boolean> {
  entries: Entry[];
}

/** Returns the receipt once it names a block. */
function minedReceipt({ receipt }: Answers): Json | null {
  return receipt !== null && /^0x.*[1-9a-f]/.test(lowerCase(receipt['blockHash'])) ? receipt : null;
}

/** Locates the transaction. Null while the node contradicts itself about its block or about logs that matter. */
function findPlace(given: Answers, receipt: Json, rules: Rules, matters: (entry: Entry) => boolean): Place | null {
  const { block, finalized, logs } = given;
  const [hash, tx, number] = [lowerCase(receipt['blockHash']), lowerCase(given.asked), count(receipt['blockNumber'])];
  if (block === null || count(block['number']) !== number || lowerCase(block['hash']) !== hash) return null;
  const listed = Array.isArray(block['transactions']) && block['transactions'].map(lowerCase).includes(tx);
  if (!listed || lowerCase(receipt['transactionHash']) !== tx) return null;
  if (!['0x0', '0x1'].includes(lowerCase(receipt['status'])) || !Array.isArray(receipt['logs'])) return null;
  const raw: Json[] = receipt['logs'];
  const isOwn = (log: Json): boolean =>
    lowerCase(log['transactionHash']) === tx && count(log['blockNumber']) === number;
  if (!raw.every(isOwn) || [...raw, ...logs].some((log) => lowerCase(log['blockHash']) !== hash)) return null;
  const read = (log: Json): Entry => readEntry(log, rules.token);
  const entries = raw.map(read).toSorted((one, other) => one.index - other.index);
  const indexed = logs.filter((log) => lowerCase(log['transactionHash']) === tx).map(read);
  if (entries.some(({ removed }) => removed) || indexed.some((entry) => entry.removed && matters(entry))) return null;
  const texts = (of: Entry[]): string => String(of.flatMap((one) => (matters(one) ? `${one.whole}` : [])).toSorted());
  if (texts(entries) !== texts(indexed)) return null;
  const isSingle = (of: Entry[]): boolean => new Set(of.map(({ index }) => index)).size === of.length;
  if (!isSingle(entries) || !isSingle(logs.map(read))) return null;
  const head = finalized === null ? -1 : count(finalized['number']);
  if (head === number && lowerCase(finalized?.['hash']) !== hash) return null;
  const [time, failed, final] = [count(block['timestamp']), lowerCase(receipt['status']) === '0x0', number <= head];
  return { entries, number, time, failed, final };
}

const isRemoved = ({ time }: Place, { removedAt }: Rules): boolean => removedAt !== null && time * 1000 >= removedAt;

/**
 * Rules for a claim: its window in seconds, whether the buyer already has the goods, and the x402 attempts as payer and authorization
 * nonce.
 */
export interface ClaimRules extends Rules, Record<'from' | 'until', number>, Record<'owned', boolean> {
  ledger: readonly (readonly [string, string])[];
}

/** Judges a transaction that a buyer claims. One log must move at least `units` from payer to payee within the window. */
export function judgeClaim(given: Answers, rules: ClaimRules): Ruling {
  const { payer, payee, units, from, until } = rules;
  if (count(given.chainId) !== rules.chainId) return unclear;
  const [receipt, isOver] = [minedReceipt(given), count(given.finalized?.['timestamp']) >= until];
  if (receipt === null) return isOver ? refused('transfer_not_found') : unclear;
  const place = findPlace(given, receipt, rules, (entry) => entry.what === 'transfer' && entry.to === payee);
  // Any log may decide a claim, so all of them must be canonical.
  if (place === null) return unclear;
  if (!place.final) return { outcome: 'unknown', seen: true };
  // A failed transaction has no logs, so a receipt with both contradicts itself.
  if (place.failed) return place.entries.length > 0 ? unclear : refused('transfer_not_found');
  const uses = place.entries.filter(({ what }) => what === 'used');
  const isKnown = (use: Entry): boolean => rules.ledger.some(([who, nonce]) => who === use.from && nonce === use.nonce);
  if (uses.some(isKnown)) return refused('transaction_used');
  // Ignore transfers of zero, because anybody can send them in anybody's name.
  const paid = place.entries.filter((entry) => entry.what === 'transfer' && entry.to === payee && entry.units > 0n);
  const own = paid.filter((entry) => entry.from === payer);
  const isByOther = paid.some((entry) => entry.units >= units);
  if (own.length === 0) return refused(isByOther ? 'wrong_payer' : 'transfer_not_found');
  const most = own.reduce((best, entry) => (entry.units > best.units ? entry : best));
  const enough = own.find((entry) => entry.units >= units);
  if (uses.some((use) => use.from === payer)) return review('authorized_transfer', most);
  if (enough === undefined) return review('amount_too_little', most);
  if (place.time < from || place.time >= until) return review('outside_window', enough);
  if (isRemoved(place, rules)) return review('paid_after_removal', enough);
  if (rules.owned) return review('already_bought', enough);
  return { outcome: 'settled', log: enough.index };
}

export interface AttemptRules extends Rules, Record<'validBefore' | 'openedBlock', number> {
  nonce: string;
  submitted: boolean;
  stopped: boolean;
}

export interface AttemptAnswers extends Answers {
  /** The log that shows the use of the attempt's authorization nonce. Null if there is none. */
  use: Json | null;
  nonceUsed: boolean | null;
}

/** Judges an x402 attempt. The use of its authorization must move exactly `units`. */
export function judgeAttempt(given: AttemptAnswers, rules: AttemptRules): Ruling {
  if (count(given.chainId) !== rules.chainId) return unclear;
  if (given.use !== null) return judgeUse(given, given.use, rules);
  if (given.nonceUsed !== false) return unclear;
  const isOver = count(given.finalized?.['timestamp']) >= rules.validBefore;
  const isIdle = !rules.submitted && count(given.latest['timestamp']) > rules.validBefore;
  return isOver || isIdle ? refused('expired') : unclear;
}

function judgeUse(given: Answers, use: Json, rules: AttemptRules): Ruling {
  const { token, payer, payee, units } = rules;
  const [named, receipt] = [readEntry(use, token), minedReceipt(given)];
  const isOfNonce = ['used', 'canceled'].includes(named.what) && named.from === payer && named.nonce === rules.nonce;
  if (!isOfNonce || use['removed'] === true || receipt === null) return unclear;
  const place = findPlace(given, receipt, rules, (entry) => entry.what === 'transfer' && entry.from === payer);
  if (place === null || place.failed || count(use['blockNumber']) !== place.number) return unclear;
  const isThere = ['blockHash', 'transactionHash'].every((key) => lowerCase(use[key]) === lowerCase(receipt[key]));
  const own = place.entries.find((one) => String(one.whole) === String(named.whole));
  if (!isThere || own === undefined || own.removed) return unclear;
  if (!place.final) return { outcome: 'unknown', seen: true };
  if (named.what === 'canceled') return refused('canceled');
  // The token emits the use directly before the transfer that it made.
  const made = place.entries.find(({ index }) => index === named.index + 1);
  if (made?.what !== 'transfer' || made.from !== payer) return { outcome: 'unknown', seen: true };
  if (made.to !== payee || made.units !== units) return refused('no_fitting_transfer');
  if (place.number <= rules.openedBlock) return review('used_before_opening', made);
  if (isRemoved(place, rules)) return review('listing_removed', made);
  return rules.stopped ? review('listing_changed', made) : { outcome: 'settled', log: made.index };
}

/** Judges a refund. It must move at least `units` from payee to payer, in a block after the payment's. */
export function judgeRefund(given: Answers, rules: Rules & { afterBlock: number }): Ruling {
  const { payer, payee, units } = rules;
  const receipt = minedReceipt(given);
  if (count(given.chainId) !== rules.chainId || receipt === null) return unclear;
  const place = findPlace(given, receipt, rules, (entry) => entry.what === 'transfer' && entry.to === payer);
  if (place === null || !place.final) return unclear;
  const back = place.entries.filter((entry) => entry.what === 'transfer' && entry.from === payee && entry.to === payer);
  const enough = back.find((entry) => entry.units >= units);
  if (place.failed || place.number <= rules.afterBlock || enough === undefined) return refused('refund_not_found');
  return { outcome: 'settled', log: enough.index };
}
