import { AISLES } from '../../src/contract/vocabulary.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Dice } from './dice.ts';
import { createKindList, DISTINCT, type Drawn, type KindList, kindOf, shelfPath } from './draw-kinds.ts';
import { GZIP_HEADERS, JSON_HEADERS, type PageKind } from './page-request.ts';
import type { Seeded } from './seed.ts';
import { handleOf } from './seed-around.ts';
import { addShelfKinds } from './shelf-kinds.ts';
import { deepPlaces } from './walk.ts';

const OF_EACH_AISLE = 60;
const MINUTE_MS = 60_000;

/** Returns every measured kind of page by name. `seconds` is the total duration of a measurement. */
export function pageKinds(url: string, seeded: Seeded, seconds: number): KindList['kinds'] {
  const list = createKindList(url, seeded);
  const { kinds, add, many } = list;
  const { listings, sellers, vocabulary } = seeded;
  addShelfKinds(list, seeded);
  add('newest, deep', async (dice) => kindOf('newest, deep', await deepPages(url, dice, { sort: 'new' }, DISTINCT)));
  add('karma, deep', async (dice) => kindOf('karma, deep', await deepPages(url, dice, { sort: 'karma' }, DISTINCT)));
  add('aisle, deep', async (dice) => kindOf('aisle, deep', await deepInAisles(url, dice)));
  add('aisle, deep, gzip', async (dice) => kindOf('aisle, deep, gzip', await deepInAisles(url, dice), GZIP_HEADERS));
  add('newest, gzip', () => kindOf('newest, gzip', [['/api/shelves', null]], GZIP_HEADERS));
  add('304', () => notModified(url, seconds));
  many('listing', (dice) => {
    const listing = 1 + dice.int(listings);
    return [`/api/listing/${listing}`, { listing }];
  });
  many('store', (dice) => [`/api/store/${handleOf(1 + dice.int(sellers), vocabulary)}?limit=50`, null]);
  many('merchants', (dice) => {
    const after = 500 * dice.int(Math.max(1, Math.floor(sellers / 500)));
    return [after === 0 ? '/api/merchants' : `/api/merchants?after_id=${after}`, null];
  });
  add('window', () => kindOf('window', [['/api/window', null]]));
  add('front door', () => kindOf('front door', [['/', null]], { accept: '*/*' }));
  return kinds;
}

interface Shelf {
  sort: 'new' | 'karma';
  aisle?: string;
}

async function deepPages(url: string, dice: Dice, shelf: Shelf, count: number): Promise<Drawn[]> {
  const { sort, aisle } = shelf;
  const path = shelfPath({ ...(aisle === undefined ? {} : { aisle }), ...(sort === 'new' ? {} : { sort }) });
  const places = await deepPlaces(url, path, dice, count);
  return places.map(({ path: place, after }) => [place, { ...shelf, after }]);
}

async function deepInAisles(url: string, dice: Dice): Promise<Drawn[]> {
  const pages: Drawn[] = [];
  for (const aisle of AISLES) pages.push(...(await deepPages(url, dice, { sort: 'new', aisle }, OF_EACH_AISLE)));
  return pages;
}

/** The first page's cursor contains the current minute, so the page's ETag changes every minute and is read again. */
async function notModified(url: string, seconds: number): Promise<PageKind> {
  const left = MINUTE_MS - (systemClock.now() % MINUTE_MS);
  if (left < seconds * 1_000 && seconds * 1_000 < MINUTE_MS) await systemClock.sleep(left + 50);
  const answer = await fetch(`${url}/api/shelves`, { headers: { ...JSON_HEADERS, 'accept-encoding': 'identity' } });
  await answer.body?.cancel();
  const headers = { ...JSON_HEADERS, 'if-none-match': answer.headers.get('etag') ?? '' };
  return { ...kindOf('304', [['/api/shelves', null]], headers), status: 304 };
}
