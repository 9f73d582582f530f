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

/** Gap left above the highest known event id, for ids that may have been issued in the second before they were copied. */
const COPIED_MARGIN = 1_000n;
/** Gap if no copy of the log is left. */
const UNKNOWN_MARGIN = 1_000_000n;

export interface RecoverOptions {
  reason: string;
  /** Events from the copies of all hosts, by id. Null if no copy is left. */
  copied: readonly CopiedEvent[] | null;
  /** Puts nothing back if true. */
  asItStands: boolean;
}

export interface Recovered {
  status: 'recovered';
  recovery_id: number;
  kept_event_id: number;
  next_event_id: number;
  acts: { lost: number; put_back: number };
  /** Number of lost residents that are not put back. Nobody else can take their handles. */
  handles_held: number;
}

/**
 * Recovers from a loss of history in one transaction. Puts the acts from the copies back one by one, under the database's constraints, and
 * never reissues an id that may have been shown. Undecided offers then continue by the chain as usual.
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
      const counts = { lost: acts.length, put_back: asItStands ? 0 : acts.length };
      const id = await store.insertRecovery(tx, { reason, keptEventId: kept, eventId, counts, now });
      await raiseFloor(tx, 'events', eventId - 1n);
      await store.endRegistrations(tx, now);
      // Log the recovery before the acts, because its event says what became of the lost ones.
      await store.endGroup(tx);
      if (!asItStands) await restoreActs(tx, acts);
      await raiseIds(tx, acts, margin);
      const handlesHeld = asItStands ? await reserveHandles(tx, acts) : 0;
      return { id, kept, eventId, acts: counts, handlesHeld };
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
    handles_held: recovered.handlesHeld,
  };
}

/** Puts acts back in commit order, one original transaction after another. All or nothing. */
async function restoreActs(tx: Tx, acts: readonly store.Act[]): Promise<void> {
  let group: string | null = null;
  for (const act of acts) {
    if (act.group !== group) {
      if (group !== null) await endGroup(tx, act.eventId);
      await store.beginGroup(tx, act.group);
      group = act.group;
    }
    const touched = await store.restoreRow(tx, act).catch((error: unknown) => refuseConflict(error, act.eventId));
    if (touched !== 1) throw recoveryConflict(act.eventId, 'the row is not there');
  }
  if (group !== null) await endGroup(tx, acts.at(-1)?.eventId ?? 0n);
}

async function endGroup(tx: Tx, upTo: bigint): Promise<void> {
  await store.endGroup(tx).catch((error: unknown) => refuseConflict(error, upTo));
}

function refuseConflict(error: unknown, eventId: bigint): never {
  const broken = constraintOf(error)?.constraint ?? null;
  throw broken === null ? error : recoveryConflict(eventId, broken);
}

function recoveryConflict(eventId: bigint, what: string): CommandRefused {
  return new CommandRefused(
    `Event ${eventId} of the copies does not fit the database (${what}), because something was written after the loss. Nothing was changed. Restore a database from before that, or use --as-it-stands`,
  );
}

async function reserveHandles(tx: Tx, acts: readonly store.Act[]): Promise<number> {
  let handlesHeld = 0;
  for (const act of acts) {
    if (act.kind === 'residents' && act.act === 'insert' && (await store.reserveHandle(tx, act))) handlesHeld += 1;
  }
  return handlesHeld;
}

async function raiseIds(tx: Tx, acts: readonly store.Act[], margin: bigint): Promise<void> {
  for (const table of store.NUMBERED) {
    const [logged, inBooks] = [highestOf(table, acts), await findHighest(tx, table)];
    const highest = (logged > inBooks ? logged : inBooks) + margin;
    await raiseFloor(tx, table, highest);
    if (table === 'reservations') await store.raiseReservationSequence(tx, highest);
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
 * Reads acts from the events. If an earlier recovery is among them, the acts that it put back follow as new events, and all others stay
 * lost, so the original acts are left out. Refuses unknown events, because otherwise only a part would be put back.
 */
function readActs(events: readonly CopiedEvent[]): Act[] {
  let acts: Act[] = [];
  for (const { id: eventId, canonical: bytes } of events) {
    const canonical = bytes.toString('utf8');
    const logged = parseAct({ canonical });
    const kept = logged.kind === 'recoveries' ? logged.row.kept_event_id : undefined;
    if (kept !== undefined) acts = acts.filter((one) => one.eventId <= BigInt(kept));
    else acts.push({ eventId, canonical, ...describeAct(eventId, logged) });
  }
  return acts;
}

function describeAct(eventId: bigint, logged: LoggedAct): Pick<Act, 'act' | 'kind' | 'group'> {
  const kind = ACT_KINDS.find((name) => name === logged.kind);
  if (kind === undefined || !ACT_VERBS.includes(String(logged.act)) || typeof logged.with !== 'string') {
    throw new CommandRefused(`Event ${eventId} of the copies is not from a city. Use the copies of this city`);
  }
  return { act: logged.act as Act['act'], kind, group: logged.with };
}

/** Returns the highest id of the table in these acts, or withheld by a recovery among them; 0 if there is none. */
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
