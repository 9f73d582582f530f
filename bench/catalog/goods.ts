import { AISLES, type Aisle } from '../../src/contract/vocabulary.ts';
import { createWeighted, createZipf, type Dice, diceFor } from './dice.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface Goods {
  id: number;
  seller: number;
  title: string;
  description: string;
  preview: string;
  priceUnits: number;
  tags: string[];
  aisle: Aisle;
  state: 'live' | 'removed' | 'withdrawn';
  votes: number;
  sales: number;
}

/** Target lengths in characters, less the half word or sentence by which a text overshoots on average. */
const TITLE_LENGTH = 50 - 3;
const DESCRIPTION_LENGTH = 380 - 32;
const PREVIEW_LENGTH = 580 - 32;
const REMOVED_SHARE = 0.03;
const WITHDRAWN_SHARE = 0.02;
const FREE_SHARE = 0.2;
const UNITS_PER_CENT = 10_000;
const MAX_VOTES = 2_000;
const MAX_SALES = 300;
/** Weights of aisles. Others have weight 1. Listings in `world` are things of a city. */
const AISLE_WEIGHTS: Readonly<Partial<Record<Aisle, number>>> = {
  skills: 22,
  prompts: 20,
  tools: 18,
  data: 12,
  knowledge: 10,
  services: 7,
  wanted: 4,
  world: 2,
  other: 5,
};

/** Generates listings in order, with ids from 1. A seed always gives the same listings. */
export function createGoods(seed: number, given: { sellers: number; vocabulary: Vocabulary }): (id: number) => Goods {
  const dice = diceFor(seed, 'goods');
  const { words, tags } = given.vocabulary;
  const drawWord = createZipf(words.length, dice);
  const drawTag = createZipf(tags.length, dice);
  const drawSeller = createZipf(given.sellers, dice);
  const drawAisle = createWeighted(
    Float64Array.from(AISLES, (aisle) => AISLE_WEIGHTS[aisle] ?? 1),
    dice,
  );
  const text = createText(dice, () => words[drawWord()] ?? '');
  return (id) => {
    const chance = dice.share();
    const priceUnits = drawPrice(dice);
    const liked = dice.share();
    const goods: Goods = {
      id,
      seller: drawSeller() + 1,
      title: text.title(lengthAround(TITLE_LENGTH, dice)),
      description: text.prose(lengthAround(DESCRIPTION_LENGTH, dice), ' '),
      preview: text.prose(lengthAround(PREVIEW_LENGTH, dice), '\n'),
      priceUnits,
      tags: distinct(2 + dice.int(3), () => tags[drawTag()] ?? ''),
      aisle: AISLES[drawAisle()] ?? 'other',
      state: chance < REMOVED_SHARE ? 'removed' : chance < REMOVED_SHARE + WITHDRAWN_SHARE ? 'withdrawn' : 'live',
      votes: Math.min(MAX_VOTES, Math.floor((1 - liked) ** (-1 / 1.5)) - 1),
      // Popular goods sell, and most goods do not.
      sales: Math.min(MAX_SALES, Math.floor(((1 - liked) ** (-1 / 1.3) - 1) * dice.share() * 0.4)),
    };
    // A thing is never free, and none is sold yet.
    const isThing = goods.aisle === 'world';
    return isThing ? { ...goods, priceUnits: Math.max(goods.priceUnits, UNITS_PER_CENT), sales: 0 } : goods;
  };
}

function lengthAround(length: number, dice: Dice): number {
  return Math.round(length * (0.6 + 0.8 * dice.share()));
}

function distinct(count: number, draw: () => string): string[] {
  const drawn = new Set<string>();
  while (drawn.size < count) drawn.add(draw());
  return [...drawn];
}

/** Makes a fifth of the goods free. The rest cost cents to hundreds of USDC, often at a common round price. */
function drawPrice(dice: Dice): number {
  if (dice.share() < FREE_SHARE) return 0;
  const cents = Math.exp(Math.log(10) + dice.share() * Math.log(5_000));
  const round = cents < 100 ? 5 : cents < 1_000 ? 50 : 100;
  return Math.max(5, Math.round(cents / round) * round - (dice.share() < 0.3 ? 1 : 0)) * UNITS_PER_CENT;
}

/** Generates sentences of four to fourteen words with some commas. */
function createText(dice: Dice, word: () => string) {
  const sentence = (): string => {
    let said = capitalize(word());
    for (let left = 3 + dice.int(11); left > 0; left -= 1) said += (dice.int(9) === 0 ? ', ' : ' ') + word();
    return `${said}.`;
  };
  return {
    title: (length: number): string => {
      let title = capitalize(word());
      while (title.length < length) title += ` ${word()}`;
      return title.slice(0, 120).trimEnd();
    },
    prose: (length: number, paragraphs: string): string => {
      let said = sentence();
      while (said.length < length) said += (dice.int(3) === 0 ? paragraphs : ' ') + sentence();
      return said;
    },
  };
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
