import type { Asset } from '../../../platform/http/assets.ts';
import type { Outgoing } from '../../../platform/http/message.ts';
import type { Random } from '../../../platform/random.ts';
import { CONNECT_PATH } from '../../guide/mcp-server.ts';
import { renderMessage } from '../key-page/render-key-page.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy, renderShell } from '../shell/render-shell.ts';

export interface ConnectPage {
  title: string;
  /** HTML. */
  main: string;
  path: string;
  script: Asset;
  status?: number;
}

const NO_STORE = { 'cache-control': 'private, no-store' };

/** A page of the hosted connector: it runs its own script and asks this market alone. */
export function answerConnectHtml(random: Random, { title, main, path, script, status = 200 }: ConnectPage): Outgoing {
  const nonce = random.bytes(18).toString('base64url');
  return {
    status,
    headers: {
      ...NO_STORE,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `${noncePolicy(nonce)}; connect-src 'self'`,
      vary: 'accept',
    },
    body: renderShell({ title: `${title} - Openaisle`, main, path, nonce, scripts: [script.path] }),
  };
}

/** A few words in place of such a page, and the way to the one that explains it all. */
export function answerConnectMessage(
  random: Random,
  { status, before, ...words }: { status: number; title: string; text: string; before: string },
): Outgoing {
  const link = { before, address: CONNECT_PATH, name: 'Connect a program', after: '.' };
  const main = renderMessage({ ...words, link });
  return answerConnectHtml(random, { title: words.title, main, path: CONNECT_PATH, script: SHELL.copying, status });
}

export function answerConnectJson(body: unknown): Outgoing {
  return {
    status: 200,
    headers: { ...NO_STORE, 'content-type': 'application/json; charset=utf-8', vary: 'accept' },
    body: JSON.stringify(body),
  };
}

export function answerConnectText(body: string): Outgoing {
  return {
    status: 200,
    headers: { ...NO_STORE, 'content-type': 'text/plain; charset=utf-8', vary: 'accept' },
    body,
  };
}
