import { z } from 'zod';

/**
 * Forms of answer texts that cannot hold a sentence. A program requires one of these forms for every text it reads from another site, or
 * marks the text as untrusted. Otherwise a lying site could pass its own words off as the program's.
 */

/** 3 to 32 characters of a-z, 0-9 and -, not starting with -. */
export const HANDLE_PATTERN = '^[a-z0-9][a-z0-9-]{2,31}$';
export const handleOut = z.string().regex(new RegExp(HANDLE_PATTERN));
/** A code like `needs_review`. Not an enum, because newer versions may add codes. */
export const codeOut = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
export const networkOut = z.string().regex(/^[a-z][a-z0-9-]{0,40}$/);
export const cursorOut = z.string().regex(/^[A-Za-z0-9_-]{1,2048}$/);
/** A URL, or a path on the same site. */
export const urlOut = z.string().regex(/^(?:https?:\/\/|\/)[!-~]{0,2000}$/);
/** Amount in token units, as decimal digits. */
export const unitsOut = z.string().regex(/^\d{1,78}$/);
const ONE_WORD = /^[!-~]{1,8192}$/;
/** A key, code or token. Each site chooses the format, but it must be one word. */
export const secretOut = z.string().refine((secret) => ONE_WORD.test(secret), 'must be one word');
/** USDC with exactly six decimals. */
export const amountOut = z.string().regex(/^\d{1,20}\.\d{6}$/);
export const requestIdForm = /^[A-Za-z0-9._:-]{1,128}$/;
