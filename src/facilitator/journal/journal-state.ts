import type { Hex } from '../../platform/hex.ts';
import type { Item, Line } from './append-file.ts';
import { type Cooldown, type Entry, keyOf, type Loss, lossOf, type SignedTransaction } from './entry.ts';
import { wrongChain } from './import-folder.ts';
import { parseRecord, printRecord } from './records.ts';

export interface JournalState {
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

export function createJournalState(chainId: bigint): JournalState {
  const state: JournalState = {
    chainId,
    entries: new Map(),
    waiting: new Set(),
    blocked: new Set(),
    cooldowns: new Map(),
    known: new Set(),
    losses: [],
    put: (entry) => {
      state.entries.set(keyOf(entry.authorization), entry);
      if (entry.ending === null) state.waiting.add(entry);
    },
    addKnown: (address) => {
      state.known.delete(address);
      state.known.add(address);
      const [oldest] = state.known;
      if (state.known.size > MAX_KNOWN && oldest !== undefined) state.known.delete(oldest);
    },
    prune: (finalizedSeconds) => {
      for (const [key, entry] of state.entries) {
        const { ending, authorization } = entry;
        if (ending === null || authorization.validBefore >= finalizedSeconds) continue;
        // Keep a success until it is final, because only then does it make its payer and payee known.
        if (ending.state === 'succeeded' && !entry.isFinal && ending.blockNumber !== null) continue;
        state.entries.delete(key);
        const loss = lossOf(entry);
        if (loss !== null) state.losses.push(loss);
      }
    },
  };
  return state;
}

/** Returns the whole state as lines for a fresh file. Drops losses older than a day, and cooldowns that ended more than a day ago. */
export function itemsOf(state: JournalState, now: number): Item[] {
  state.losses = state.losses.filter(({ at }) => at + DAY_MS > now);
  for (const [payer, { until }] of state.cooldowns) if (until + DAY_MS < now) state.cooldowns.delete(payer);
  return [
    ['chain', printRecord({ type: 'chain', chainId: state.chainId })],
    ...[...state.blocked].map((key): Item => [key, printRecord({ type: 'blocked' })]),
    ...[...state.known].map((address): Item => ['known', printRecord({ type: 'known', address })]),
    ...[...state.cooldowns.values()].map((rest): Item => ['rest', printRecord({ type: 'rest', rest })]),
    ...state.losses.map((loss): Item => ['loss', printRecord({ type: 'loss', loss })]),
    ...[...state.entries].map(([key, entry]): Item => [key, printRecord({ type: 'entry', entry })]),
  ];
}

export function applyLine(state: JournalState, { key, number, text }: Line, chainId: bigint): void {
  const entry = state.entries.get(key);
  const record = parseRecord(text, entry?.accountNonce ?? 0);
  // The line is whole but unknown, so a later version wrote it. Ignoring it could settle a payment twice.
  if (record === null) throw new Error(`FACILITATOR_DATA_DIR: line ${number} of the journal is of another version`);
  switch (record.type) {
    case 'chain':
      if (record.chainId !== chainId) throw wrongChain(record.chainId, chainId);
      return;
    case 'entry':
      state.put(record.entry);
      return;
    case 'blocked':
      state.blocked.add(key);
      return;
    case 'loss':
      state.losses.push(record.loss);
      return;
    case 'rest':
      state.cooldowns.set(record.rest.payer, record.rest);
      return;
    case 'known':
      state.addKnown(record.address);
      return;
    default:
  }
  if (entry === undefined) {
    // The first line of this entry is damaged, so block the authorization.
    state.blocked.add(key);
    return;
  }
  if (record.type === 'transaction') addTransaction(entry, record.transaction);
  if (record.type === 'ended') {
    entry.ending = record.ending;
    state.waiting.delete(entry);
  }
  if (record.type === 'reopened') {
    entry.ending = null;
    state.waiting.add(entry);
  }
}

export function addTransaction(entry: Entry, transaction: SignedTransaction): void {
  entry.transactions = [...entry.transactions, transaction];
  entry.accountNonce = Math.max(entry.accountNonce, transaction.accountNonce);
}
