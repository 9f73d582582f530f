import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Authorization } from '../../platform/chain/shapes.ts';
import { type Clock, isoTime } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Log } from '../../platform/log.ts';
import type { ReachCrashPoint } from '../crash-points.ts';
import { type AppendFile, type Item, openAppendFile, readLines, readWhole } from './append-file.ts';
import { type Cooldown, type Ending, type Entry, keyOf, type Loss, type SignedTransaction } from './entry.ts';
import { readEarlierFolder } from './import-folder.ts';
import { addTransaction, applyLine, createJournalState, itemsOf, type JournalState } from './journal-state.ts';
import { printRecord } from './records.ts';

type AuthorizationKey = Pick<Authorization, 'from' | 'nonce'>;

/** Holds every signed settlement, from before its broadcast until its authorization can never be used again. */
export interface Journal {
  find(authorization: AuthorizationKey): Readonly<Entry> | null;
  /** True if a damaged line was about the authorization, so we do not know what was signed. */
  isBlocked(authorization: AuthorizationKey): boolean;
  all(): Iterable<Readonly<Entry>>;
  /** Entries that have not ended, lowest account nonce first. */
  openEntries(): readonly Readonly<Entry>[];
  /** The entries of `openEntries`, as a live, unordered set. */
  inFlight(): ReadonlySet<Readonly<Entry>>;
  openEntriesOf(payer: Hex): readonly Readonly<Entry>[];
  /** Durable when it resolves. */
  add(entry: Entry): Promise<Readonly<Entry>>;
  /** Adds a transaction for an account nonce of the entry or for a new one. Durable when it resolves. */
  addTransaction(entry: Readonly<Entry>, transaction: SignedTransaction): Promise<void>;
  end(entry: Readonly<Entry>, ending: Ending, cooldown: Cooldown | null): Promise<void>;
  /** Removes the ending of an entry whose block is no longer in the chain. */
  reopen(entry: Readonly<Entry>): Promise<void>;
  cooldowns(): ReadonlyMap<Hex, Cooldown>;
  /** True for payers and payees of sales that are final and paid for their gas. */
  isKnown(address: Hex): boolean;
  markFinal(entry: Readonly<Entry>, addresses: readonly Hex[]): Promise<void>;
  /** Losses of entries that were pruned. */
  losses(): readonly Loss[];
  /** Drops ended entries whose authorization has expired by the time of the finalized head. */
  prune(finalizedSeconds: bigint): Promise<void>;
  stats(): { entries: number; appends: number; syncs: number };
  close(): Promise<void>;
}

const FILE = 'journal.log';
const EARLIER_FOLDER = 'settlements';
const OBSOLETE_LINES = 20_000;

export async function openJournal(options: {
  folder: string;
  chainId: bigint;
  clock: Clock;
  log: Log;
  /** Rewrite the file once this many of its lines are obsolete. */
  idleLines?: number;
  crashPoint?: ReachCrashPoint;
}): Promise<Journal> {
  const { folder, clock, idleLines = OBSOLETE_LINES, crashPoint = () => {} } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const state = await loadJournalState(options);
  const earlier = await readEarlierFolder(join(folder, EARLIER_FOLDER), options.chainId, options.log);
  for (const entry of earlier?.entries ?? []) if (!state.entries.has(keyOf(entry.authorization))) state.put(entry);
  for (const key of earlier?.damagedKeys ?? []) state.blocked.add(key);
  // Start with a fresh file, so that no incomplete line remains.
  const file = await openAppendFile({
    path: join(folder, FILE),
    snapshot: () => itemsOf(state, clock.now()),
    crashPoint,
  });
  await earlier?.putAside();
  if (earlier !== null) options.log.info('journal_imported', { count: earlier.entries.length });
  return createJournal(state, file, { idleLines, crashPoint });
}

function createJournal(
  state: JournalState,
  file: AppendFile,
  { idleLines, crashPoint }: { idleLines: number; crashPoint: ReachCrashPoint },
): Journal {
  const append = (items: readonly Item[], durable = false): Promise<void> => file.append(items, durable);
  const entryOf = (entry: Readonly<Entry>): Entry | null => state.entries.get(keyOf(entry.authorization)) ?? null;
  return {
    find: (authorization) => state.entries.get(keyOf(authorization)) ?? null,
    isBlocked: (authorization) => state.blocked.has(keyOf(authorization)),
    all: () => state.entries.values(),
    openEntries: () => [...state.waiting].sort((a, b) => a.accountNonce - b.accountNonce),
    inFlight: () => state.waiting,
    openEntriesOf: (payer) => [...state.waiting].filter(({ authorization }) => authorization.from === payer),
    add: async (entry) => {
      const key = keyOf(entry.authorization);
      if (state.entries.has(key)) throw new Error('this authorization already has an entry');
      await append([[key, printRecord({ type: 'entry', entry })]], true);
      state.put(entry);
      return entry;
    },
    addTransaction: async (entry, transaction) => {
      const { accountNonce } = entry;
      const text = printRecord({ type: 'transaction', transaction, accountNonce });
      await append([[keyOf(entry.authorization), text]], true);
      const kept = entryOf(entry);
      if (kept !== null) addTransaction(kept, transaction);
    },
    end: async (entry, ending, rest) => {
      const kept = entryOf(entry);
      if (kept === null) return;
      kept.ending = ending;
      state.waiting.delete(kept);
      if (rest !== null) state.cooldowns.set(rest.payer, rest);
      // Not durable, because the chain can show the ending again. So no caller has to wait for the disk.
      const items: Item[] = [[keyOf(entry.authorization), printRecord({ type: 'ended', ending })]];
      if (rest !== null) items.push(['rest', printRecord({ type: 'rest', rest })]);
      await append(items);
    },
    reopen: async (entry) => {
      const kept = entryOf(entry);
      if (kept === null || kept.ending === null) return;
      kept.ending = null;
      kept.isFinal = false;
      state.waiting.add(kept);
      crashPoint('before_reopening_written');
      await append([[keyOf(entry.authorization), printRecord({ type: 'reopened' })]], true);
      crashPoint('after_reopening_written');
    },
    cooldowns: () => state.cooldowns,
    isKnown: (address) => state.known.has(address),
    markFinal: async (entry, addresses) => {
      const kept = entryOf(entry);
      if (kept !== null) kept.isFinal = true;
      const fresh = addresses.filter((address) => !state.known.has(address));
      for (const address of fresh) state.addKnown(address);
      await append(fresh.map((address) => ['known', printRecord({ type: 'known', address })]));
    },
    losses: () => state.losses,
    prune: async (finalizedSeconds) => {
      state.prune(finalizedSeconds);
      if (file.stats().lines > state.entries.size + idleLines) await file.rewrite();
    },
    stats: () => {
      const { appends, syncs } = file.stats();
      return { entries: state.entries.size, appends, syncs };
    },
    close: file.close,
  };
}

async function loadJournalState(options: {
  folder: string;
  chainId: bigint;
  clock: Clock;
  log: Log;
}): Promise<JournalState> {
  const path = join(options.folder, FILE);
  const text = await readWhole(path);
  const read = readLines(text);
  const state = createJournalState(options.chainId);
  for (const line of read.lines) applyLine(state, line, options.chainId);
  if (read.damaged === 0) return state;
  // A fresh file may replace this one right away, so keep a copy for the operator to investigate.
  const kept = `${path}.damaged-${isoTime(options.clock.now()).replaceAll(/[:.]/g, '-')}`;
  await writeFile(kept, text, { mode: 0o600 });
  options.log.error('journal_damaged', { path: kept, count: read.damaged });
  if (read.isUnknown) {
    throw new Error(
      `FACILITATOR_DATA_DIR: the journal is damaged, so it is unknown which payments were signed (${read.damaged} lines, see ${kept}). Move ${path} away once the last of its authorizations has expired.`,
    );
  }
  for (const key of read.damagedKeys) state.blocked.add(key);
  return state;
}
