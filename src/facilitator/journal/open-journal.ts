import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Authorization } from '../../platform/chain/authorization.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Log } from '../../platform/log.ts';
import { type Entry, entryName, parseEntry, printEntry, type State, type StoredEntry } from './entry.ts';
import { UNFINISHED, writeWhole } from './write-whole.ts';

/** Every settlement that was signed during the last day: on disk before it is broadcast, one file for each authorization. */
export interface Journal {
  find(authorization: Pick<Authorization, 'from' | 'nonce'>): Readonly<Entry> | null;
  findByHash(hash: Hex): Readonly<Entry> | null;
  /** Not known to be in a block, nor to be hopeless. Oldest first. */
  open(): readonly Readonly<Entry>[];
  /** Durable when it resolves. Takes the place of an earlier entry of this authorization. */
  add(entry: StoredEntry): Promise<void>;
  /** What to broadcast: always the same bytes. */
  readRaw(entry: Readonly<Entry>): Promise<Hex>;
  mark(entry: Readonly<Entry>, state: State): Promise<void>;
  /** For a transaction that the node has refused to take. */
  remove(entry: Readonly<Entry>): Promise<void>;
  /** Forgets what is over and older than a day. */
  sweep(): Promise<void>;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

const KEPT_MS = 24 * 60 * 60 * 1000;
const SUFFIX = '.json';

export async function openJournal(options: {
  folder: string;
  chainId: bigint;
  clock: Clock;
  log: Log;
}): Promise<Journal> {
  const { folder, chainId, clock } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const entries = await load(options);
  const names = new Map([...entries].map(([name, entry]) => [entry.hash, name]));
  const waiting = new Set([...entries.values()].filter(({ state }) => state === 'open'));
  const pathOf = (entry: Entry): string => join(folder, `${nameOf(entry)}${SUFFIX}`);
  const { inOrder, allWritten } = createTurns();
  const readStored = async (entry: Entry): Promise<StoredEntry> => {
    const stored = parseEntry(await readFile(pathOf(entry), 'utf8'));
    if (stored === null || stored.hash !== entry.hash)
      throw new Error(`${pathOf(entry)} is not what was written there`);
    return stored;
  };
  const drop = (entry: Entry): void => {
    entries.delete(nameOf(entry));
    names.delete(entry.hash);
    waiting.delete(entry);
  };
  const forget = async (hash: Hex): Promise<void> => {
    const entry = entries.get(names.get(hash) ?? '');
    if (entry === undefined) return;
    drop(entry);
    await rm(pathOf(entry), { force: true });
  };
  return {
    find: ({ from, nonce }) => entries.get(entryName(from, nonce)) ?? null,
    findByHash: (hash) => entries.get(names.get(hash) ?? '') ?? null,
    open: () => [...waiting].sort((a, b) => a.signedAt - b.signedAt),
    add: (stored) =>
      inOrder(async () => {
        const { raw: _, ...entry } = stored;
        await writeWhole(pathOf(entry), printEntry(stored, chainId), true);
        const before = entries.get(nameOf(entry));
        if (before !== undefined) drop(before);
        entries.set(nameOf(entry), entry);
        names.set(entry.hash, nameOf(entry));
        if (entry.state === 'open') waiting.add(entry);
      }),
    readRaw: async (entry) => (await readStored(entry)).raw,
    mark: (entry, state) =>
      inOrder(async () => {
        const current = entries.get(nameOf(entry));
        if (current === undefined || current.hash !== entry.hash || current.state === state) return;
        // How it ended the chain tells again; only what still has to be done must not be lost.
        const durable = state === 'open';
        await writeWhole(pathOf(current), printEntry({ ...(await readStored(current)), state }, chainId), durable);
        current.state = state;
        if (state === 'open') waiting.add(current);
        else waiting.delete(current);
      }),
    remove: (entry) => inOrder(() => forget(entry.hash)),
    sweep: () =>
      inOrder(async () => {
        const now = clock.now();
        for (const entry of [...entries.values()]) {
          const over = entry.state !== 'open' || Number(entry.authorization.validBefore) * 1000 + KEPT_MS < now;
          if (over && entry.signedAt + KEPT_MS < now) await forget(entry.hash);
        }
      }),
    close: allWritten,
  };
}

/** One write after the other: two at once could leave the older text behind. */
function createTurns() {
  let written: Promise<unknown> = Promise.resolve();
  return {
    inOrder: <T>(write: () => Promise<T>): Promise<T> => {
      const turn = written.then(write);
      written = turn.catch(() => undefined);
      return turn;
    },
    allWritten: async (): Promise<void> => {
      await written;
    },
  };
}

function nameOf({ authorization }: Entry): string {
  return entryName(authorization.from, authorization.nonce);
}

async function load(options: { folder: string; chainId: bigint; log: Log }): Promise<Map<string, Entry>> {
  const { folder, chainId, log } = options;
  const entries = new Map<string, Entry>();
  for (const file of await readdir(folder)) {
    const path = join(folder, file);
    if (file.endsWith(UNFINISHED)) await rm(path, { force: true });
    if (!file.endsWith(SUFFIX)) continue;
    const stored = parseEntry(await readFile(path, 'utf8'));
    if (stored === null) {
      // The chain still tells whether it was paid, so one damaged file need not stop everything.
      log.error('journal_file_unreadable', { path });
      continue;
    }
    const { chainId: writtenFor, raw: _, ...entry } = stored;
    if (writtenFor !== chainId) {
      throw new Error(
        `FACILITATOR_DATA_DIR holds settlements of chain ${writtenFor}; use another folder for ${chainId}`,
      );
    }
    entries.set(nameOf(entry), entry);
  }
  return entries;
}
