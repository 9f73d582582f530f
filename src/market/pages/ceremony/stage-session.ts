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
import type { Ceremony, Form } from './ceremony.ts';

/** What this browser has begun, and what has become of it. */
export type StageStatus =
  | { is: 'none' }
  | (Begun & { is: 'open' })
  | (Begun & { is: 'confirmed' | 'canceled' | 'superseded' | 'expired' });

export type OpenStage = Extract<StageStatus, { is: 'open' }>;
export type EndedStage = Exclude<StageStatus, { is: 'open' | 'none' }>;

interface Begun {
  cookie: StageCookie;
  shownAt: Date;
  expiresAt: Date;
  of: IdentityChange;
}

/** A cookie that names no stage, such as one that another site has set, counts as none. */
export async function findStageStatus(
  { database, clock }: Pick<Market, 'database' | 'clock'>,
  cookies: Readonly<Record<string, string>>,
): Promise<StageStatus> {
  const cookie = readStageCookie(cookies);
  if (cookie === null) return { is: 'none' };
  try {
    const {
      change: of,
      expiresAt,
      closedAs,
    } = await findOwnPendingChange(database, cookie.kind, cookie, { lock: false });
    const shownAt = new Date(expiresAt.getTime() - STAGE_MINUTES * 60_000);
    const isOver = clock.now() >= expiresAt.getTime();
    return { is: closedAs ?? (isOver ? 'expired' : 'open'), cookie, shownAt, expiresAt, of };
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'not_found') return { is: 'none' };
    throw error;
  }
}

export interface CeremonyDependencies {
  ceremonies: readonly Ceremony[];
  catalog: Pick<Catalog, 'fresh'>;
}

/** What every step of a form is taken with, once it is known to be this browser's own. */
export interface Step {
  market: Market;
  dependencies: CeremonyDependencies;
  ceremony: Ceremony;
  call: FormCall;
  token: FormToken;
  stageStatus: StageStatus;
}

/** Whether the form stands on a page of a stage before the one that is begun now. */
export function isOfEarlier(form: Form, cookie: StageCookie): boolean {
  return form['mark'] !== undefined && form['mark'] !== markOf(cookie);
}

/** With the prefix no other host and no plain http can set it (it needs Secure and Path=/, and takes no Domain). */
const STAGE_COOKIE = '__Host-openaisle-stage';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';
/** Longer than a stage lives, so that an expired one can be called so. */
const KEPT_SECONDS = 3_600;

const KINDS: Readonly<Record<string, ChangeKind>> = { register: 'register', rotate: 'rotate', recovery: 'recovery' };
const STAGE_COOKIE_FORM = /^([a-z]+)\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** The stage that this browser has begun: what the API calls session and csrf, and the door. */
export interface StageCookie extends PendingChangeSession {
  kind: ChangeKind;
}

function readStageCookie(cookies: Readonly<Record<string, string>>): StageCookie | null {
  const [, name = '', session = '', csrf = ''] = STAGE_COOKIE_FORM.exec(cookies[STAGE_COOKIE] ?? '') ?? [];
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  return kind === undefined ? null : { kind, session, csrf };
}

export function setStageCookie({ kind, session, csrf }: StageCookie): string {
  return `${STAGE_COOKIE}=${kind}.${session}.${csrf}; Max-Age=${KEPT_SECONDS}; ${ATTRIBUTES}`;
}

export function clearStageCookie(): string {
  return `${STAGE_COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;
}

/** Tells a form of an earlier stage from one of this stage, and gives nothing away. */
export function markOf({ session }: PendingChangeSession): string {
  return sha256('mark ', session).toString('base64url').slice(0, 16);
}

const FORM_COOKIE = '__Host-openaisle-form';
const FORM_SECRET = /^[A-Za-z0-9_-]{43}$/;

export interface FormToken {
  /** Goes into the form. */
  value: string;
  /** To be set where the browser has none yet. */
  cookie: string | null;
}

/** Binds a page's forms to the browser that was given the page: what only a cookie of ours and the form itself both know. */
export function formToken(random: Random, path: string, cookies: Readonly<Record<string, string>>): FormToken {
  const kept = cookies[FORM_COOKIE];
  if (kept !== undefined && FORM_SECRET.test(kept)) return { value: tokenOf(kept, path), cookie: null };
  const secret = random.bytes(32).toString('base64url');
  return {
    value: tokenOf(secret, path),
    cookie: `${FORM_COOKIE}=${secret}; Path=/; Secure; HttpOnly; SameSite=Strict`,
  };
}

export function isOwnToken({ cookies, form }: Pick<FormCall, 'cookies' | 'form'>, path: string): boolean {
  const kept = cookies[FORM_COOKIE];
  if (kept === undefined || !FORM_SECRET.test(kept)) return false;
  // Hashed, so that both are of one length.
  return timingSafeEqual(sha256(tokenOf(kept, path)), sha256(form['token'] ?? ''));
}

function tokenOf(secret: string, path: string): string {
  return sha256('form ', path, ' ', secret).toString('base64url');
}

/**
 * Whether the browser says that another site sent the form. Old browsers say nothing, or the origin alone; and under our referrer policy
 * that is `null` for our own forms too, so then the token has to decide.
 */
export function isFromElsewhere({ site, origin }: FormCall['sentFrom'], baseUrl: string): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && origin !== 'null' && origin !== new URL(baseUrl).origin;
}
