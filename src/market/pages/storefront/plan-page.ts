import { AISLES } from '../../../contract/vocabulary.ts';
import { decodeComponent, readQuery, type Target } from '../../../platform/http/request-target.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { EventTail } from '../../events/event-tail.ts';
import { planEvents } from '../live/events-page.ts';
import { planModeration } from '../live/moderation/moderation-page.ts';
import { planWindow } from '../live/window-page.ts';
import { planFeed } from './feed.ts';
import { planFront } from './front-page.ts';
import { planListing } from './listing-page.ts';
import type { PagePlan } from './page-plan.ts';
import { readShelfAddress } from './shelf-address.ts';
import { planShelves } from './shelves-page.ts';
import { planMerchants, planStore } from './store-page.ts';

/** Every address here but the front page, which programs have too. */
export const STOREFRONT_PATHS = [
  '/shelves',
  '/shelves/:aisle',
  '/listing/:id',
  '/store/:handle',
  '/merchants',
  '/feed.atom',
  '/window',
  '/events',
  '/moderation',
] as const;

/** What to do for an address; null where it is not one of ours. Refuses what nothing can be found by. */
export function planPage({ path, query }: Pick<Target, 'path' | 'query'>, events: EventTail): PagePlan | null {
  const [, place = '', name, ...more] = path.split('/');
  if (more.length > 0) return null;
  if (name === undefined) return planPlace(place, query, events);
  if (name === '') return null;
  if (place === 'shelves') return planAisle(name, query);
  if (place === 'listing') return planListing(name, readQuery(query)['comments_after_id'] ?? '');
  if (place !== 'store') return null;
  const handle = decodeComponent(name);
  if (handle === null) throw new Refusal('not_found', { detail: 'No store has that name.' });
  return planStore(handle, readQuery(query)['before_id'] ?? '');
}

function planPlace(place: string, query: string, events: EventTail): PagePlan | null {
  switch (place) {
    case '':
      return planFront(events);
    case 'shelves':
      return planShelves(readShelfAddress(null, readQuery(query)), '/shelves');
    case 'merchants':
      return planMerchants(readQuery(query)['after_id'] ?? '');
    case 'feed.atom':
      return planFeed();
    case 'window':
      return planWindow();
    case 'events':
      return planEvents(readQuery(query));
    case 'moderation':
      return planModeration(readQuery(query));
    default:
      return null;
  }
}

function planAisle(name: string, query: string): PagePlan {
  const aisle = AISLES.find((one) => one === name);
  if (aisle === undefined) throw new Refusal('not_found', { detail: 'There is no aisle of that name.' });
  return planShelves(readShelfAddress(aisle, readQuery(query)), '/shelves/:aisle');
}
