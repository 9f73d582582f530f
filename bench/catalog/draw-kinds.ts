import { type Dice, diceFor } from './dice.ts';
import { JSON_HEADERS, type PageKind, type PageRequest, type SqlPage } from './page-request.ts';
import type { Seeded } from './seed.ts';
import { secondPage } from './walk.ts';

/** A page and its SQL equivalent. Null if nobody would build the page by SQL. */
export type Drawn = [path: string, sql: SqlPage | null];
export type Draw = (dice: Dice) => Drawn;
export type Make = (dice: Dice) => PageKind | Promise<PageKind>;

/** Kinds of pages by name. Each is made on demand, because finding pages deep in a shelf takes time. */
export interface KindList {
  kinds: Map<string, () => Promise<PageKind>>;
  add(name: string, make: Make): void;
  /** Adds up to `count` different requests. */
  many(name: string, draw: Draw, count?: number): void;
  /** Like `many`, plus the second pages of the same shelves, which no market caches. */
  walked(name: string, draw: Draw, count?: number): void;
}

/** Number of different requests of a kind that has many. */
export const DISTINCT = 400;

export function createKindList(url: string, { seed }: Seeded): KindList {
  const kinds = new Map<string, () => Promise<PageKind>>();
  const add = (name: string, make: Make): void => void kinds.set(name, async () => make(diceFor(seed, name)));
  const many = (name: string, draw: Draw, count = DISTINCT): void =>
    add(name, (dice) =>
      kindOf(
        name,
        distinct(() => draw(dice), count),
      ),
    );
  return {
    kinds,
    add,
    many,
    walked: (name, draw, count = DISTINCT) => {
      many(name, draw, count);
      add(`${name}, 2nd`, async (dice) => {
        const pages: Drawn[] = [];
        for (const [path] of distinct(() => draw(dice), Math.min(count, DISTINCT))) {
          const second = await secondPage(url, path);
          if (second !== null) pages.push([second, null]);
        }
        return kindOf(`${name}, 2nd`, pages);
      });
    },
  };
}

export function kindOf(name: string, pages: readonly Drawn[], headers = JSON_HEADERS): PageKind {
  const requests: PageRequest[] = pages.map(([path]) => ({ path, headers }));
  // Skip the gzip variant by SQL, because it would be the same page, compressed.
  const plain = headers === JSON_HEADERS;
  return { name, status: 200, requests, sql: pages.flatMap(([, page]) => (plain && page !== null ? [page] : [])) };
}

function distinct(draw: () => Drawn, count: number): Drawn[] {
  const drawn = new Map<string, SqlPage | null>();
  for (let attempt = 0; attempt < count * 4 && drawn.size < count; attempt += 1) {
    const [path, page] = draw();
    drawn.set(path, page);
  }
  return [...drawn];
}

export function shelfPath(query: Readonly<Record<string, string>>): string {
  const parts = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? '/api/shelves' : `/api/shelves?${parts.join('&')}`;
}
