import type { CopiedEvent } from '../../platform/log-copy/copied-event.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import { ACT_KINDS, type Act, type Numbered } from './store.ts';

const DOINGS: readonly string[] = ['insert', 'update', 'delete'];

interface Told {
  act?: unknown;
  kind?: unknown;
  with?: unknown;
  row: { id: number; kind?: string; kept_event_id?: number };
}

function toldBy({ canonical }: Pick<Act, 'canonical'>): Told {
  return JSON.parse(canonical);
}

/**
 * What events of the log of acts tell. A recovery among them has put back, under new ids, what it had lost: that is left out. Refuses
 * what this version does not know, or it would put back a part.
 */
export function readActs(events: readonly CopiedEvent[]): Act[] {
  let acts: Act[] = [];
  for (const { id: eventId, canonical: bytes } of events) {
    const canonical = bytes.toString('utf8');
    const told = toldBy({ canonical });
    const kept = told.kind === 'recoveries' ? told.row.kept_event_id : undefined;
    if (kept !== undefined) acts = acts.filter((one) => one.eventId <= BigInt(kept));
    else acts.push({ eventId, canonical, ...whatOf(eventId, told) });
  }
  return acts;
}

function whatOf(eventId: bigint, told: Told): Pick<Act, 'act' | 'kind' | 'group'> {
  const kind = ACT_KINDS.find((name) => name === told.kind);
  if (kind === undefined || !DOINGS.includes(String(told.act)) || typeof told.with !== 'string') {
    throw new CommandRefused(`event ${eventId} of the copies is no act of a city: name the copies of this city`);
  }
  return { act: told.act as Act['act'], kind, group: told.with };
}

/** The highest id of that table that some acts tell of, or that a recovery among them has kept from being given out; 0: none. */
export function highestOf(table: Numbered, acts: readonly Act[]): bigint {
  let highest = 0n;
  for (const act of acts) {
    if (act.kind !== table && act.kind !== 'id_floors') continue;
    const { row } = toldBy(act);
    if (act.kind === 'id_floors' && row.kind !== table) continue;
    if (BigInt(row.id) > highest) highest = BigInt(row.id);
  }
  return highest;
}
