import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answer of one site to the other: its own answer, a different one, none, or garbage. */
export type SiteAnswer =
  | { status: number; json: unknown }
  | { status: number; text: string; headers?: Record<string, string> }
  | 'hang_up'
  | 'silence';

/** Returns the replacement for the site's answer. Null keeps the answer. */
export type SiteTwist = (asked: { method: string; path: string; status: number; json: unknown }) => SiteAnswer | null;

export interface SeenRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

export interface SiteProxy {
  /** URL under which the other site knows this one. */
  url: string;
  /** All requests so far. */
  seen: SeenRequest[];
  /** Sets the twist. Null forwards everything unchanged. */
  twist(twist: SiteTwist | null): void;
  close(): Promise<void>;
}

/** Starts a proxy between this site and the other one. It forwards everything unchanged until a twist is set. */
export async function startSiteProxy(target: () => string): Promise<SiteProxy> {
  const seen: SeenRequest[] = [];
  let twisted: SiteTwist | null = null;
  const server = createServer((request, response) => {
    passOn(request, response).catch(() => response.destroy());
  });

  async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await readRequest(request);
    seen.push(asked);
    const own = await askSite(target(), asked).catch(() => null);
    const json = own === null ? null : parse(own.text);
    const { method, path } = asked;
    const lie = twisted?.({ method, path, status: own?.status ?? 0, json }) ?? null;
    sendAnswer(response, lie ?? (own === null ? 'hang_up' : { ...own, headers: { 'content-type': own.type } }));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    twist: (twist) => {
      twisted = twist;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = 'GET', url: path = '/', headers } = request;
  return { method, path, headers, body: Buffer.concat(chunks).toString('utf8') };
}

function sendAnswer(response: ServerResponse, answer: SiteAnswer): void {
  if (answer === 'silence') return;
  if (answer === 'hang_up') return void response.destroy();
  const text = 'json' in answer ? JSON.stringify(answer.json) : answer.text;
  const headers = 'json' in answer ? {} : answer.headers;
  response.writeHead(answer.status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

async function askSite(
  target: string,
  { method, path, headers, body }: SeenRequest,
): Promise<{ status: number; type: string; text: string }> {
  const { authorization, accept, 'content-type': contentType } = headers;
  const sent: Record<string, string> = {};
  if (typeof authorization === 'string') sent['authorization'] = authorization;
  if (typeof accept === 'string') sent['accept'] = accept;
  if (typeof contentType === 'string') sent['content-type'] = contentType;
  const response = await fetch(target + path, {
    method,
    headers: sent,
    redirect: 'manual',
    ...(body === '' ? {} : { body }),
  });
  const type = response.headers.get('content-type') ?? 'application/json';
  return { status: response.status, type, text: await response.text() };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
