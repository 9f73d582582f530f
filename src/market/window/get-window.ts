import type { Endpoints } from '../../contract/index.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import type { EventTail } from '../events/event-tail.ts';
import { windowParts } from './window-parts.ts';

export function makeGetWindow(catalog: MarketCatalog, events: EventTail): MarketRead<Endpoints['getWindow']> {
  return async () => ({
    status: 200,
    prepared: await catalog.answers.full((model) => windowParts(model, catalog.shelfCursors, events)),
  });
}
