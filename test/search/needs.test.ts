import { expect, test } from 'vitest';
import { NEEDS } from './needs.ts';
import { readListings } from './read-listings.ts';
import { createSearchShelf } from './search-shelf.ts';

const FIRST_PAGE = 10;
/** A little below what is reached, which is 0.983 and 0.966: a change of the ranking may move single needs, but not many. */
const LEAST_RECALL = 0.96;
const LEAST_RECIPROCAL_RANK = 0.945;

const listings = readListings();
const find = createSearchShelf(listings);

test('the corpus has its listings, and each need names some of them', () => {
  const titles = listings.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
  expect(titles.length).toBeGreaterThanOrEqual(120);
  expect(NEEDS.length).toBeGreaterThanOrEqual(60);
  expect(titles).toEqual(expect.arrayContaining(NEEDS.flatMap(([, ...right]) => right)));
});

test('needs find what answers them, and none is without a result', async () => {
  const ranks: number[] = [];
  for (const [q, ...right] of NEEDS) {
    const { titles, total, search } = await find(q);
    expect(total, q).toBeGreaterThan(0);
    expect(titles.length, q).toBe(Math.min(total, 50));
    expect(search.words.length, q).toBeGreaterThan(0);
    ranks.push(titles.findIndex((title) => right.includes(title)) + 1);
  }
  const reached = ranks.map((rank) => (rank > 0 && rank <= FIRST_PAGE ? 1 / rank : 0));
  const late = NEEDS.flatMap(([q], at) => (ranks[at] === 1 ? [] : [`${ranks[at]} ${q}`])).join('\n');
  expect(reached.filter((part) => part > 0).length / NEEDS.length, late).toBeGreaterThanOrEqual(LEAST_RECALL);
  expect(reached.reduce((sum, part) => sum + part, 0) / NEEDS.length, late).toBeGreaterThanOrEqual(
    LEAST_RECIPROCAL_RANK,
  );
});
