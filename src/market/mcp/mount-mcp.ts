import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import type { ExtraRoute } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { Visitor } from '../connect/interaction.ts';
import { type Message, readMessage } from './messages.ts';

/** The web-standard face of the protocol's library. */
type McpHandler = (request: Request, options: { authInfo: AuthInfo; parsedBody?: unknown }) => Promise<Response>;

export interface McpMountOptions {
  path: string;
  /** Stateless: POST alone. Tests may let a handler with sessions have the others. */
  methods?: readonly ExtraRoute['method'][];
  baseUrl: string;
  guard: SecretGuard;
  handle: McpHandler;
  /** Who a message is for; throws a Refusal. Left out: the open entry. */
  admit?(incoming: Incoming, message: Message): Promise<Visitor>;
}

/** A whole artifact with what JSON makes of it, and the envelope around it. */
const BODY_LIMIT_BYTES = 2_097_152;
const PARSE_ERROR = -32_700;
/** What the protocol's library reads; it never sees a credential. */
const PASSED_HEADERS = /^(?:accept|content-type|last-event-id|mcp-[a-z-]+)$/;

/** MCP over HTTP at one address: who may ask, what was sent, and then the protocol's own library. */
export function mountMcp(options: McpMountOptions): ExtraRoute[] {
  const methods = options.methods ?? (['POST'] as const);
  return methods.map((method) => ({
    method,
    path: options.path,
    bodyLimit: BODY_LIMIT_BYTES,
    ownOrigin: true,
    answer: (incoming) => answer(options, incoming),
  }));
}

async function answer(options: McpMountOptions, incoming: Incoming): Promise<Outgoing> {
  checkOrigin(incoming, options.baseUrl);
  if (incoming.method !== 'POST') return await forward(options, incoming, { visitor: null, refusal: null });
  try {
    const { message, refusal } = readMessage(options.guard, incoming);
    if (typeof message.method === 'string') incoming.notes['mcp'] = message.method.slice(0, 40);
    const visitor = (await options.admit?.(incoming, message)) ?? null;
    return await forward(options, incoming, { visitor, refusal }, message);
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'malformed_json') return parseError(error);
    throw error;
  }
}

async function forward(
  { baseUrl, handle, path }: McpMountOptions,
  incoming: Incoming,
  from: Pick<Visit, 'visitor' | 'refusal'>,
  message?: Message,
): Promise<Outgoing> {
  const { method, signal } = incoming;
  const request = new Request(`${baseUrl}${path}`, { method, signal, headers: passedHeaders(incoming) });
  const visit: Visit = { incoming, ...from };
  const authInfo: AuthInfo = { token: '', clientId: '', scopes: [], extra: { visit } };
  const response = await handle(request, { authInfo, ...(message === undefined ? {} : { parsedBody: message }) });
  return outgoingOf(response);
}

function passedHeaders({ headers }: Incoming): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    PASSED_HEADERS.test(name) && typeof value === 'string' ? [[name, value] as [string, string]] : [],
  );
}

async function outgoingOf(response: Response): Promise<Outgoing> {
  const headers: Outgoing['headers'] = {
    ...Object.fromEntries(response.headers),
    'cache-control': 'private, no-store',
  };
  const { status, body } = response;
  if (body === null) return { status, headers, body: '' };
  if (headers['content-type'] !== 'text/event-stream') {
    return { status, headers, body: new Uint8Array(await response.arrayBuffer()) };
  }
  return { status, headers: { ...headers, 'x-accel-buffering': 'no' }, body };
}

/** Nothing of what was sent: not even the id is known. */
function parseError({ message }: Refusal): Outgoing {
  const problem = { jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: `Parse error: ${message}` } };
  return {
    status: 400,
    headers: { 'content-type': 'application/json', 'cache-control': 'private, no-store' },
    body: JSON.stringify(problem),
  };
}

/** The visit that a request to the protocol's library stands for. */
export function visitOf(authInfo: AuthInfo | undefined): Visit {
  const visit = authInfo?.extra?.['visit'];
  if (visit === undefined) throw new TypeError('a message came in past its mount');
  return visit as Visit;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A page of another site that resolves to us may not talk to us in its visitor's name: who calls has to mean this host. */
function checkOrigin({ headers }: Pick<Incoming, 'headers'>, baseUrl: string): void {
  const own = new URL(baseUrl);
  const isOurs = (name: string): boolean => name === own.hostname || (LOOPBACK.has(own.hostname) && LOOPBACK.has(name));
  const host = hostOf(`http://${headers.host ?? ''}`);
  // A proxy in front may call us by a loopback name; a browser that was lured here sends the name that lured it.
  if (host === null || !(isOurs(host) || LOOPBACK.has(host))) {
    throw new Refusal('origin_refused', { detail: 'The Host header names another host than this market.' });
  }
  const { origin } = headers;
  if (origin === undefined || origin === own.origin) return;
  const from = hostOf(origin);
  if (from === null || !LOOPBACK.has(own.hostname) || !isOurs(from)) throw new Refusal('origin_refused');
}

function hostOf(url: string): string | null {
  return URL.parse(url)?.hostname || null;
}

/** One message that came in, on its way through the protocol's own library to a tool. */
export interface Visit {
  incoming: Incoming;
  /** Who a hosted client acts for; null: the open entry, where Authorization may hold a key. */
  visitor: Visitor | null;
  /** Why no tool may look at what was sent: it holds a secret. */
  refusal: Refusal | null;
}
