import { timingSafeEqual } from 'node:crypto';
import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { FormCall } from '../../../platform/http/server-options.ts';
import type { Random } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Market } from '../../context.ts';
import { findOwnPendingChange, type PendingChangeSession } from '../../identity/pending-changes/pending-changes.ts';
import type { ChangeKind, IdentityChange } from '../../identity/pending-changes/store.ts';
import type { Form, KeyPage } from './key-page.ts';

export type PendingStatus =
  | { is: 'none' }
  | (BegunChange & { is: 'open' })
  | (BegunChange & { is: 'confirmed' | 'canceled' | 'superseded' | 'expired' });

export type OpenChange = Extract<PendingStatus, { is: 'open' }>;
export type EndedChange = Exclude<PendingStatus, { is: 'open' | 'none' }>;

interface BegunChange {
  cookie: PendingCookie;
  shownAt: Date;
  expiresAt: Date;
  change: IdentityChange;
}

/** Reads the pending change of the cookie. A cookie that names no change, such as one set by another site, counts as no cookie. */
export async function findPendingStatus(
  { database, clock }: Pick<Market, 'database' | 'clock'>,
  cookies: Readonly<Record<string, string>>,
): Promise<PendingStatus> {
  const cookie = readPendingCookie(cookies);
  if (cookie === null) return { is: 'none' };
  try {
    const { change, expiresAt, closedAs } = await findOwnPendingChange(database, cookie.kind, cookie, { lock: false });
    const shownAt = new Date(expiresAt.getTime() - STAGE_MINUTES * 60_000);
    const isOver = clock.now() >= expiresAt.getTime();
    return { is: closedAs ?? (isOver ? 'expired' : 'open'), cookie, shownAt, expiresAt, change };
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'not_found') return { is: 'none' };
    throw error;
  }
}

export interface KeyPageContext {
  market: Market;
  catalog: Pick<Catalog, 'fresh'>;
  keyPages: readonly KeyPage[];
  /** The page of `keyPages` that was requested. */
  keyPage: KeyPage;
}

export interface Step extends KeyPageContext {
  call: FormCall;
  token: FormToken;
  pending: PendingStatus;
}

/** Whether the form belongs to an earlier pending change. */
export function isOfEarlierChange(form: Form, cookie: PendingCookie): boolean {
  return form['mark'] !== undefined && form['mark'] !== markOf(cookie);
}

/** The __Host- prefix makes browsers require Secure and Path=/ and forbid Domain, so no other host and no plain http can set it. */
const PENDING_COOKIE = '__Host-openaisle-stage';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';
/** Longer than a pending change lasts, so that an expired one can be reported as expired. */
const COOKIE_SECONDS = 3_600;

const KINDS: Readonly<Record<string, ChangeKind>> = { register: 'register', rotate: 'rotate', recovery: 'recovery' };
const PENDING_COOKIE_FORM = /^([a-z]+)\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** Contents of the cookie: the API's session and csrf, and the kind of change. */
export interface PendingCookie extends PendingChangeSession {
  kind: ChangeKind;
}

function readPendingCookie(cookies: Readonly<Record<string, string>>): PendingCookie | null {
  const [, name = '', session = '', csrf = ''] = PENDING_COOKIE_FORM.exec(cookies[PENDING_COOKIE] ?? '') ?? [];
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  return kind === undefined ? null : { kind, session, csrf };
}

export function setPendingCookie({ kind, session, csrf }: PendingCookie): string {
  return `${PENDING_COOKIE}=${kind}.${session}.${csrf}; Max-Age=${COOKIE_SECONDS}; ${ATTRIBUTES}`;
}

export function clearPendingCookie(): string {
  return `${PENDING_COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;
}

/** Derives a mark by which forms of an earlier pending change are recognized. It does not reveal the session. */
export function markOf({ session }: PendingChangeSession): string {
  return sha256('mark ', session).toString('base64url').slice(0, 16);
}

const FORM_COOKIE = '__Host-openaisle-form';
const FORM_SECRET = /^[A-Za-z0-9_-]{43}$/;

export interface FormToken {
  value: string;
  /** Set-Cookie value. Null if the browser has the cookie already. */
  cookie: string | null;
}

/** Binds a page's forms to this browser by a token derived from a secret in our cookie. */
export function formToken(random: Random, path: string, cookies: Readonly<Record<string, string>>): FormToken {
  const existing = cookies[FORM_COOKIE];
  if (existing !== undefined && FORM_SECRET.test(existing)) return { value: tokenOf(existing, path), cookie: null };
  const secret = random.bytes(32).toString('base64url');
  return { value: tokenOf(secret, path), cookie: `${FORM_COOKIE}=${secret}; ${ATTRIBUTES}` };
}

export function isOwnToken({ cookies, form }: Pick<FormCall, 'cookies' | 'form'>, path: string): boolean {
  const existing = cookies[FORM_COOKIE];
  if (existing === undefined || !FORM_SECRET.test(existing)) return false;
  // timingSafeEqual needs equal lengths, so compare hashes.
  return timingSafeEqual(sha256(tokenOf(existing, path)), sha256(form['token'] ?? ''));
}

function tokenOf(secret: string, path: string): string {
  return sha256('form ', path, ' ', secret).toString('base64url');
}

/**
 * Whether the browser reports that another site sent the form. Old browsers send no Sec-Fetch-Site, and our referrer policy turns their
 * Origin into `null` even for our own forms, so only the form token protects them.
 */
export function isFromOtherSite({ site, origin }: FormCall['sentFrom'], baseUrl: string): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && origin !== 'null' && origin !== new URL(baseUrl).origin;
}
