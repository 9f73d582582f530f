import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Authorization } from '../../platform/chain/shapes.ts';
import { type Clock, isoTime } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Log } from '../../platform/log.ts';
import type { ReachCrashPoint } from '../crash-points.ts';
import { type AppendFile, type Item, openAppendFile, readLines, readWhole } from './append-file.ts';
import { addTo, type Content, createContent, itemsOf, takeIn } from './content.ts';
import { type Cooldown, type Ending, type Entry, keyOf, type Loss, type SignedTransaction } from './entry.ts';
import { readEarlierFolder } from './import-folder.ts';
import { printRecord } from './records.ts';

type Named = Pick<Authorization, 'from' | 'nonce'>;

/** Every settlement that was signed, from before its broadcast until its authorization can not be used in any chain any more. */
export interface Journal {
  find(authorization: Named): Readonly<Entry> | null;
  /** A damaged line was about it: what was signed for it is not known. */
  isBlocked(authorization: Named): boolean;
  all(): Iterable<Readonly<Entry>>;
  /** Not known to be mined, nor to be hopeless. Oldest place first. */
  open(): readonly Readonly<Entry>[];
  /** The same in no order, as they are at any time. */
  inFlight(): ReadonlySet<Readonly<Entry>>;
  openOf(payer: Hex): readonly Readonly<Entry>[];
  /** Durable when it resolves. */
  add(entry: Entry): Promise<Readonly<Entry>>;
  /** Another transaction for one of its places, or for a further place; durable when it resolves. */
  addTransaction(entry: Readonly<Entry>, transaction: SignedTransaction): Promise<void>;
  end(entry: Readonly<Entry>, ending: Ending, cooldown: Cooldown | null): Promise<void>;
  /** It was in a block and is not now. */
  reopen(entry: Readonly<Entry>): Promise<void>;
  cooldowns(): ReadonlyMap<Hex, Cooldown>;
  /** Payers and payees of sales that are final and paid for their gas. */
  isKnown(address: Hex): boolean;
  know(entry: Readonly<Entry>, addresses: readonly Hex[]): Promise<void>;
  /** What was lost by entries that are forgotten. */
  losses(): readonly Loss[];
  /** Forgets what is over and can never be used, by the time of the finalized head. */
  forget(finalizedSeconds: bigint): Promise<void>;
  stats(): { entries: number; appends: number; syncs: number };
  close(): Promise<void>;
}

const FILE = 'journal.log';
const FOLDER_BEFORE = 'settlements';
const IDLE_LINES = 20_000;

export async function openJournal(options: {
  folder: string;
  chainId: bigint;
  clock: Clock;
  log: Log;
  /** A fresh file once so many lines of this one say nothing any more. */
  idleLines?: number;
  crashPoint?: ReachCrashPoint;
}): Promise<Journal> {
  const { folder, clock, idleLines = IDLE_LINES, crashPoint = () => {} } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const content = await load(options);
  const earlier = await readEarlierFolder(join(folder, FOLDER_BEFORE), options.chainId, options.log);
  for (const entry of earlier?.entries ?? []) if (!content.entries.has(keyOf(entry.authorization))) content.put(entry);
  for (const key of earlier?.damagedKeys ?? []) content.blocked.add(key);
  // Begins with a fresh file that says all of it, and no half line.
  const file = await openAppendFile({
    path: join(folder, FILE),
    snapshot: () => itemsOf(content, clock.now()),
    crashPoint,
  });
  await earlier?.putAside();
  if (earlier !== null) options.log.info('journal_imported', { count: earlier.entries.length });
  return createJournal(content, file, { idleLines, crashPoint });
}

function createJournal(
  content: Content,
  file: AppendFile,
  { idleLines, crashPoint }: { idleLines: number; crashPoint: ReachCrashPoint },
): Journal {
  const append = (items: readonly Item[], durable = false): Promise<void> => file.append(items, durable);
  const own = (entry: Readonly<Entry>): Entry | null => content.entries.get(keyOf(entry.authorization)) ?? null;
  return {
    find: (authorization) => content.entries.get(keyOf(authorization)) ?? null,
    isBlocked: (authorization) => content.blocked.has(keyOf(authorization)),
    all: () => content.entries.values(),
    open: () => [...content.waiting].sort((a, b) => a.accountNonce - b.accountNonce),
    inFlight: () => content.waiting,
    openOf: (payer) => [...content.waiting].filter(({ authorization }) => authorization.from === payer),
    add: async (entry) => {
      const key = keyOf(entry.authorization);
      if (content.entries.has(key)) throw new Error('this authorization has its place already');
      await append([[key, printRecord({ type: 'entry', entry })]], true);
      content.put(entry);
      return entry;
    },
    addTransaction: async (entry, transaction) => {
      const { accountNonce } = entry;
      const text = printRecord({ type: 'transaction', transaction, accountNonce });
      await append([[keyOf(entry.authorization), text]], true);
      const found = own(entry);
      if (found !== null) addTo(found, transaction);
    },
    end: async (entry, ending, rest) => {
      const found = own(entry);
      if (found === null) return;
      found.ending = ending;
      content.waiting.delete(found);
      if (rest !== null) content.cooldowns.set(rest.payer, rest);
      // The chain can tell again how it ended, so that no caller has to wait for the disk.
      const items: Item[] = [[keyOf(entry.authorization), printRecord({ type: 'ended', ending })]];
      if (rest !== null) items.push(['rest', printRecord({ type: 'rest', rest })]);
      await append(items);
    },
    reopen: async (entry) => {
      const found = own(entry);
      if (found === null || found.ending === null) return;
      found.ending = null;
      found.isFinal = false;
      content.waiting.add(found);
      crashPoint('before_reopening_written');
      await append([[keyOf(entry.authorization), printRecord({ type: 'reopened' })]], true);
      crashPoint('after_reopening_written');
    },
    cooldowns: () => content.cooldowns,
    isKnown: (address) => content.known.has(address),
    know: async (entry, addresses) => {
      const found = own(entry);
      if (found !== null) found.isFinal = true;
      const fresh = addresses.filter((address) => !content.known.has(address));
      for (const address of fresh) content.know(address);
      await append(fresh.map((address) => ['known', printRecord({ type: 'known', address })]));
    },
    losses: () => content.losses,
    forget: async (finalizedSeconds) => {
      content.forget(finalizedSeconds);
      if (file.stats().lines > content.entries.size + idleLines) await file.rewrite();
    },
    stats: () => {
      const { appends, syncs } = file.stats();
      return { entries: content.entries.size, appends, syncs };
    },
    close: file.close,
  };
}

async function load(options: { folder: string; chainId: bigint; clock: Clock; log: Log }): Promise<Content> {
  const path = join(options.folder, FILE);
  const text = await readWhole(path);
  const read = readLines(text);
  const content = createContent(options.chainId);
  for (const line of read.lines) takeIn(content, line, options.chainId);
  if (read.damaged === 0) return content;
  // The next start writes a fresh file; this one is kept for the operator, to find out what happened.
  const kept = `${path}.damaged-${isoTime(options.clock.now()).replaceAll(/[:.]/g, '-')}`;
  await writeFile(kept, text, { mode: 0o600 });
  options.log.error('journal_damaged', { path: kept, count: read.damaged });
  if (read.isUnknown) {
    throw new Error(
      `FACILITATOR_DATA_DIR: the journal is damaged so that it is not known which payments were signed (${read.damaged} lines, see ${kept}). Put ${path} aside once the last of its authorizations has run out.`,
    );
  }
  for (const key of read.damagedKeys) content.blocked.add(key);
  return content;
}
