import type { ReadFromMemory } from '../platform/http/operation.ts';
import { type MemoryCall, type MemoryRead, unlessRefused } from './catalog/answers.ts';
import { listingFromMemory } from './catalog/get-listing.ts';
import { shelvesFromMemory } from './catalog/shelf/browse-shelves.ts';
import { storeFromMemory } from './merchants/get-store.ts';
import { merchantsFromMemory } from './merchants/list-merchants.ts';
import type { MarketParts } from './operations.ts';
import type { OwnWrites } from './own-writes.ts';
import { windowFromMemory } from './window/get-window.ts';

/** The reads that are asked for most. What they leave open, the operations of the same routes answer. */
export function createReadFromMemory(
  { catalog, events }: Pick<MarketParts, 'catalog' | 'events'>,
  ownWrites: Pick<OwnWrites, 'leastVersion'>,
): ReadFromMemory {
  const whole: Readonly<Record<string, MemoryRead>> = {
    '/api/shelves': shelvesFromMemory(catalog),
    '/api/merchants': merchantsFromMemory(catalog),
    '/api/window': windowFromMemory(catalog, events),
  };
  const named: Readonly<Record<string, { route: string; read: MemoryRead }>> = {
    '/api/listing/': { route: '/api/listing/:id', read: listingFromMemory(catalog) },
    '/api/store/': { route: '/api/store/:handle', read: storeFromMemory(catalog) },
  };
  return (request) => {
    const { target, acceptsGzip } = request;
    if (!target.startsWith('/api/')) return null;
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const call = {
      name: path.slice(path.lastIndexOf('/') + 1),
      query: mark < 0 ? '' : target.slice(mark + 1),
      asked: { target, acceptsGzip },
      leastVersion: () => ownWrites.leastVersion(request),
    };
    const read = whole[path];
    if (read !== undefined) return answer(read, call, path);
    const one = named[path.slice(0, path.length - call.name.length)];
    return one === undefined ? null : answer(one.read, call, one.route);
  };

  function answer(read: MemoryRead, call: MemoryCall, route: string) {
    catalog.noteRead();
    const prepared = unlessRefused(() => read(call));
    return prepared && { ...prepared, route };
  }
}
