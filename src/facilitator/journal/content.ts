import type { Hex } from '../../platform/hex.ts';
import type { Item, Line } from './append-file.ts';
import { type Cooldown, type Entry, keyOf, type Loss, lossOf, type SignedTransaction } from './entry.ts';
import { wrongChain } from './import-folder.ts';
import { parseRecord, printRecord } from './records.ts';

export interface Content {
  chainId: bigint;
  entries: Map<string, Entry>;
  /** Entries that have not ended. */
  waiting: Set<Entry>;
  blocked: Set<string>;
  cooldowns: Map<Hex, Cooldown>;
  known: Set<Hex>;
  losses: Loss[];
  put(entry: Entry): void;
  addKnown(address: Hex): void;
  prune(finalizedSeconds: bigint): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** When full, drop the address that has been known for the longest time. */
const MAX_KNOWN = 200_000;

export function createContent(chainId: bigint): Content {
  const content: Content = {
    chainId,
    entries: new Map(),
    waiting: new Set(),
    blocked: new Set(),
    cooldowns: new Map(),
    known: new Set(),
    losses: [],
    put: (entry) => {
      content.entries.set(keyOf(entry.authorization), entry);
      if (entry.ending === null) content.waiting.add(entry);
    },
    addKnown: (address) => {
      content.known.delete(address);
      content.known.add(address);
      const [oldest] = content.known;
      if (content.known.size > MAX_KNOWN && oldest !== undefined) content.known.delete(oldest);
    },
    prune: (finalizedSeconds) => {
      for (const [key, entry] of content.entries) {
        const { ending, authorization } = entry;
        if (ending === null || authorization.validBefore >= finalizedSeconds) continue;
        // Keep a success until it is final, because only then does it make its payer and payee known.
        if (ending.state === 'succeeded' && !entry.isFinal && ending.blockNumber !== null) continue;
        content.entries.delete(key);
        const loss = lossOf(entry);
        if (loss !== null) content.losses.push(loss);
      }
    },
  };
  return content;
}

/** Returns all content as lines for a fresh file. Drops losses older than a day, and cooldowns that ended more than a day ago. */
export function itemsOf(content: Content, now: number): Item[] {
  content.losses = content.losses.filter(({ at }) => at + DAY_MS > now);
  for (const [payer, { until }] of content.cooldowns) if (until + DAY_MS < now) content.cooldowns.delete(payer);
  return [
    ['chain', printRecord({ type: 'chain', chainId: content.chainId })],
    ...[...content.blocked].map((key): Item => [key, printRecord({ type: 'blocked' })]),
    ...[...content.known].map((address): Item => ['known', printRecord({ type: 'known', address })]),
    ...[...content.cooldowns.values()].map((rest): Item => ['rest', printRecord({ type: 'rest', rest })]),
    ...content.losses.map((loss): Item => ['loss', printRecord({ type: 'loss', loss })]),
    ...[...content.entries].map(([key, entry]): Item => [key, printRecord({ type: 'entry', entry })]),
  ];
}

export function applyLine(content: Content, { key, number, text }: Line, chainId: bigint): void {
  const entry = content.entries.get(key);
  const record = parseRecord(text, entry?.accountNonce ?? 0);
  // The line is whole but unknown, so a later version wrote it. Ignoring it could settle a payment twice.
  if (record === null) throw new Error(`FACILITATOR_DATA_DIR: line ${number} of the journal is of another version`);
  switch (record.type) {
    case 'chain':
      if (record.chainId !== chainId) throw wrongChain(record.chainId, chainId);
      return;
    case 'entry':
      content.put(record.entry);
      return;
    case 'blocked':
      content.blocked.add(key);
      return;
    case 'loss':
      content.losses.push(record.loss);
      return;
    case 'rest':
      content.cooldowns.set(record.rest.payer, record.rest);
      return;
    case 'known':
      content.addKnown(record.address);
      return;
    default:
  }
  if (entry === undefined) {
    // The first line of this entry is damaged, so block the authorization.
    content.blocked.add(key);
    return;
  }
  if (record.type === 'transaction') addTransaction(entry, record.transaction);
  if (record.type === 'ended') {
    entry.ending = record.ending;
    content.waiting.delete(entry);
  }
  if (record.type === 'reopened') {
    entry.ending = null;
    content.waiting.add(entry);
  }
}

export function addTransaction(entry: Entry, transaction: SignedTransaction): void {
  entry.transactions = [...entry.transactions, transaction];
  entry.accountNonce = Math.max(entry.accountNonce, transaction.accountNonce);
}
