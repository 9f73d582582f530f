import { parseArgs } from 'node:util';
import { bestMatches, type Ranking } from '../../src/market/catalog/sets/best-matches.ts';
import { countMatches, markMatches } from '../../src/market/catalog/sets/matches.ts';
import { createPosting, setLevel } from '../../src/market/catalog/sets/posting.ts';
import { parseQuery } from '../../src/market/catalog/text/parse-query.ts';
import { LEVEL_GAINS } from '../../src/market/catalog/text/term-levels.ts';
import { createTextIndex, type TextIndex } from '../../src/market/catalog/text/text-index.ts';
import { diceFor } from '../catalog/dice.ts';
import { createGoods } from '../catalog/goods.ts';
import { makeVocabulary } from '../catalog/vocabulary.ts';
import { runBench } from '../run-bench.ts';

const HELP = `Measures what it costs to choose a page for a need, beside scoring every match. Nothing is cached.

  npm run bench:needs -- [options]

  --listings N   made-up goods (100000)
  --needs N      needs of each kind (300)
  --json         one JSON object on standard output
  --help         this text
`;

interface Options {
  listings: number;
  needs: number;
  json: boolean;
}

function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      listings: { type: 'string', default: '100000' },
      needs: { type: 'string', default: '300' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const [listings, needs] = [Number(values.listings), Number(values.needs)];
  if (!Number.isInteger(listings) || listings < 100 || !Number.isInteger(needs) || needs < 1)
    throw new Error('--listings must be at least 100 and --needs at least 1');
  return { listings, needs, json: values.json };
}

/** Ranks in the vocabulary, whose words are in 25 to 80 %, 1 to 2 % and about 0.03 % of the listings. */
const COMMON = [6, 40] as const;
const MIDDLING = [500, 1_200] as const;
const RARE = [30_000, 50_000] as const;
const KINDS: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  '1 word': [MIDDLING],
  '3 words': [COMMON, MIDDLING, RARE],
  '6 words': [COMMON, COMMON, MIDDLING, MIDDLING, RARE, RARE],
  '12 common words': new Array<readonly [number, number]>(12).fill(COMMON),
};
const PAGE = 51;
const SEED = 1;

interface Row {
  kind: string;
  perSecond: number;
  /** Requests per second with the ranking, relative to scoring every match. */
  ratio: number;
}

function measure({ listings, needs, json }: Options): Promise<void> {
  const vocabulary = makeVocabulary(SEED);
  const goods = createGoods(SEED, { sellers: Math.ceil(listings / 20), vocabulary });
  const index = createTextIndex({ giveWay: async () => {} });
  const sales = new Uint32Array(listings + 1);
  const sold = createPosting();
  for (let id = 1; id <= listings; id += 1) {
    const { title, tags, description, preview, seller, sales: count } = goods(id);
    index.put(id, { title, tags, keywords: [], merchant: `seller-${seller}`, description, preview });
    sales[id] = count;
    if (count > 0) setLevel(sold, id, 1);
  }
  const figureOf = (id: number): number => Math.min(15, 32 - Math.clz32(sales[id] as number));
  const ranking = { gains: LEVEL_GAINS, figureOf, withFigure: sold };
  const dice = diceFor(SEED, 'needs');
  const rows = Object.entries(KINDS).map(([kind, ranges]): Row => {
    const queries = Array.from({ length: needs }, () =>
      ranges.map(([low, high]) => vocabulary.words[low + dice.int(high - low)]).join(' '),
    );
    for (const q of queries.slice(0, 20)) choosePage(index, ranking, q, PAGE);
    const [all, page] = [listings, PAGE].map((limit) =>
      processorSeconds(() => queries.map((q) => choosePage(index, ranking, q, limit))),
    ) as [number, number];
    return { kind, perSecond: Math.round(needs / page), ratio: Math.round((all / page) * 10) / 10 };
  });
  const text = rows.map(
    ({ kind, perSecond, ratio }) =>
      `${kind.padEnd(18)}${String(perSecond).padStart(8)}/s  ${ratio} times scoring every match`,
  );
  process.stdout.write(
    json
      ? `${JSON.stringify({ listings, needs, seed: SEED, rows })}\n`
      : `${listings} listings (seed ${SEED})\n${text.join('\n')}\n`,
  );
  return Promise.resolve();
}

/** Chooses the ids of a page as the shelves do, without the bytes of the page. Returns the number of all matches. */
function choosePage(index: TextIndex, ranking: Omit<Ranking, 'scored' | 'first'>, q: string, limit: number): number {
  const search = index.compile(index.resolve(parseQuery(`${q} `), null));
  if (search === null || search.matchesNothing) return 0;
  const { must, mustNot, wanted, scored, titled } = search;
  const [only = [], ...others] = wanted;
  const isSingle = others.length === 0 && only.length === 1;
  const matches = markMatches(
    isSingle
      ? { must: [...must, ...only], mustNot, tests: [], wanted: [], least: 0 }
      : { must, mustNot, tests: [], wanted, least: 1 },
  );
  bestMatches(matches, { ...ranking, scored, first: titled }, null, limit);
  return countMatches(matches);
}

function processorSeconds(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

runBench({ help: HELP, read: readOptions, measure });
