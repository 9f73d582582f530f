import { inspect } from 'node:util';
import { createSecretGuard } from '../../src/platform/secrets.ts';

/**
 * Every key and code that a test makes has a right checksum, so that one that got out can be told from any other text. What goes by here is
 * searched with the guard that requests pass through. Needs no test runner: markets in processes of their own are watched too.
 */

export const CANARY_PREFIXES = ['aisle', 'city'] as const;
const guard = createSecretGuard(CANARY_PREFIXES);
const BASE64_RUN = /[A-Za-z0-9+/_-]{24,}={0,2}/g;

/** Where secrets were seen that should not be there. Never the secrets. */
const leaks: string[] = [];

/** Whether a key or code stands in the text: as it is, percent-encoded, or in base64. */
export function holdsSecret(text: string): boolean {
  if (text.length < guard.shortest) return false;
  if (guard.inText(text)) return true;
  if (/%5f/i.test(text) && guard.inText(text.replaceAll(/%5f/gi, '_'))) return true;
  for (const [run] of text.matchAll(BASE64_RUN)) if (guard.inText(run)) return true;
  return false;
}

/** Says it at once, and again at the end: the code that is watched may swallow what is thrown into it. */
export function watchText(place: string, text: string): void {
  if (!holdsSecret(text)) return;
  leaks.push(place);
  throw new Error(`a secret got into ${place}`);
}

export function watchLogLine(event: string, fields: unknown): void {
  const text = inspect(fields, { depth: 8, maxStringLength: null, maxArrayLength: null, breakLength: Infinity });
  watchText(`the log line ${event}`, `${event} ${text}`);
}

/** What has been seen since the last call. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

/** The one showing of each door: which of its members hold what is shown. */
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
  /** As it was sent. */
  asked: unknown;
  status: number;
  headers: Headers;
  text: string;
}

/** No answer holds a secret, in its headers neither, but the one that shows it. */
export function watchAnswer({ method, path, asked, status, headers, text }: WatchedExchange): void {
  const place = `the answer ${status} to ${method} ${path.slice(0, 80).replaceAll(/_(sk|rc|pc)_.*/gi, '_$1_...')}`;
  watchText(`the headers of ${place}`, [...headers].flat().join('\n'));
  watchText(place, status === 200 && method === 'POST' ? withoutShowing(path, asked, text) : text);
}

function withoutShowing(path: string, asked: unknown, text: string): string {
  const action = typeof asked === 'object' && asked !== null && 'action' in asked ? asked.action : undefined;
  const showing = SHOWINGS.find((one) => one.path === path && (one.action === undefined || one.action === action));
  if (showing === undefined) return text;
  const body: Record<string, unknown> = JSON.parse(text);
  return JSON.stringify({ ...body, ...Object.fromEntries(showing.members.map((name) => [name, null])) });
}
