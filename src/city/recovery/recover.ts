import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/database/database.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import type { Log } from '../../platform/log.ts';
import type { CopiedEvent } from '../../platform/log-copy/log-copy.ts';
import { findHighest, raiseFloor } from '../../platform/log-copy/store.ts';
import { findLastCommonId } from '../../platform/log-copy/watch-history.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import * as store from './store.ts';
import { ACT_KINDS, type Act, type Numbered } from './store.ts';

/** What may have been shown within the second in which it was not yet copied. */
const COPIED_MARGIN = 1_000n;
/** Where there is no copy. */
const UNKNOWN_MARGIN = 1_000_000n;

export interface RecoverOptions {
  reason: string;
  /** Of all hosts, in the order of ids; null: there is none left. */
  copied: readonly CopiedEvent[] | null;
  /** Takes the books as they stand: nothing is put back. */
  asItStands: boolean;
}

export interface Recovered {
  status: 'recovered';
  recovery_id: number;
  kept_event_id: number;
  next_event_id: number;
  acts: { lost: number; put_back: number };
  /** Residents that were lost and are not put back: their handles stay theirs. */
  handles_held: number;
}

/**
 * Ends a loss of history, in one transaction: what the copies tell of is put back as it was, act by act and under the constraints of
 * the books, and no id that may have been shown is given out again. What is undecided then goes on by the chain as ever.
 */
export async function recover(
  { database, clock, log }: { database: Database; clock: Clock; log: Log },
  { reason, copied, asItStands }: RecoverOptions,
): Promise<Recovered> {
  const now = new Date(clock.now());
  const recovered = await database.transaction(
    async (tx) => {
      for (const key of store.NUMBERED) await tx.lock(key);
      await store.lockActs(tx);
      const newest = await store.readNewestEventId(tx);
      const kept = copied === null ? newest : await findLastCommonId(tx, copied, newest);
      const events = (copied ?? []).filter(({ id }) => id > kept);
      const acts = readActs(events);
      const margin = copied === null ? UNKNOWN_MARGIN : COPIED_MARGIN;
      const eventId = [newest, events.at(-1)?.id ?? 0n].reduce((a, b) => (a > b ? a : b)) + margin + 1n;
      const found = { lost: acts.length, put_back: asItStands ? 0 : acts.length };
      const id = await store.insertRecovery(tx, { reason, keptEventId: kept, eventId, found, now });
      await raiseFloor(tx, 'events', eventId - 1n);
      await store.endStages(tx, now);
      // Before anything else is logged: it says what has become of the acts that were lost.
      await store.endGroup(tx);
      if (!asItStands) await putBack(tx, acts);
      await raiseIds(tx, acts, margin);
      const held = asItStands ? await holdHandles(tx, acts) : 0;
      return { id, kept, eventId, acts: found, held };
    },
    { statementTimeoutMs: 0 },
  );
  log.warn('city_command', { name: 'recover', reason, count: recovered.acts.put_back });
  return {
    status: 'recovered',
    recovery_id: Number(recovered.id),
    kept_event_id: Number(recovered.kept),
    next_event_id: Number(recovered.eventId),
    acts: recovered.acts,
    handles_held: recovered.held,
  };
}

/** Transaction by transaction, as they were committed. All of it, or nothing at all. */
async function putBack(tx: Tx, acts: readonly store.Act[]): Promise<void> {
  let group: string | null = null;
  for (const act of acts) {
    if (act.group !== group) {
      if (group !== null) await endGroup(tx, act.eventId);
      await store.beginGroup(tx, act.group);
      group = act.group;
    }
    const touched = await store.putBack(tx, act).catch((error: unknown) => refuseConflict(error, act.eventId));
    if (touched !== 1) throw conflict(act.eventId, 'the row is not there');
  }
  if (group !== null) await endGroup(tx, acts.at(-1)?.eventId ?? 0n);
}

async function endGroup(tx: Tx, upTo: bigint): Promise<void> {
  await store.endGroup(tx).catch((error: unknown) => refuseConflict(error, upTo));
}

function refuseConflict(error: unknown, eventId: bigint): never {
  const broken = constraintOf(error)?.constraint ?? null;
  throw broken === null ? error : conflict(eventId, broken);
}

function conflict(eventId: bigint, what: string): CommandRefused {
  return new CommandRefused(
    `event ${eventId} of the copies does not fit the books (${what}): something was written after the loss. Nothing was changed. Bring up a database from before that, or say --as-it-stands`,
  );
}

async function holdHandles(tx: Tx, acts: readonly store.Act[]): Promise<number> {
  let held = 0;
  for (const act of acts) {
    if (act.kind === 'residents' && act.act === 'insert' && (await store.holdHandle(tx, act))) held += 1;
  }
  return held;
}

async function raiseIds(tx: Tx, acts: readonly store.Act[], margin: bigint): Promise<void> {
  for (const table of store.NUMBERED) {
    const [logged, inBooks] = [highestOf(table, acts), await findHighest(tx, table)];
    const highest = (logged > inBooks ? logged : inBooks) + margin;
    await raiseFloor(tx, table, highest);
    if (table === 'reservations') await store.raiseReservations(tx, highest);
  }
}

const ACT_VERBS: readonly string[] = ['insert', 'update', 'delete'];

interface LoggedAct {
  act?: unknown;
  kind?: unknown;
  with?: unknown;
  row: { id: number; kind?: string; kept_event_id?: number };
}

function parseAct({ canonical }: Pick<Act, 'canonical'>): LoggedAct {
  return JSON.parse(canonical);
}

/**
 * What events of the log of acts tell. A recovery among them has put back, under new ids, what it had lost: that is left out. Refuses
 * what this version does not know, or it would put back a part.
 */
function readActs(events: readonly CopiedEvent[]): Act[] {
  let acts: Act[] = [];
  for (const { id: eventId, canonical: bytes } of events) {
    const canonical = bytes.toString('utf8');
    const logged = parseAct({ canonical });
    const kept = logged.kind === 'recoveries' ? logged.row.kept_event_id : undefined;
    if (kept !== undefined) acts = acts.filter((one) => one.eventId <= BigInt(kept));
    else acts.push({ eventId, canonical, ...whatOf(eventId, logged) });
  }
  return acts;
}

function whatOf(eventId: bigint, logged: LoggedAct): Pick<Act, 'act' | 'kind' | 'group'> {
  const kind = ACT_KINDS.find((name) => name === logged.kind);
  if (kind === undefined || !ACT_VERBS.includes(String(logged.act)) || typeof logged.with !== 'string') {
    throw new CommandRefused(`event ${eventId} of the copies is no act of a city: name the copies of this city`);
  }
  return { act: logged.act as Act['act'], kind, group: logged.with };
}

/** The highest id of that table that some acts tell of, or that a recovery among them has kept from being given out; 0: none. */
function highestOf(table: Numbered, acts: readonly Act[]): bigint {
  let highest = 0n;
  for (const act of acts) {
    if (act.kind !== table && act.kind !== 'id_floors') continue;
    const { row } = parseAct(act);
    if (act.kind === 'id_floors' && row.kind !== table) continue;
    if (BigInt(row.id) > highest) highest = BigInt(row.id);
  }
  return highest;
}
