import type { QuickAnswer, Shortcut } from '../platform/http/prepared.ts';
import { quickListing } from './catalog/serve/quick-listing.ts';
import { createQuickShelves } from './catalog/shelf/quick-shelves.ts';
import type { Market } from './context.ts';
import { quickMerchants } from './merchants/quick-merchants.ts';
import { quickStore } from './merchants/quick-store.ts';
import type { MarketParts } from './operations.ts';
import { createQuickFrontDoor } from './pages/quick-front-door.ts';
import { windowParts } from './window/window-parts.ts';

const LISTING = '/api/listing/';
const STORE = '/api/store/';

/** The reads that are asked for most, out of memory and past everything that need not be done for them. What they leave to the long way, the operations answer. */
export function createQuickReads(
  market: Market,
  { catalog, events }: Pick<MarketParts, 'catalog' | 'events'>,
): Shortcut {
  const { answers, shelfCursors } = catalog;
  const shelves = createQuickShelves(answers, shelfCursors);
  const frontDoor = createQuickFrontDoor(market.config, events);

  return (read) => {
    const { target } = read;
    const again = answers.again(read);
    if (again !== null) return named(routeOfKept(target), again);
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const query = mark < 0 ? '' : target.slice(mark + 1);
    if (path === '/api/shelves') return named(path, shelves(read, query));
    if (path.startsWith(STORE))
      return named('/api/store/:handle', quickStore(answers, read, path.slice(STORE.length), query));
    if (path === '/api/merchants') return named(path, quickMerchants(answers, read, query));
    if (query !== '') return null;
    if (path.startsWith(LISTING)) {
      return named('/api/listing/:id', quickListing(catalog.model(), read, path.slice(LISTING.length)));
    }
    if (path === '/') return named(path, frontDoor(read));
    if (path === '/api/window') {
      return named(
        path,
        answers.quick(read, target, (model) => windowParts(model, shelfCursors, events)),
      );
    }
    return null;
  };
}

/** Of the pages whose bytes are kept. */
function routeOfKept(target: string): string {
  if (target.startsWith('/api/shelves')) return '/api/shelves';
  if (target.startsWith(STORE)) return '/api/store/:handle';
  return target.startsWith('/api/merchants') ? '/api/merchants' : '/api/window';
}

function named(route: string, answer: QuickAnswer | null): QuickAnswer | null {
  if (answer !== null) answer.route = route;
  return answer;
}
