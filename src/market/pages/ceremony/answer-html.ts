import type { PageAnswer } from '../../../platform/http/server-options.ts';
import type { Random } from '../../../platform/random.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy } from '../shell/policy.ts';
import { renderShell } from '../shell/render-shell.ts';

export interface CeremonyPage {
  title: string;
  /** HTML. */
  main: string;
  path: string;
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** One Set-Cookie; no answer needs two. */
  cookie?: string | null;
}

/** A page of a ceremony: it is not cached, and runs the two scripts of this answer and nothing else. */
export function answerHtml(random: Random, page: CeremonyPage): PageAnswer {
  const { title, main, path, status = 200, headers = {}, cookie = null } = page;
  const nonce = random.bytes(18).toString('base64url');
  return {
    status,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': noncePolicy(nonce),
      ...(cookie === null ? {} : { 'set-cookie': cookie }),
    },
    body: renderShell({ title: `${title} - Openaisle`, main, path, nonce, scripts: [SHELL.ceremony.path] }),
  };
}
