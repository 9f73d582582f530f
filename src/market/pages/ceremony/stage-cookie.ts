import { sha256 } from '../../../platform/canonical-json.ts';
import type { StageIdentity } from '../../identity/stages/stages.ts';
import type { StageKind } from '../../identity/stages/store.ts';

/** With the prefix no other host and no plain http can set it (it needs Secure and Path=/, and takes no Domain). */
const NAME = '__Host-openaisle-stage';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';
/** Longer than a stage lives, so that an expired one can be called so. */
const KEPT_SECONDS = 3_600;

const KINDS: Readonly<Record<string, StageKind>> = { register: 'register', rotate: 'rotate', recovery: 'recovery' };
const FORM = /^([a-z]+)\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** The stage that this browser has begun: what the API calls session and csrf, and the door. */
export interface StageCookie extends StageIdentity {
  kind: StageKind;
}

export function readStageCookie(cookies: Readonly<Record<string, string>>): StageCookie | null {
  const [, name = '', session = '', csrf = ''] = FORM.exec(cookies[NAME] ?? '') ?? [];
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  return kind === undefined ? null : { kind, session, csrf };
}

export function setStageCookie({ kind, session, csrf }: StageCookie): string {
  return `${NAME}=${kind}.${session}.${csrf}; Max-Age=${KEPT_SECONDS}; ${ATTRIBUTES}`;
}

export function clearStageCookie(): string {
  return `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;
}

/** Tells a form of an earlier stage from one of this stage, and gives nothing away. */
export function markOf({ session }: StageIdentity): string {
  return sha256('mark ', session).toString('base64url').slice(0, 16);
}
