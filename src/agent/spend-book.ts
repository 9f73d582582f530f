import { join } from 'node:path';
import type { Hex } from 'viem';
import { sayUsdc } from '../contract/money.ts';
import { own } from '../contract/own-words.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { ProofStore } from '../sdk/payments/proof-store.ts';
import { AgentError, PolicyRefused, refusedFile } from './agent-error.ts';
import { dataFolder, type Env, homeFolder } from './folders.ts';
import { type FileLock, lockFile } from './lock-file.ts';
import { findUnsafeFolder } from './own-file.ts';
import { howToChange, type Policy } from './policy.ts';
import {
  asOf,
  asVerified,
  countSpend,
  dayOf,
  digestOf,
  finishedRecord,
  isUnsigned,
  keepsExisting,
  type RecordFiles,
  type RecordName,
  recordFiles,
  type SpendOutcome,
  type SpendPlan,
  type SpendRecord,
  type Unpaid,
} from './spend-record.ts';

/** The book of one wallet: every payment it made or is making from this machine, one file each. */
export interface SpendBook {
  readonly address: Hex;
  /** `$XDG_DATA_HOME/openaisle/<address>`. */
  readonly folder: string;
  /** All records, newest first. */
  list(): Promise<SpendRecord[]>;
  /** Units that were paid or may still be paid today (UTC), what is only reserved included. */
  spentToday(): Promise<bigint>;
  /**
   * Makes the caller the only one that works on what the key names, here and in other processes, and forgets a reservation that was never
   * signed for. Throws `purchase_in_use` when another process works on it.
   */
  hold<T>(key: string, work: (held: HeldSpend) => Promise<T>): Promise<T>;
  /** Takes in a record of another copy of this book. False: the book keeps what it has under this key, as `keepsExisting` says. */
  restore(record: SpendRecord): Promise<boolean>;
  /** The file of a record. */
  pathOf(record: SpendRecord): string;
}

/** What one key names, while this caller alone works on it. */
export interface HeldSpend {
  /** The newest; null: nothing was paid or reserved under this key. */
  readonly record: SpendRecord | null;
  /** The one that was signed for before the newest. */
  readonly previous: SpendRecord | null;
  /** True once a signature under the present reservation may exist. */
  readonly signed: boolean;
  /** Puts the sum aside, durably. Throws `PolicyRefused` when the day's total would pass the limit. */
  reserve(plan: SpendPlan, policy: Policy): Promise<void>;
  /** To be called before each signature that can move money: true once per reservation, while it stands in the book, on the day that it counts for. */
  takeSignature(): Promise<boolean>;
  /** For the SDK. `clear` does nothing: the proof goes when the goods are on the disk, by `settle`. */
  readonly proofStore: ProofStore;
  /** `unpaid`: where they came without a payment. */
  finishSpend(outcome: SpendOutcome): Promise<void>;
  /** Keeps the market's word that what was signed is not paid. */
  noteUnpaid(unpaid: Unpaid): Promise<void>;
  /** To be called before the same signature is sent once more: a word of before does not hold after that. */
  noteSentAgain(): Promise<void>;
  /** Keeps that the market confirmed what an import brought. */
  noteVerified(): Promise<void>;
}

export interface BookOptions {
  env: Env;
  address: Hex;
  environment?: Pick<Environment, 'now' | 'deadline'>;
}

/** Reservations take milliseconds; who holds the lock longer is stopped or broken. */
const LONGEST_WAIT_MS = 30_000;

export function openSpendBook({ env, address, environment = systemEnvironment }: BookOptions): SpendBook {
  const folder = join(dataFolder(env), address.toLowerCase());
  const files = recordFiles(join(folder, 'spends'));
  const lockBook = (): Promise<FileLock> =>
    lockFile(join(files.folder, 'book'), { until: environment.deadline(LONGEST_WAIT_MS), needed: true });
  const context: Context = { files, lockBook, now: environment.now };
  /** Refuses a book that others can change: without the records of a day its limit would begin anew. */
  const mustBeOurs = async (): Promise<void> => {
    const fault = await findUnsafeFolder(join(files.folder, 'any'), homeFolder(env));
    if (fault !== null) throw refusedFile(own`The book of payments is not safe: ${fault.why}`, fault.nextStep);
  };
  return {
    address,
    folder,
    list: async () => {
      const records = await readAll(files, await files.names());
      const nowMs = environment.now();
      return records.map((record) => asOf(record, nowMs)).toSorted((a, b) => (a.reserved_at < b.reserved_at ? 1 : -1));
    },
    spentToday: async () => (await countDay(context, null)).counted,
    pathOf: files.pathOf,
    hold: async (key, work) => {
      await files.open();
      await mustBeOurs();
      const lock = await lockRecord(context, key);
      try {
        const held = await holdSpend(context, key);
        try {
          return await work(held);
        } finally {
          await held.forgetUnsigned();
        }
      } finally {
        await lock.release();
      }
    },
    restore: async (record) => {
      await files.open();
      const lock = await lockRecord(context, record.key);
      try {
        const names = (await files.names()).filter(({ digest }) => digest === digestOf(record.key));
        const known = (await readAll(files, names)).filter((one) => !isUnsigned(one));
        if (known.some((one) => keepsExisting(one, record))) return false;
        await files.replace(record);
        return true;
      } finally {
        await lock.release();
      }
    },
  };
}

interface Context {
  files: RecordFiles;
  lockBook(): Promise<FileLock>;
  now(): number;
}

// Under the book's lock: a count of the day tries the locks of records for a moment, and that must not refuse a purchase.
async function lockRecord({ files, lockBook }: Context, key: string): Promise<FileLock> {
  const book = await lockBook();
  try {
    const lock = await tryLock(files, digestOf(key));
    if (lock !== null) return lock;
    throw new AgentError('wrong_use', {
      reason: 'purchase_in_use',
      title: own`Another openaisle is working on the same payment`,
      nextStep: own`Wait until it has ended, then run this again: it goes on, and pays nothing twice.`,
    });
  } finally {
    await book.release();
  }
}

async function tryLock(files: RecordFiles, digest: string): Promise<FileLock | null> {
  try {
    return await lockFile(join(files.folder, digest), { needed: true });
  } catch (error) {
    if (error instanceof AgentError && error.parts.reason === 'file_in_use') return null;
    throw error;
  }
}

async function readAll(files: RecordFiles, names: readonly RecordName[]): Promise<SpendRecord[]> {
  const records: SpendRecord[] = [];
  for (const name of names) {
    const record = await files.read(name);
    if (record !== null) records.push(record);
  }
  return records;
}

interface Day {
  counted: bigint;
  /** Signed and never paid, by no other word than the market's. */
  saidUnpaid: bigint;
}

/**
 * Counts today and later. With a key: the book's lock is held, and reservations of processes that died before they signed are taken
 * away.
 */
async function countDay({ files, now }: Context, key: string | null): Promise<Day> {
  const today = dayOf(now());
  const own = key === null ? null : digestOf(key);
  const day: Day = { counted: 0n, saidUnpaid: 0n };
  for (const name of (await files.names()).filter(({ day }) => day >= today)) {
    let record = await files.read(name);
    if (record !== null && isUnsigned(record) && own !== null && name.digest !== own) {
      const lock = await tryLock(files, name.digest);
      if (lock !== null) {
        try {
          record = await files.read(name);
          if (record !== null && isUnsigned(record)) {
            await files.remove(record);
            record = null;
          }
        } finally {
          await lock.release();
        }
      }
    }
    if (record === null) continue;
    const { counted, saidUnpaid } = countSpend(record, now());
    day.counted += counted;
    day.saidUnpaid += saidUnpaid;
  }
  return day;
}

interface Held extends HeldSpend {
  forgetUnsigned(): Promise<void>;
}

async function holdSpend(context: Context, key: string): Promise<Held> {
  const { files, now } = context;
  const known = await readHeld(context, key);
  /** The newest that was signed for, or needed no signature; and the one before it. */
  let [latest = null, previous = null] = known;
  let record = latest;
  let taken = true;
  const write = async (next: SpendRecord): Promise<void> => {
    record = next;
    await files.replace(next);
  };
  const own = (): SpendRecord => {
    if (record === null) throw new TypeError('nothing was reserved');
    return record;
  };

  return {
    get record() {
      return record;
    },
    get previous() {
      return previous;
    },
    get signed() {
      return taken;
    },
    reserve: async (plan, policy) => {
      const instead = record !== null && isUnsigned(record) ? record : null;
      record = await reserveRecord(context, policy, recordOf(plan, (latest?.sequence ?? 0) + 1, now()), instead);
      taken = false;
    },
    takeSignature: async () => {
      if (record === null || !isUnsigned(record) || taken) return false;
      if (dayOf(Date.parse(record.reserved_at)) !== dayOf(now())) return false;
      taken = true;
      // Where locks do not reach, as between two containers, another process may have taken it for one of a dead process.
      return await files.isThere(record);
    },
    proofStore: {
      load: async () => record?.saved ?? null,
      save: async (_, saved) => {
        const before = latest;
        const signed: SpendRecord = { ...own(), state: 'signed', saved };
        await write(signed);
        latest = signed;
        if (before === null || before.sequence >= signed.sequence) return;
        previous = before;
        if (before.state === 'signed') await files.replace({ ...before, state: 'over' });
      },
      clear: async () => {},
    },
    finishSpend: async (outcome) => write(finishedRecord(own(), outcome)),
    noteUnpaid: async (unpaid) => write({ ...own(), unpaid }),
    noteSentAgain: async () => {
      const { unpaid, ...rest } = own();
      if (unpaid !== undefined && rest.state === 'signed')
        await write({ ...rest, unpaid: { ...unpaid, sent_again: true } });
    },
    noteVerified: async () => write(asVerified(own())),
    forgetUnsigned: async () => {
      if (record !== null && isUnsigned(record)) await files.remove(record);
    },
  };
}

/** Puts the sum of a record aside while no other is counted, in the place of one that was not signed for. */
async function reserveRecord(
  context: Context,
  policy: Policy,
  made: SpendRecord,
  instead: SpendRecord | null,
): Promise<SpendRecord> {
  const { files, lockBook } = context;
  const book = await lockBook();
  try {
    if (instead !== null) await files.remove(instead);
    mustFit(policy, await countDay(context, made.key), BigInt(made.amount_units));
    await files.create(made);
    return made;
  } finally {
    await book.release();
  }
}

/** Reads the records of one key, the newest first, and forgets those that were never signed for. */
async function readHeld({ files, now }: Context, key: string): Promise<SpendRecord[]> {
  const names = (await files.names()).filter(({ digest }) => digest === digestOf(key));
  const found = (await readAll(files, names)).toSorted((a, b) => b.sequence - a.sequence);
  const known: SpendRecord[] = [];
  for (const record of found) {
    if (isUnsigned(record)) {
      await files.remove(record);
      continue;
    }
    // A process may have been killed between the record of a second payment and the end of the first. Another book's word ends none.
    const isReplaced = record.state === 'signed' && known.some(({ imported }) => imported === undefined);
    const current: SpendRecord = isReplaced ? { ...record, state: 'over' } : asOf(record, now());
    if (current.state !== record.state) await files.replace(current);
    known.push(current);
  }
  return known;
}

/** A market that lies about what ended unpaid gains one more day's sum by it, and no more. */
function mustFit(policy: Policy, { counted: known, saidUnpaid }: Day, amountUnits: bigint): void {
  const beyond = saidUnpaid > policy.perDayUnits ? saidUnpaid - policy.perDayUnits : 0n;
  const counted = known + beyond;
  if (amountUnits === 0n || counted + amountUnits <= policy.perDayUnits) return;
  const left = policy.perDayUnits > counted ? policy.perDayUnits - counted : 0n;
  throw new PolicyRefused(
    'above_per_day',
    own`${sayUsdc(amountUnits)} is above the ${sayUsdc(left)} that are left of today’s ${sayUsdc(policy.perDayUnits)}`,
    own`The next day of UTC begins a new sum. ${howToChange(policy)}`,
  );
}

function recordOf({ amountUnits, ...plan }: SpendPlan, sequence: number, nowMs: number): SpendRecord {
  return {
    version: 1,
    ...plan,
    sequence,
    amount_units: amountUnits.toString(),
    reserved_at: new Date(nowMs).toISOString(),
    state: 'reserved',
    saved: null,
    delivery: null,
    listed: null,
  };
}
