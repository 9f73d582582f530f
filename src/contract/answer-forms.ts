import { z } from 'zod';

/**
 * Forms of texts in answers that can hold no sentence. Every text that a program reads from another site has one of these or is marked as
 * untrusted: otherwise a lying site could put its own words where a reader takes them for the program's.
 */

/** 3 to 32 of a-z, 0-9 and -, not starting with -. */
export const HANDLE_PATTERN = '^[a-z0-9][a-z0-9-]{2,31}$';
export const handleOut = z.string().regex(new RegExp(HANDLE_PATTERN));
/** A code like `needs_review`. It is no enum, since a newer version may add codes. */
export const codeOut = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
export const networkOut = z.string().regex(/^[a-z][a-z0-9-]{0,40}$/);
export const cursorOut = z.string().regex(/^[A-Za-z0-9_-]{1,512}$/);
/** A URL, or a path at the same site. */
export const urlOut = z.string().regex(/^(?:https?:\/\/|\/)[!-~]{0,2000}$/);
/** Token units, in decimal digits. */
export const unitsOut = z.string().regex(/^\d{1,78}$/);
const ONE_WORD = /^[!-~]{1,8192}$/;
/** A key, code or token: each site chooses the form, but it is one word. Examples hold a note in its place. */
export const secretOut = z.string().refine((secret) => ONE_WORD.test(secret), 'must be one word');
/** USDC in digits, with six decimals. */
export const amountOut = z.string().regex(/^\d{1,20}\.\d{6}$/);
export const requestIdForm = /^[A-Za-z0-9._:-]{1,128}$/;
