import type { Dice } from './dice.ts';
import { JSON_HEADERS } from './page-request.ts';

/** A page of a shelf and the last row before it. */
export interface Place {
  path: string;
  after: { id: number; votes: number };
}

interface ShelfPage {
  listings: { id: number; votes: number }[];
  next_cursor: string | null;
}

/** Without this header, fetch requests compressed bytes. */
const PLAIN = { ...JSON_HEADERS, 'accept-encoding': 'identity' };
/** Number of the deepest page that is read. */
const MAX_PAGES = 1_000;

/** Reads a shelf page by page and draws pages from its second half. */
export async function deepPlaces(url: string, shelf: string, dice: Dice, count: number): Promise<Place[]> {
  const places: Place[] = [];
  let path = shelf;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { listings, next_cursor } = await readShelf(url, path);
    const last = listings.at(-1);
    if (next_cursor === null || last === undefined) break;
    path = withCursor(shelf, next_cursor);
    places.push({ path, after: { id: last.id, votes: last.votes } });
  }
  const deep = places.slice(Math.floor(places.length / 2));
  return deep.length <= count ? deep : Array.from({ length: count }, () => dice.pick(deep));
}

/** Returns the path of the second page, or null if there is only one. */
export async function secondPage(url: string, shelf: string): Promise<string | null> {
  const { next_cursor } = await readShelf(url, shelf);
  return next_cursor === null ? null : withCursor(shelf, next_cursor);
}

function withCursor(shelf: string, cursor: string): string {
  return `${shelf}${shelf.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}

async function readShelf(url: string, path: string): Promise<ShelfPage> {
  const answer = await fetch(`${url}${path}`, { headers: PLAIN });
  if (!answer.ok) throw new Error(`${path} is answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  return (await answer.json()) as ShelfPage;
}
