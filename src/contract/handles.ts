import { z } from 'zod';
import { NETWORK_NAMES } from './vocabulary.ts';

/**
 * Handles that nobody can register, nor any look-alike, so that no merchant passes as the market, its treasury, a network or an official
 * account. Published in official facts and compared in folded form. Only new handles are checked.
 */
export const RESERVED_HANDLES: readonly string[] = [
  'about',
  'account',
  'admin',
  'administrator',
  'aisle',
  'anonymous',
  'api',
  ...NETWORK_NAMES,
  'billing',
  'bridge',
  'circle',
  'city',
  'coinbase',
  'contact',
  'docs',
  'escrow',
  'everyone',
  'facilitator',
  'help',
  'helpdesk',
  'join',
  'legal',
  'maintainer',
  'market',
  'marketplace',
  'mcp',
  'moderation',
  'moderator',
  'null',
  'oauth',
  'official',
  'openaisle',
  'operator',
  'owner',
  'payment',
  'payments',
  'privacy',
  'recovery',
  'refund',
  'refunds',
  'register',
  'root',
  'rotate',
  'security',
  'settlement',
  'staff',
  'status',
  'support',
  'sysop',
  'system',
  'team',
  'terms',
  'treasury',
  'undefined',
  'usdc',
  'verified',
  'wallet',
  'webmaster',
  'world',
  'x402',
];

/** Words that are also reserved as a part between hyphens, as in `openaisle-support` and `refunds-desk`. Published in official facts. */
export const RESERVED_PARTS: readonly string[] = [
  'admin',
  'escrow',
  'maintainer',
  'moderator',
  'official',
  'openaisle',
  'refund',
  'security',
  'staff',
  'support',
  'treasury',
];

/** Older, weaker fold of a handle. It is stored in the unique column `handle_skeleton`, so it must never change. */
export function handleSkeleton(handle: string): string {
  return handle
    .replaceAll('0', 'o')
    .replaceAll('1', 'l')
    .replaceAll('m', 'rn')
    .replaceAll('w', 'vv')
    .replaceAll(/-+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

const FOLDED: Readonly<Record<string, string>> = {
  ...{ '-': '', 0: 'o', 1: 'l', i: 'l', j: 'l', 5: 's', 3: 'e', 4: 'a', 8: 'b', 2: 'z', 7: 't', 9: 'g', q: 'g' },
  ...{ m: 'rn', w: 'vv' },
};

/** Describes the fold in refusals and documents. */
export const FOLDED_TEXT =
  'i l 1 j, o 0, s 5, e 3, a 4, b 8, z 2, t 7, g q 9, rn nn m, cl d and vv w count as one, hyphens as nothing';

/**
 * Folds look-alike handles to the same text, so that only one of them can be registered. Expands wide letters, so vvv, vw and wv are equal.
 * rn and nn both look like m, so each n before another n becomes r. `fold_handle` in the database does the same.
 */
export function foldHandle(handle: string): string {
  return handle
    .replaceAll(/[-0-57-9ijmqw]/g, (character) => FOLDED[character] ?? character)
    .replaceAll(/n(?=[rn]*n)/g, 'r')
    .replaceAll('cl', 'd');
}

/**
 * Reason why a handle is reserved. `word` is the reserved word that the whole handle looks like (rule `word`), that a part of it looks like
 * (`part`), or that is among the reserved words of which it is made (`made_of`).
 */
export interface Reserved {
  rule: 'word' | 'part' | 'made_of';
  word: string;
}

/**
 * Returns why a new handle is reserved: it looks like a reserved word or contains a reserved part, possibly followed by a number
 * (`support24`). The maintainer's handle is reserved like a part; pass null if there is none.
 */
export function findReserved(handle: string, maintainer: string | null): Reserved | null {
  const words = foldedForms(RESERVED_HANDLES, false);
  const parts = foldedForms(maintainer === null ? RESERVED_PARTS : [...RESERVED_PARTS, maintainer], true);
  const word = words.get(foldHandle(handle)) ?? findWordWithNumber(words, matchableHandle(handle));
  if (word !== undefined) return { rule: 'word', word };
  for (const run of listPartRuns(handle)) {
    const part = findWordWithNumber(parts, run);
    if (part !== undefined) return { rule: 'part', word: part };
  }
  const composedOf = findPartIn(handle.replaceAll('-', ''), words, parts);
  return composedOf === null ? null : { rule: 'made_of', word: composedOf };
}

/**
 * Drops hyphens at the end. Returns '' if the handle then ends with a hyphen and a number, because `team42` passes as `team` but `team-42`
 * does not.
 */
function matchableHandle(handle: string): string {
  const bare = handle.replace(/-+$/, '');
  return /-[0-9]+$/.test(bare) ? '' : bare;
}

const NUMBER = /[0-9]*$/;

/** Finds the word that a text looks like, with or without its trailing digits, because a digit may imitate the last letter. */
function findWordWithNumber(words: ReadonlyMap<string, string>, text: string): string | undefined {
  const numberAt = text.search(NUMBER);
  for (let end = text.length; end >= numberAt; end -= 1) {
    const word = words.get(foldHandle(text.slice(0, end)));
    if (word !== undefined) return word;
  }
  return undefined;
}

/** Maps the folded form of each word, and of its plurals if requested, to the word. */
function foldedForms(words: readonly string[], plurals: boolean): Map<string, string> {
  const forms = words.flatMap((word) => {
    const spelled = plurals ? [word, `${word}s`, `${word}es`, word.replace(/y$/, 'ies')] : [word];
    return spelled.map((form) => [foldHandle(form), word] as const);
  });
  return new Map(forms);
}

/** Lists the parts between hyphens, and neighbouring parts joined, because `sup-port-desk` contains `support`. */
function listPartRuns(handle: string): string[] {
  const pieces = handle.split('-').filter((piece) => piece !== '');
  return pieces.flatMap((_, from) =>
    pieces.slice(from).map((_piece, more) => pieces.slice(from, from + more + 1).join('')),
  );
}

/**
 * Finds a reserved part in a text made only of reserved words and perhaps a number at the end (`supportteam`). Null for other texts.
 * `partTo[end]` is the result for the text up to `end`: undefined if it is not made of words, null if no word is a reserved part.
 */
function findPartIn(
  text: string,
  words: ReadonlyMap<string, string>,
  parts: ReadonlyMap<string, string>,
): string | null {
  const partTo: (string | null | undefined)[] = [null];
  for (let end = 1; end <= text.length; end += 1) {
    for (let from = 0; from < end; from += 1) {
      const before = partTo[from];
      if (before === undefined) continue;
      // Fold each word alone, because two letters across a boundary could fold into one.
      const piece = foldHandle(text.slice(from, end));
      const part = parts.get(piece);
      if (part !== undefined || words.has(piece)) partTo[end] = before ?? part ?? partTo[end] ?? null;
    }
  }
  return partTo.slice(text.search(NUMBER)).findLast((part) => part !== undefined && part !== null) ?? null;
}

/** Mark shown beside the maintainer's handle. No look-alike handle ever gets it. */
export const maintainerMark = z
  .literal(true)
  .optional()
  .describe('present: this merchant is the maintainer of the market');
