import { z } from 'zod';
import { NETWORK_NAMES } from './vocabulary.ts';

/**
 * Handles that cannot be registered, nor can one that looks like them: a merchant must not pass for the market, its treasury, a payment
 * network or an official voice. Published in official facts; compared folded. They judge new handles alone.
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

/** Reserved also as a part of a handle between its hyphens, as in `openaisle-support` and `refunds-desk`. Published in official facts. */
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

/**
 * Handles whose skeletons are alike were one before look-alikes were folded further. The column `handle_skeleton` holds it, and is unique:
 * what was registered by it stays.
 */
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

/** In words, for refusals and documents. */
export const FOLDED_TEXT =
  'i l 1 j, o 0, s 5, e 3, a 4, b 8, z 2, t 7, g q 9, rn nn m, cl d and vv w count as one, hyphens as nothing';

/**
 * Folds a handle by its looks: of those that look alike only one can be registered. Wide letters are spelled out, which makes vvv, vw and wv
 * one; rn and nn are both m, so each n before another n of the same run is an r. `fold_handle` does the same in the database.
 */
export function foldHandle(handle: string): string {
  return handle
    .replaceAll(/[-0-57-9ijmqw]/g, (character) => FOLDED[character] ?? character)
    .replaceAll(/n(?=[rn]*n)/g, 'r')
    .replaceAll('cl', 'd');
}

/** Why a handle is reserved: `word`, as a rule published in official facts, is all of it, a part of it, or one of several words that it is made of. */
export interface Reserved {
  rule: 'word' | 'part' | 'made_of';
  word: string;
}

/**
 * Whether a new handle is, or can be taken for, a word that no merchant may go by, or has a reserved part: also with a number behind it, as
 * `support24`. `maintainer` is the maintainer's handle, and reserved like a part; null where there is none.
 */
export function findReserved(handle: string, maintainer: string | null): Reserved | null {
  const words = foldedForms(RESERVED_HANDLES, false);
  const parts = foldedForms(maintainer === null ? RESERVED_PARTS : [...RESERVED_PARTS, maintainer], true);
  const word = words.get(foldHandle(handle)) ?? findNumbered(words, numberedWord(handle));
  if (word !== undefined) return { rule: 'word', word };
  for (const run of runsOf(handle)) {
    const part = findNumbered(parts, run);
    if (part !== undefined) return { rule: 'part', word: part };
  }
  const made = findPartIn(handle.replaceAll('-', ''), words, parts);
  return made === null ? null : { rule: 'made_of', word: made };
}

/** A number behind a hyphen is a word of its own: `team-42` is no team, and `team42` would be one. */
function numberedWord(handle: string): string {
  const bare = handle.replace(/-+$/, '');
  return /-[0-9]+$/.test(bare) ? '' : bare;
}

const NUMBER = /[0-9]*$/;

/** The word that a text looks like, with as many of the digits at its end as may be: a digit may stand for the last letter. */
function findNumbered(words: ReadonlyMap<string, string>, text: string): string | undefined {
  const numberAt = text.search(NUMBER);
  for (let end = text.length; end >= numberAt; end -= 1) {
    const word = words.get(foldHandle(text.slice(0, end)));
    if (word !== undefined) return word;
  }
  return undefined;
}

/** The words by what they, or with `plurals` also their plurals, look like. */
function foldedForms(words: readonly string[], plurals: boolean): Map<string, string> {
  const forms = words.flatMap((word) => {
    const spelled = plurals ? [word, `${word}s`, `${word}es`, word.replace(/y$/, 'ies')] : [word];
    return spelled.map((form) => [foldHandle(form), word] as const);
  });
  return new Map(forms);
}

/** The parts between hyphens, and neighbours taken together: `sup-port-desk` holds `support`. */
function runsOf(handle: string): string[] {
  const pieces = handle.split('-').filter((piece) => piece !== '');
  return pieces.flatMap((_, from) =>
    pieces.slice(from).map((_piece, more) => pieces.slice(from, from + more + 1).join('')),
  );
}

/**
 * The reserved part that a text of nothing but reserved words, and a number behind them, holds, as `supportteam` does; null for every other
 * text. `partTo[end]` says it of the text up to there: undefined where that is not made of words, null where it is and none of them is a part.
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
      // Folded by itself: where two words meet, letters could fold into one.
      const piece = foldHandle(text.slice(from, end));
      const part = parts.get(piece);
      if (part !== undefined || words.has(piece)) partTo[end] = before ?? part ?? partTo[end] ?? null;
    }
  }
  return partTo.slice(text.search(NUMBER)).findLast((part) => part !== undefined && part !== null) ?? null;
}

/** Beside a handle. No other merchant ever has it, whatever its handle looks like. */
export const maintainerMark = z
  .literal(true)
  .optional()
  .describe('the merchant is the maintainer of this market; absent: it is not');
