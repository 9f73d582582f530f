import type { StreamedFilter } from '../store.ts';
import type { StreamRow } from './store.ts';

/** One object for all who ask for the same part of the log. */
export interface StreamFilter {
  key: string;
  of: StreamedFilter;
  takes(event: Pick<StreamRow, 'kind' | 'in_door' | 'in_window'>): boolean;
}

const known = new Map<string, StreamFilter>();

/** Kinds and scopes are few, so none is ever forgotten. */
export function streamFilter(of: StreamedFilter): StreamFilter {
  const key = of === null ? 'all' : 'kind' in of ? `kind ${of.kind}` : `scope ${of.scope}`;
  const filter = known.get(key) ?? { key, of, takes: testOf(of) };
  known.set(key, filter);
  return filter;
}

function testOf(of: StreamedFilter): StreamFilter['takes'] {
  if (of === null) return () => true;
  if ('kind' in of) return ({ kind }) => kind === of.kind;
  return of.scope === 'door' ? ({ in_door: inDoor }) => inDoor : ({ in_window: inWindow }) => inWindow;
}
