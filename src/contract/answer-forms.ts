import { z } from 'zod';

/**
 * Forms of texts in answers, in which no sentence fits. What a program reads of another site has one of these, or is marked as untrusted:
 * else a site that lies could put its own words where a reader takes them for the program's.
 */

/** Handles: lower case, 3 to 32 of a-z, 0-9 and -, not beginning with - (W3). */
export const HANDLE_PATTERN = '^[a-z0-9][a-z0-9-]{2,31}$';
export const handleOut = z.string().regex(new RegExp(HANDLE_PATTERN));
/** `needs_review`, `x402_settle`: a newer version may have more of them than an enumeration. */
export const codeOut = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
export const networkOut = z.string().regex(/^[a-z][a-z0-9-]{0,40}$/);
/** A continuation mark. */
export const cursorOut = z.string().regex(/^[A-Za-z0-9_-]{1,512}$/);
/** An address, or a path at the same site. */
export const urlOut = z.string().regex(/^(?:https?:\/\/|\/)[!-~]{0,2000}$/);
/** Units of a token. */
export const unitsOut = z.string().regex(/^\d{1,78}$/);
const ONE_WORD = /^[!-~]{1,8192}$/;
/** A key, a code or a token: how it looks is the site's own choice, but that it is one word. Examples hold a note in its place. */
export const secretOut = z.string().refine((given) => ONE_WORD.test(given), 'must be one word');
/** USDC in digits, with six decimals. */
export const amountOut = z.string().regex(/^\d{1,20}\.\d{6}$/);
export const requestIdForm = /^[A-Za-z0-9._:-]{1,128}$/;
