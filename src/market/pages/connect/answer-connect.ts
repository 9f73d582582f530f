import type { Asset } from '../../../platform/http/assets.ts';
import type { Outgoing } from '../../../platform/http/message.ts';
import type { Random } from '../../../platform/random.ts';
import { CONNECT_PATH } from '../../guide/mcp-server.ts';
import { renderMessage } from '../key-page/render-key-page.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy, renderShell } from '../shell/render-shell.ts';

export interface ConnectPage {
  title: string;
  /** HTML inside the main element. */
  main: string;
  path: string;
  script: Asset;
  status?: number;
}

const NO_STORE = { 'cache-control': 'private, no-store' };

/** Answers with a page of the hosted connector. Its CSP allows only its own script and requests to this market. */
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

/** Answers with a short message and a link to the page about the connector. */
export function answerConnectMessage(
  random: Random,
  { status, before, ...words }: { status: number; title: string; text: string; before: string },
): Outgoing {
  const link = { before, address: CONNECT_PATH, name: 'Connect a program', after: '.' };
  const main = renderMessage({ ...words, link });
  return answerConnectHtml(random, { title: words.title, main, path: CONNECT_PATH, script: SHELL.copying, status });
}

export function answerConnectJson(body: unknown): Outgoing {
  return answerConnect('application/json', JSON.stringify(body));
}

export function answerConnectText(body: string): Outgoing {
  return answerConnect('text/plain', body);
}

function answerConnect(type: string, body: string): Outgoing {
  return { status: 200, headers: { ...NO_STORE, 'content-type': `${type}; charset=utf-8`, vary: 'accept' }, body };
}
