import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { FormCall } from '../../../platform/http/server-options.ts';
import type { Random } from '../../../platform/random.ts';

const NAME = '__Host-openaisle-form';
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export interface FormToken {
  /** Goes into the form. */
  value: string;
  /** To be set where the browser has none yet. */
  cookie: string | null;
}

/** Binds a page's forms to the browser that was given the page: what only a cookie of ours and the form itself both know. */
export function formToken(random: Random, path: string, cookies: Readonly<Record<string, string>>): FormToken {
  const kept = cookies[NAME];
  if (kept !== undefined && SECRET.test(kept)) return { value: tokenOf(kept, path), cookie: null };
  const secret = random.bytes(32).toString('base64url');
  return {
    value: tokenOf(secret, path),
    cookie: `${NAME}=${secret}; Path=/; Secure; HttpOnly; SameSite=Strict`,
  };
}

export function isOwnToken({ cookies, form }: Pick<FormCall, 'cookies' | 'form'>, path: string): boolean {
  const kept = cookies[NAME];
  if (kept === undefined || !SECRET.test(kept)) return false;
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
