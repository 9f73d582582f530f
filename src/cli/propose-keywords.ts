import { foldKeyword, LISTING_FIELDS } from '../contract/listing-fields.ts';
import { STOP_WORDS } from './stop-words.ts';

const MOST_PROPOSED = 12;
/** A word that stands in no heading and no description must occur this often. */
const LEAST_IN_BODY = 3;
const LONGEST_WORD = 30;
/** Longer mixes of letters and digits are identifiers or secrets. */
const LONGEST_WITH_DIGITS = 16;

/** Words as programmers write them: `c++`, `c#`, `node.js`, `front-end`. */
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[._'’-][\p{L}\p{M}\p{N}]+)*(?:\+\+|#(?![\p{L}\p{N}]))?/gu;
const FRONT_MATTER = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** The value of `description` up to the next member; values in YAML blocks are indented. */
const DESCRIPTION = /^description:(.*(?:\r?\n[ \t]+.*)*)/m;
const FENCE = /^ {0,3}(?:```|~~~)/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*)$/;
const NOT_PROSE = /<[^<>\n]*>|\bhttps?:\/\/\S+|\]\([^()\n]*\)/g;

interface Parts {
  headings: string;
  description: string;
  body: string;
}

interface Candidate {
  word: string;
  inHeading: boolean;
  inDescription: boolean;
  count: number;
}

/**
 * Proposes up to 12 keywords for goods with these explaining texts (Markdown). Prefers words in headings and words that occur more than
 * once. Leaves out stop words, and words of `said`: title, description and tags, which buyers find anyway.
 */
export function proposeKeywords(texts: readonly string[], said: readonly string[]): string[] {
  const known = new Set(said.flatMap((text) => wordsOf(text).map(rootOf)));
  const candidates = new Map<string, Candidate>();
  for (const { headings, description, body } of texts.map(splitText)) {
    for (const word of wordsOf(headings)) countWord(candidates, word).inHeading = true;
    for (const word of wordsOf(description)) countWord(candidates, word).inDescription = true;
    for (const word of wordsOf(body)) countWord(candidates, word);
  }
  return [...candidates]
    .filter(([root, candidate]) => !known.has(root) && isTelling(root, candidate))
    .map(([, candidate]) => candidate)
    .toSorted((a, b) => weightOf(b) - weightOf(a))
    .slice(0, MOST_PROPOSED)
    .map(({ word }) => word);
}

/** Code is left out, because names of variables say little about a need. */
function splitText(text: string): Parts {
  const front = FRONT_MATTER.exec(text);
  const lines = text.slice(front?.[0].length ?? 0).split(/\r?\n/);
  const [headings, body]: [string[], string[]] = [[], []];
  let isCode = false;
  for (const line of lines) {
    if (FENCE.test(line)) isCode = !isCode;
    else if (!isCode) {
      const heading = HEADING.exec(line)?.[1];
      if (heading === undefined) body.push(line);
      else headings.push(heading);
    }
  }
  const description = DESCRIPTION.exec(front?.[1] ?? '')?.[1] ?? '';
  return { headings: headings.join('\n'), description, body: body.join('\n') };
}

function wordsOf(text: string): string[] {
  return text.replace(NOT_PROSE, ' ').match(WORD) ?? [];
}

function countWord(candidates: Map<string, Candidate>, word: string): Candidate {
  const root = rootOf(word);
  const candidate = candidates.get(root) ?? { word: shownForm(word), inHeading: false, inDescription: false, count: 0 };
  candidate.count += 1;
  candidates.set(root, candidate);
  return candidate;
}

/** Drops the capital with which sentences and headings begin, and keeps those of names such as PDF and GitHub. */
function shownForm(word: string): string {
  return /^\p{Lu}[^\p{Lu}]*$/u.test(word) ? word.toLowerCase() : word;
}

/** Joins the singular and the plural of English words. */
function rootOf(word: string): string {
  const folded = foldKeyword(word).replace(/['’]s$/, '');
  if (folded.length > 4 && folded.endsWith('ies')) return `${folded.slice(0, -3)}y`;
  if (/(?:s|x|z|ch|sh)es$/.test(folded)) return folded.slice(0, -2);
  return folded.length > 3 && /[^su]s$/.test(folded) ? folded.slice(0, -1) : folded;
}

const STOP_ROOTS: ReadonlySet<string> = new Set([...STOP_WORDS].flatMap((word) => [word, rootOf(word)]));

function isTelling(root: string, { word, inHeading, inDescription, count }: Candidate): boolean {
  if (!inHeading && !inDescription && count < LEAST_IN_BODY) return false;
  if (STOP_ROOTS.has(root) || STOP_ROOTS.has(foldKeyword(word))) return false;
  if (/^v?[\p{N}._-]+$/iu.test(word) || /^(?:.|[a-z]{2})$/u.test(word) || word.includes('_')) return false;
  if (word.length > LONGEST_WORD || (/\p{N}/u.test(word) && word.length > LONGEST_WITH_DIGITS)) return false;
  return LISTING_FIELDS.keywords.schema.safeParse([word]).success;
}

function weightOf({ inHeading, inDescription, count }: Candidate): number {
  return (inHeading ? 3 : 0) + (inDescription ? 2 : 0) + (count > 1 ? 2 : 0) + Math.log2(count);
}
