import { join } from 'node:path';
import type { Hex } from 'viem';
import { formatUsdc } from '../contract/money.ts';
import { own } from '../contract/own-words.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { ProofStore } from '../sdk/payments/proof-store.ts';
import { AgentError, PolicyRefused, refusedFile } from './agent-error.ts';
import { dataFolder, type Env, homeFolder } from './folders.ts';
import { type FileLock, lockFile } from './lock-file.ts';
import { findUnsafeFolder } from './own-file.ts';
import { type Policy, policyChangeHint } from './policy.ts';
import {
  asVerified,
  countSpend,
  dayOf,
  digestOf,
  finishedRecord,
  isUnsigned,
  keepsExisting,
  type RecordFiles,
  type RecordName,
  recordAsOf,
  recordFiles,
  type SpendOutcome,
  type SpendPlan,
  type SpendRecord,
  type Unpaid,
} from './spend-record.ts';

/** One wallet's payments from this machine, finished or in progress. Each has its own file. */
export interface SpendBook {
  readonly address: Hex;
  /** `<address>` in `dataFolder`. */
  readonly folder: string;
  /** Newest first. */
  list(): Promise<SpendRecord[]>;
  /** Units paid or still payable today (UTC), including reservations. */
  spentToday(): Promise<bigint>;
  /**
   * Locks the payments under a key, in this and other processes, while `work` runs; then drops a reservation that was never signed for.
   * Throws `purchase_in_use` if another process or call holds the lock.
   */
  hold<T>(key: string, work: (spend: HeldSpend) => Promise<T>): Promise<T>;
  /** Adds an imported record. Returns false if the book keeps its own record of that key (see `keepsExisting`). */
  restore(record: SpendRecord): Promise<boolean>;
  pathOf(record: SpendRecord): string;
}

/** The payments under one key, locked by this caller. */
export interface HeldSpend {
  /** The newest record. Null if there is none under this key. */
  readonly record: SpendRecord | null;
  /** The signed record before the newest signed one. */
  readonly previous: SpendRecord | null;
  /** True once a signature for the current reservation may exist. */
  readonly signed: boolean;
  /** Reserves the sum durably. Throws `PolicyRefused` if the day's total would exceed the limit. */
  reserve(plan: SpendPlan, policy: Policy): Promise<void>;
  /** Call before each signature that can move money. Returns true at most once per reservation, on its day and while its file exists. */
  takeSignature(): Promise<boolean>;
  /** For the SDK. `clear` does nothing, because `finishSpend` drops the proof once the goods are on disk. */
  readonly proofStore: ProofStore;
  /** Closes the record. `unpaid` is set if the goods came without a payment. */
  finishSpend(outcome: SpendOutcome): Promise<void>;
  /** Records the market's statement that the signed payment wasn't made. */
  noteUnpaid(unpaid: Unpaid): Promise<void>;
  /** Call before sending the same signature again, because sending it makes earlier statements that it is unpaid obsolete. */
  noteSentAgain(): Promise<void>;
  noteVerified(): Promise<void>;
  /** Replaces the body of a fee that is under way, because its goods were uploaded again. */
  noteListing(listing: NonNullable<SpendRecord['listing']>): Promise<void>;
}

export interface BookOptions {
  env: Env;
  address: Hex;
  environment?: Pick<Environment, 'now' | 'deadline'>;
}

/** Reservations take milliseconds, so a longer wait means a stopped or broken process. */
const LONGEST_WAIT_MS = 30_000;

export function openSpendBook({ env, address, environment = systemEnvironment }: BookOptions): SpendBook {
  const folder = join(dataFolder(env), address.toLowerCase());
  const files = recordFiles(join(folder, 'spends'));
  const lockBook = (): Promise<FileLock> =>
    lockFile(join(files.folder, 'book'), { until: environment.deadline(LONGEST_WAIT_MS), needed: true });
  const context: Context = { files, lockBook, now: environment.now };
  /** Refuses a book that others can change, because they could reset the day's limit by removing records. */
  const mustBeOurs = async (): Promise<void> => {
    const fault = await findUnsafeFolder(join(files.folder, 'any'), homeFolder(env));
    if (fault !== null) throw refusedFile(own`The spend book isn’t safe: ${fault.why}`, fault.nextStep);
  };
  return {
    address,
    folder,
    list: async () => {
      const records = await readAll(files, await files.names());
      const nowMs = environment.now();
      return records
        .map((record) => recordAsOf(record, nowMs))
        .toSorted((a, b) => (a.reserved_at < b.reserved_at ? 1 : -1));
    },
    spentToday: async () => (await countDay(context, null)).counted,
    pathOf: files.pathOf,
    hold: async (key, work) => {
      await files.open();
      await mustBeOurs();
      const lock = await lockRecord(context, key);
      try {
        const spend = await holdSpend(context, key);
        try {
          return await work(spend);
        } finally {
          await spend.forgetUnsigned();
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
        const existing = (await readAll(files, names)).filter((one) => !isUnsigned(one));
        if (existing.some((one) => keepsExisting(one, record))) return false;
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

// Takes the book's lock first, because counting the day briefly locks other records, which must not make a purchase fail.
async function lockRecord({ files, lockBook }: Context, key: string): Promise<FileLock> {
  const book = await lockBook();
  try {
    const lock = await tryLock(files, digestOf(key));
    if (lock !== null) return lock;
    throw new AgentError('wrong_use', {
      reason: 'purchase_in_use',
      title: own`Another openaisle process is working on this payment`,
      nextStep: own`Wait until it ends, then run this again to resume: nothing is paid twice.`,
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
  /** Sum of signed payments that are unpaid according to the market alone. */
  saidUnpaid: bigint;
}

/**
 * Sums up today's and later records. With a key, also removes unsigned reservations of dead processes, so call it under the book's lock.
 */
async function countDay({ files, now }: Context, key: string | null): Promise<Day> {
  const today = dayOf(now());
  const ownDigest = key === null ? null : digestOf(key);
  const day: Day = { counted: 0n, saidUnpaid: 0n };
  for (const name of (await files.names()).filter(({ day }) => day >= today)) {
    let record = await files.read(name);
    if (record !== null && isUnsigned(record) && ownDigest !== null && name.digest !== ownDigest) {
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

interface OpenSpend extends HeldSpend {
  forgetUnsigned(): Promise<void>;
}

async function holdSpend(context: Context, key: string): Promise<OpenSpend> {
  const { files, now } = context;
  /** The two newest records that were signed for or needed no signature. */
  let [latest = null, previous = null] = await loadSigned(context, key);
  let record = latest;
  let signatureTaken = true;
  const write = async (next: SpendRecord): Promise<void> => {
    record = next;
    await files.replace(next);
  };
  const current = (): SpendRecord => {
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
      return signatureTaken;
    },
    reserve: async (plan, policy) => {
      const unsigned = record !== null && isUnsigned(record) ? record : null;
      record = await reserveRecord(context, policy, recordOf(plan, (latest?.sequence ?? 0) + 1, now()), unsigned);
      signatureTaken = false;
    },
    takeSignature: async () => {
      if (record === null || !isUnsigned(record) || signatureTaken) return false;
      if (dayOf(Date.parse(record.reserved_at)) !== dayOf(now())) return false;
      signatureTaken = true;
      // Containers may not share locks, so another process may have removed the reservation as a dead process's.
      return await files.isThere(record);
    },
    proofStore: {
      load: async () => record?.saved ?? null,
      save: async (_, saved) => {
        const before = latest;
        const signed: SpendRecord = { ...current(), state: 'signed', saved };
        await write(signed);
        latest = signed;
        if (before === null || before.sequence >= signed.sequence) return;
        previous = before;
        if (before.state === 'signed') await files.replace({ ...before, state: 'over' });
      },
      clear: async () => {},
    },
    finishSpend: async (outcome) => write(finishedRecord(current(), outcome)),
    noteUnpaid: async (unpaid) => write({ ...current(), unpaid }),
    noteSentAgain: async () => {
      const { unpaid, ...rest } = current();
      if (unpaid !== undefined && rest.state === 'signed')
        await write({ ...rest, unpaid: { ...unpaid, sent_again: true } });
    },
    noteVerified: async () => write(asVerified(current())),
    noteListing: async (listing) => write({ ...current(), listing }),
    forgetUnsigned: async () => {
      if (record !== null && isUnsigned(record)) await files.remove(record);
    },
  };
}

/** Reserves a record's sum under the book's lock, replacing an unsigned reservation. */
async function reserveRecord(
  context: Context,
  policy: Policy,
  made: SpendRecord,
  replaced: SpendRecord | null,
): Promise<SpendRecord> {
  const { files, lockBook } = context;
  const book = await lockBook();
  try {
    if (replaced !== null) await files.remove(replaced);
    mustFitDay(policy, await countDay(context, made.key), BigInt(made.amount_units));
    await files.create(made);
    return made;
  } finally {
    await book.release();
  }
}

/** Loads one key's records, newest first. Deletes unsigned ones and saves changes of state. */
async function loadSigned({ files, now }: Context, key: string): Promise<SpendRecord[]> {
  const names = (await files.names()).filter(({ digest }) => digest === digestOf(key));
  const records = (await readAll(files, names)).toSorted((a, b) => b.sequence - a.sequence);
  const signed: SpendRecord[] = [];
  for (const record of records) {
    if (isUnsigned(record)) {
      await files.remove(record);
      continue;
    }
    // A process may have been killed between saving a second payment and marking the first as over. Imported records don't replace ours.
    const isReplaced = record.state === 'signed' && signed.some(({ imported }) => imported === undefined);
    const current: SpendRecord = isReplaced ? { ...record, state: 'over' } : recordAsOf(record, now());
    if (current.state !== record.state) await files.replace(current);
    signed.push(current);
  }
  return signed;
}

/** Trusts the market's word that payments ended unpaid only up to one more day's sum, in case it lies. */
function mustFitDay(policy: Policy, { counted: paid, saidUnpaid }: Day, amountUnits: bigint): void {
  const beyond = saidUnpaid > policy.perDayUnits ? saidUnpaid - policy.perDayUnits : 0n;
  const counted = paid + beyond;
  if (amountUnits === 0n || counted + amountUnits <= policy.perDayUnits) return;
  const left = policy.perDayUnits > counted ? policy.perDayUnits - counted : 0n;
  throw new PolicyRefused(
    'above_per_day',
    own`${formatUsdc(amountUnits)} is more than the ${formatUsdc(left)} left of today’s ${formatUsdc(policy.perDayUnits)}`,
    own`The limit resets at midnight UTC. ${policyChangeHint(policy)}`,
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
