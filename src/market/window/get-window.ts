import type { Endpoints } from '../../contract/index.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MemoryRead } from '../catalog/serve/memory-read.ts';
import type { MarketRead } from '../context.ts';
import type { EventTail } from '../events/event-tail.ts';
import { windowParts } from './window-parts.ts';

export function windowFromMemory({ answers, shelfCursors }: MarketCatalog, events: EventTail): MemoryRead {
  return ({ query, asked }) =>
    query === '' ? answers.fromMemory(asked, (model) => windowParts(model, shelfCursors, events)) : null;
}

export function makeGetWindow(catalog: MarketCatalog, events: EventTail): MarketRead<Endpoints['getWindow']> {
  return async (_market, call) => ({
    status: 200,
    prepared: await catalog.answers.full({ target: call.path, acceptsGzip: call.acceptsGzip }, (model) =>
      windowParts(model, catalog.shelfCursors, events),
    ),
  });
}
