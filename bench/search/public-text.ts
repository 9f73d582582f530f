import { boundedText, firstRefusedCharacter, limitCombiningMarks, type TextBounds } from '../../src/contract/text.ts';

/**
 * Makes a text that the market would accept, cut to its bounds: removes characters that are not allowed, trims, and normalizes. Null if no
 * such text remains.
 */
export function makePublicText(raw: string, bounds: TextBounds): string | null {
  const { max, multiline = false } = bounds;
  const broken = raw.replaceAll(/\r\n?|[\u2028\u2029]/g, '\n');
  const spaced = multiline ? broken : broken.replaceAll(/\s+/g, ' ');
  const allowed = [...spaced].filter((character) => firstRefusedCharacter(character, multiline) < 0).join('');
  const cut = firstCharacters(limitCombiningMarks(allowed).normalize('NFC').trim(), max).trimEnd();
  const outcome = boundedText(cut, bounds);
  return 'text' in outcome ? outcome.text : null;
}

/** Returns the first characters of a text, counted in code points. */
export function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : [...text].slice(0, count).join('');
}

/** Cuts a query before a word that the limit would split. Returns the query itself if it is short enough. */
export function cutAtWord(query: string, limit: number): string {
  if (query.length <= limit) return query;
  const end = query.slice(0, limit + 1).search(/\s\S*$/);
  return query.slice(0, end > 0 ? end : limit).trimEnd();
}
