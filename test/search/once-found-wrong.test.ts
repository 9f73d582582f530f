import { expect, test } from 'vitest';
import type { ListingText } from '../../src/market/catalog/text/text-index.ts';
import { readListings } from './read-listings.ts';
import { createSearchShelf } from './search-shelf.ts';

const find = createSearchShelf(readListings());
const made = (title: string): ListingText => ({
  title,
  merchant: 'keeper',
  tags: [],
  keywords: [],
  description: '',
  preview: '',
});

test('a word of a name that listings have in another spelling is neither corrected nor missing', async () => {
  const { titles, search } = await find('front end');
  expect(search.words.filter(({ used_as }) => used_as !== undefined)).toEqual([]);
  expect(titles.slice(0, 2).toSorted()).toEqual(['React component library starter', 'Web accessibility audit']);
  for (const q of ['e-mail', 'dot net', 'c plus plus'])
    expect((await find(q)).search, q).toMatchObject({ missing: [], matched: 'all' });
});

test('pairs across the end of a word are not reported as missing words', async () => {
  const shelf = createSearchShelf([made('数据分析工具'), made('한국어 맞춤법 검사기')]);
  for (const q of ['分析数据', '한국어를'])
    expect((await shelf(q)).search, q).toMatchObject({ missing: [], matched: 'all' });
  expect((await shelf('天气预报')).search.missing).toEqual(['天气预报']);
});

test('a word and the digits behind it are found apart', async () => {
  const shelf = createSearchShelf([made('Python 3 tutorial'), made('Convert to UTF-8')]);
  expect((await shelf('python3')).titles).toEqual(['Python 3 tutorial']);
  expect((await shelf('utf8')).titles).toEqual(['Convert to UTF-8']);
});

test('two words are found joined', async () => {
  expect((await createSearchShelf([made('Bedtime stories')])('bed time')).total).toBe(1);
});

test('an option of a command excludes nothing', async () => {
  expect((await createSearchShelf([made('What --verbose does')])('what does --verbose do')).total).toBe(1);
});

test('a corrected word counts less than one that is there', async () => {
  expect((await find('a second pair of eyes on my PR')).titles[0]).toBe('Pull request reviewer');
});

test('the analysis of data is what analyzes data', async () => {
  const shelf = createSearchShelf([made('Data analysis'), made('Data entry'), made('Data of io')]);
  expect((await shelf('analyze data')).titles[0]).toBe('Data analysis');
});

test('iOS is not io, and news is not new', async () => {
  const shelf = createSearchShelf([made('iOS widgets'), made('io benchmarks'), made('News digest'), made('New ideas')]);
  expect((await shelf('ios')).titles).toEqual(['iOS widgets']);
  expect((await shelf('news')).titles).toEqual(['News digest']);
});
