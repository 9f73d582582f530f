import { inspect } from 'node:util';
import { createSecretGuard } from '../../src/platform/secrets.ts';

/**
 * Every key and code made in a test has a valid checksum, so a leaked one can be recognized in any text. Uses the same search as the guard
 * for requests. Does not depend on the test runner, so markets in their own processes are watched too.
 */

export const CANARY_PREFIXES = ['aisle', 'city'] as const;
const guard = createSecretGuard(CANARY_PREFIXES);
const BASE64_RUN = /[A-Za-z0-9+/_-]{24,}={0,2}/g;

/** Places where a secret leaked, without the secrets themselves. */
const leaks: string[] = [];

/** Whether the text contains a key or code, plain, percent-encoded or in base64. */
export function holdsSecret(text: string): boolean {
  if (text.length < guard.shortest) return false;
  if (guard.inText(text)) return true;
  if (/%5f/i.test(text) && guard.inText(text.replaceAll(/%5f/gi, '_'))) return true;
  for (const [run] of text.matchAll(BASE64_RUN)) if (guard.inText(run)) return true;
  return false;
}

/** Reports a leak at once and again at the end, because the code under watch may swallow an exception. */
export function watchText(place: string, text: string): void {
  if (!holdsSecret(text)) return;
  leaks.push(place);
  throw new Error(`a secret got into ${place}`);
}

export function watchLogLine(event: string, fields: unknown): void {
  const text = inspect(fields, { depth: 8, maxStringLength: null, maxArrayLength: null, breakLength: Infinity });
  watchText(`the log line ${event}`, `${event} ${text}`);
}

/** Returns the leaks since the last call. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

/** Responses that may show a secret, with the members that hold it. */
const SHOWINGS: readonly { path: string; action?: string; members: readonly string[] }[] = [
  { path: '/api/register', action: 'stage', members: ['merchant_key', 'recovery_codes'] },
  { path: '/api/rotate', action: 'begin', members: ['merchant_key'] },
  { path: '/api/recovery', action: 'begin', members: ['merchant_key', 'recovery_codes'] },
  { path: '/api/recovery', action: 'generate', members: ['recovery_codes'] },
  { path: '/api/pair', members: ['pairing_code'] },
];

export interface WatchedExchange {
  method: string;
  path: string;
  /** Request body as sent. */
  asked: unknown;
  status: number;
  headers: Headers;
  text: string;
}

/** Checks that a response has no secret in its headers or body, except the members that `SHOWINGS` allows. */
export function watchAnswer({ method, path, asked, status, headers, text }: WatchedExchange): void {
  const place = `the answer ${status} to ${method} ${path.slice(0, 80).replaceAll(/_(sk|rc|pc)_.*/gi, '_$1_...')}`;
  watchText(`the headers of ${place}`, [...headers].flat().join('\n'));
  watchText(place, status === 200 && method === 'POST' ? withoutShowing(path, asked, text) : text);
}

const BUY_PATH = /^\/api\/buy\/\d+$/;
const DOWNLOAD_TOKEN = /"(download_token|openaisle\/download-token)":"aisle_dl_[0-9A-Za-z]{49}"/g;

/** Leaves out the download token where a delivery shows it: in its own member. */
export function withoutDownloadToken(text: string): string {
  return text.replaceAll(DOWNLOAD_TOKEN, '"$1":null');
}

function withoutShowing(path: string, asked: unknown, text: string): string {
  if (BUY_PATH.test(path)) return withoutDownloadToken(text);
  const action = typeof asked === 'object' && asked !== null && 'action' in asked ? asked.action : undefined;
  const showing = SHOWINGS.find((one) => one.path === path && (one.action === undefined || one.action === action));
  if (showing === undefined) return text;
  const body: Record<string, unknown> = JSON.parse(text);
  return JSON.stringify({ ...body, ...Object.fromEntries(showing.members.map((name) => [name, null])) });
}
