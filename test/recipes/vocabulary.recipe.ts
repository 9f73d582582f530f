import { expect } from 'vitest';
import { carryOut, expectTexts, recipe, writeGenerated } from './carry-out.ts';

const VOCABULARY = 'src/contract/vocabulary.ts';
/** Step that leaves generated files out of date if it is forgotten, which a test reports. */
const STALE = { step: writeGenerated, by: 'test/reference.test.ts', error: /npm run docs/ } as const;

const aisle = recipe('An aisle', {
  most: 1,
  steps: [
    (copy) =>
      copy.replace(VOCABULARY, [
        "  world: { name: 'World'",
        "  games: { name: 'Games', holds: 'what is played', hue: 280 },\n  world: { name: 'World'",
      ]),
  ],
  forgotten: STALE,
  shows: expectTexts('\\"games\\"'),
});

const sort = recipe('A sort', {
  most: 2,
  steps: [(copy) => copy.replace(VOCABULARY, ["  price_asc: 'Price", "  talk: 'Most comments',\n  price_asc: 'Price"])],
  forgotten: {
    step: (copy) =>
      copy.replace('src/market/catalog/model/sorts.ts', [
        '  price_asc: {',
        "  talk: { key: 'comments', direction: 'descending', pinnedFirst: true, rises: true },\n  price_asc: {",
      ]),
    by: 'types',
    error: /catalog\/model\/sorts\.ts.*'talk'/,
  },
  shows: expectTexts('\\"talk\\"'),
});

const listingFee = recipe('Another listing fee', {
  most: 1,
  steps: [(copy) => copy.replace(VOCABULARY, ['LISTING_FEE_UNITS = 1_000_000n', 'LISTING_FEE_UNITS = 2_500_000n'])],
  forgotten: STALE,
  shows: async ({ say }) => {
    const said = await say();
    expect(said.match(/\b2\.5 USDC\b/g)?.length).toBeGreaterThan(8);
    expect(said.includes('"amountUnits":"2500000"')).toBe(true);
    expect(said.match(/.{0,40}(?<![\d.])1 USDC\b.{0,40}/g)).toBeNull();
  },
});

const network = recipe('Another network', {
  most: 1,
  steps: [
    (copy) =>
      copy.replace(
        'src/contract/networks.ts',
        ["['base', ", "['polygon', "],
        ["  base: {\n    name: 'base',", "  polygon: {\n    name: 'polygon',"],
        ["displayName: 'Base',", "displayName: 'Polygon',"],
        [/\b8453(?=n?\b)/, '137'],
        ['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'],
        ['https://basescan.org', 'https://polygonscan.com'],
      ),
    // Exclude test/support from the build, because tests name the network they use.
    (copy) => copy.replace('tsconfig.recipe.json', [',"test/support"', '']),
  ],
  forgotten: STALE,
  shows: async ({ say }) => {
    const said = await say();
    expect(
      ['on Polygon', 'eip155:137', '"network":"polygon"', 'polygonscan.com', '0x3c499c542c'].filter(
        (wanted) => !said.includes(wanted),
      ),
    ).toEqual([]);
    expect(
      said.match(/.{0,40}(?:\bBase\b(?![ -]Sepolia)|"base"|`base`|\b8453\b|basescan|0x833589).{0,40}/gi),
    ).toBeNull();
  },
});

carryOut(import.meta.filename, [aisle, sort, listingFee, network]);
