import { lineOf } from '../print.ts';
import { faultsOfPromise, type Goods, type Promised } from '../promises.ts';
import type { LaterTold } from './read-log.ts';

export interface Shown extends Goods {
  merchant: string;
  supersedes: number | null;
  isThing: boolean;
  state: string;
}

const STATES = { removed: 'removed', withdrew: 'withdrawn', sold: 'sold', canceled: 'canceled' } as const;
export type ListedState = 'live' | (typeof STATES)[keyof typeof STATES];

export const stateOf = ({ ending }: Promised): ListedState => (ending === null ? 'live' : STATES[ending.act]);

/** Returns the faults of a row on the shelves. `later` contains events since the log was read. */
export function faultsOnShelf(row: Shown, promised: Promised | undefined, later?: LaterTold): string[] {
  const known = promised ?? later?.promised;
  if (known === undefined) return [`listing ${row.id} has no event that tells of it`];
  const isLive = known.ending === null || later?.states.has('live') === true;
  return [
    ...faultsOfShown(row, known, later),
    ...(isLive ? [] : [`listing ${row.id} is for sale, and ${known.ending?.name} ${known.ending?.act} it`]),
  ];
}

/** Returns the faults of a listing that is not on the shelves. `row` is null if the market does not know the listing. */
export function faultsOffShelf(id: number, row: Shown | null, promised: Promised, later?: LaterTold): string[] {
  if (row === null) return [`listing ${id}, of which ${promised.name} tells, is not there`];
  return [...faultsOfShown(row, promised, later), ...faultsOfState(row, promised, later)];
}

/** Later events explain changed goods only if they name them. Price, wallet, merchant and version never change. */
function faultsOfShown(row: Shown, promised: Promised, later: LaterTold | undefined): string[] {
  const name = `listing ${row.id}`;
  const isExchanged = row.commitment !== null && later?.commitments.has(row.commitment) === true;
  return [
    ...faultsOfPromise(isExchanged ? { ...promised, commitment: row.commitment } : promised, row),
    ...(row.merchant === promised.merchant
      ? []
      : [`${name} is sold by ${lineOf(row.merchant, 64)}, and ${promised.name} says ${lineOf(promised.merchant, 64)}`]),
    ...(row.isThing === promised.isThing ? [] : [`${name} is of another kind than ${promised.name} says`]),
    // Older events lack this field.
    ...(promised.wallet === null || row.supersedes === promised.supersedes
      ? []
      : [
          `${name} supersedes ${row.supersedes ?? 'nothing'}, and ${promised.name} says ${promised.supersedes ?? 'nothing'}`,
        ]),
  ];
}

/** Compares the state with the log. An exception is a thing whose offer is gone from its city: it is `stale` without an event. */
function faultsOfState({ id, state, isThing }: Shown, promised: Promised, later: LaterTold | undefined): string[] {
  const { ending } = promised;
  const states: ReadonlySet<string> = later?.states ?? new Set();
  if ((isThing && state === 'stale') || states.has(state)) return [];
  // The listing left the shelves after this page was made.
  if (ending === null && state === 'live' && states.size > (states.has('live') ? 1 : 0)) return [];
  if (ending === null) return [`listing ${id} is ${state} and not on the shelves, and no event says why`];
  return state === STATES[ending.act] ? [] : [`listing ${id} is ${state}, and ${ending.name} ${ending.act} it`];
}
