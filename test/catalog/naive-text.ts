import type { Scored } from '../../src/market/catalog/sets/best-matches.ts';
import { NAMES } from '../../src/market/catalog/text/abbreviations.ts';
import type { QueryTerm, QueryVariant } from '../../src/market/catalog/text/parse-query.ts';
import type { Resolution } from '../../src/market/catalog/text/resolve-query.ts';
import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { FIELD_WEIGHTS, LEVEL_GAINS, rarityWeight, termLevel } from '../../src/market/catalog/text/term-levels.ts';
import type { ListingText } from '../../src/market/catalog/text/text-index.ts';
import { readWords, tokenize } from '../../src/market/catalog/text/tokenize.ts';

type Term = Pick<QueryTerm, 'kind' | 'words'>;

/** One field, tag or keyword. */
interface NaiveField {
  readonly words: readonly string[];
  readonly variants: readonly string[];
}

/** A listing as a reader without an index sees it. */
export interface NaiveListing {
  readonly fields: readonly NaiveField[];
  readonly words: ReadonlySet<string>;
  /** Level by stem. */
  readonly levels: ReadonlyMap<string, number>;
  readonly title: ReadonlySet<string>;
}

function isWithin(words: readonly string[], row: readonly string[]): boolean {
  return ` ${words.join(' ')} `.includes(` ${row.join(' ')} `);
}

function readField(text: string): NaiveField {
  const words = tokenize(text);
  const variants: string[] = [];
  readWords(
    text,
    () => {},
    (word) => variants.push(word),
  );
  for (const [short, ...wholes] of NAMES) {
    if (wholes.some((whole) => isWithin(words, whole.split(' ')))) variants.push(short);
  }
  return { words, variants: [...new Set(variants)] };
}

export function readNaively({ title, tags, keywords, merchant, description, preview }: ListingText): NaiveListing {
  const weighted = [[title], tags, keywords, [merchant], [description], [preview]].map((texts) => texts.map(readField));
  const counts = new Map<string, number>();
  let length = 0;
  for (const [at, fields] of weighted.entries()) {
    const words = fields.flatMap(({ words: own, variants }) => [...own, ...variants]);
    length += words.length;
    const stems = words.map(stemOf);
    // In tags and keywords a word counts once.
    for (const stem of at === 1 || at === 2 ? new Set(stems) : stems) {
      counts.set(stem, (counts.get(stem) ?? 0) + (FIELD_WEIGHTS[at] ?? 0));
    }
  }
  const fields = weighted.flat();
  return {
    fields,
    words: new Set(fields.flatMap(({ words, variants }) => [...words, ...variants])),
    levels: new Map([...counts].map(([stem, count]) => [stem, termLevel(count, length)])),
    title: new Set(tokenize(title)),
  };
}

function levelIn({ fields, words, levels }: NaiveListing, { kind, words: row }: Term): number {
  const [word = ''] = row;
  if (kind === 'word') return levels.get(stemOf(word)) ?? 0;
  if (kind === 'beginning') {
    const stems = [...words].filter((one) => one.startsWith(word)).map(stemOf);
    return Math.max(0, ...[stemOf(word), ...stems].map((stem) => levels.get(stem) ?? 0));
  }
  const isThere = fields.some(
    (field) => isWithin(field.words, row) || (row.length === 1 && field.variants.includes(word)),
  );
  return isThere ? 1 : 0;
}

const FIGURES = 16;
const TITLED = 2 ** 19;

function nameOf({ kind, words }: Term): string {
  if (kind === 'phrase') return `"${words.join(' ')}"`;
  return kind === 'beginning' ? `${words[0]}*` : stemOf(words[0] ?? '');
}

const wordTerm = (word: string): Term => ({ kind: 'word', words: [word] });

/** Returns the terms that another spelling stands for. */
function coveredBy({ terms, match }: Resolution, { words }: QueryVariant): Term[] {
  return match === 'all' ? [] : terms.filter(({ typed, need }) => need === 'wanted' && words.includes(typed));
}

/** Returns the wanted terms, each with its other spellings. */
function wantedTerms(resolution: Resolution): Term[][] {
  const wanted = new Map<string, Term[]>();
  for (const term of resolution.terms) if (term.need === 'wanted') wanted.set(nameOf(term), [term]);
  for (const variant of resolution.query.variants) {
    for (const term of coveredBy(resolution, variant)) wanted.get(nameOf(term))?.push(wordTerm(variant.word));
  }
  return [...wanted.values()];
}

const MAX_WEIGHT = 511;

/** Returns what adds to the score, each once, with the higher of its weights. A name weighs like all words that it stands for. */
function weighTerms(resolution: Resolution, rarity: (term: Term) => number): { term: Term; weight: number }[] {
  const weighted = new Map<string, { term: Term; weight: number }>();
  const add = (term: Term, weight: number): void => {
    if ((weighted.get(nameOf(term))?.weight ?? 0) < weight) weighted.set(nameOf(term), { term, weight });
  };
  for (const term of resolution.terms) {
    // A corrected word is less sure than one that is there.
    const share = term.usedAs === null ? 1 : 0.5;
    for (const one of term.kind === 'phrase' ? term.words.map(wordTerm) : [term])
      add(one, Math.ceil(rarity(one) * share));
  }
  for (const variant of resolution.query.variants) {
    const covered = coveredBy(resolution, variant).map((term) => weighted.get(nameOf(term))?.weight ?? 0);
    const sum = covered.reduce((whole, weight) => whole + weight, 0);
    const own = wordTerm(variant.word);
    if (covered.length > 0 && !weighted.has(nameOf(own))) add(own, Math.max(rarity(own), Math.min(MAX_WEIGHT, sum)));
  }
  return [...weighted.values()];
}

function isTitle(title: ReadonlySet<string>, { query, terms }: Resolution): boolean {
  const used = new Map(terms.map(({ typed, usedAs }) => [typed, usedAs]));
  const words = new Set([...query.typed].flatMap((typed) => (used.get(typed) ?? typed).split(' ')));
  return words.size > 0 && words.size === title.size && [...words].every((word) => title.has(word));
}

/** Returns all matches by rank, by reading every listing. */
export function searchNaively(listings: ReadonlyMap<number, NaiveListing>, resolution: Resolution): Scored[] {
  const { query, terms } = resolution;
  const all = [...listings];
  const excluded = query.terms.filter(({ need }) => need === 'excluded');
  const required = terms.filter(({ need }) => need === 'required');
  const wanted = wantedTerms(resolution);
  const onlyExcludes = excluded.length > 0 && excluded.length === query.terms.length;
  const isMatch = (one: NaiveListing): boolean => {
    if (excluded.some((term) => levelIn(one, term) > 0)) return false;
    if (required.length > 0) return required.every((term) => levelIn(one, term) > 0);
    return onlyExcludes || wanted.some((spellings) => spellings.some((term) => levelIn(one, term) > 0));
  };
  const rarity = (term: Term): number =>
    rarityWeight(all.length, all.filter(([, one]) => levelIn(one, term) > 0).length);
  const weighted = weighTerms(resolution, rarity);
  const scoreOf = (one: NaiveListing): number =>
    weighted.reduce((sum, { term, weight }) => sum + weight * (LEVEL_GAINS[levelIn(one, term)] ?? 0), 0);
  return all
    .filter(([, one]) => isMatch(one))
    .map(([id, one]) => ({ id, key: (isTitle(one.title, resolution) ? TITLED : scoreOf(one)) * FIGURES }))
    .sort((a, b) => b.key - a.key || b.id - a.id);
}
