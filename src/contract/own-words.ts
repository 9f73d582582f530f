import { HANDLE_PATTERN } from './answer-forms.ts';

declare const ours: unique symbol;

/**
 * Text written by this program: source literals, numbers, and values whose form cannot hold a sentence. A plain string is not assignable,
 * so the compiler rejects text of a market, city, chain or file wherever a reader would take it for ours.
 */
export type OwnWords = string & { readonly [ours]: true };

/** Values allowed inside `own`. */
export type OwnValue = OwnWords | number | bigint;

/** Template tag: own`Nothing was paid to ${formed('address', payee)}.` */
export function own(parts: TemplateStringsArray, ...values: readonly OwnValue[]): OwnWords {
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
  /** An error code of a system or library. */
  code: /^[A-Z][A-Z0-9_]{1,60}$/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z$/,
} as const satisfies Record<string, RegExp>;

/** Returns the text if it has that form, otherwise a note that contains none of it. */
export function formed(form: keyof typeof FORMS, text: string): OwnWords {
  return FORMS[form].test(text) ? (text as OwnWords) : own`(no ${named(form)})`;
}

// Accepts literal types only. Record<string, 1> accepts an empty object, but a record over literals does not.
type Literal<T extends string> = T extends OwnWords ? T : Record<never, never> extends Record<T, 1> ? never : T;

/** Returns a name from a list in the source. The compiler accepts literal types only. */
export function named<T extends string>(name: T & Literal<T>): OwnWords {
  return name as string as OwnWords;
}

/** Trusts a text that the owner of this machine typed or configured: an argument, variable, file, folder or address. */
export function ofOwner(text: string): OwnWords {
  return text as OwnWords;
}

/** Trusts a text from a table in the source. */
export function ofSource(text: string): OwnWords {
  return text as OwnWords;
}
