import { HANDLE_PATTERN } from './answer-forms.ts';

declare const ours: unique symbol;

/**
 * A sentence of this program: literals of its source, numbers, and values of a form that no sentence has. A plain string is none, so the
 * compiler refuses the words of a market, a city, a chain or a file where a reader takes what stands there for ours.
 */
export type OwnWords = string & { readonly [ours]: true };

/** Values that may stand within own words. */
export type Wordless = OwnWords | number | bigint;

/** The tag of own words: own`Nothing was paid to ${formed('address', payee)}.` */
export function own(parts: TemplateStringsArray, ...values: readonly Wordless[]): OwnWords {
  return String.raw({ raw: parts }, ...values) as OwnWords;
}

export function joined(words: readonly OwnWords[], between: ', ' | '; ' | ' ' | '\n' = ', '): OwnWords {
  return words.join(between) as OwnWords;
}

const FORMS = {
  address: /^0x[0-9a-fA-F]{40}$/,
  hash: /^0x[0-9a-fA-F]{64}$/,
  handle: new RegExp(HANDLE_PATTERN),
  origin: /^https?:\/\/[a-z0-9.-]{1,253}(?::\d{1,5})?$/,
  /** A system's or a library's name of an error. */
  code: /^[A-Z][A-Z0-9_]{1,60}$/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z$/,
} as const satisfies Record<string, RegExp>;

/** The text where it has that form; otherwise a note in its place, and none of its words. */
export function formed(form: keyof typeof FORMS, text: string): OwnWords {
  return FORMS[form].test(text) ? (text as OwnWords) : own`(no ${named(form)})`;
}

// An object without members has all that a type of any text asks for, and nothing that one of certain words asks for.
type Literal<T extends string> = T extends OwnWords ? T : Record<never, never> extends Record<T, 1> ? never : T;

/** A name out of a list of the source: the compiler takes certain words alone. */
export function named<T extends string>(name: T & Literal<T>): OwnWords {
  return name as string as OwnWords;
}

/** A text that the owner of this machine typed or set: an argument, a variable, a file or folder, the address of a market or a chain. */
export function ofOwner(text: string): OwnWords {
  return text as OwnWords;
}

/** A text out of a table of this source. */
export function ofSource(text: string): OwnWords {
  return text as OwnWords;
}
