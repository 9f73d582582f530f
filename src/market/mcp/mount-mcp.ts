import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import type { ExtraRoute } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { HostedCaller } from '../connect/interaction.ts';
import { type Message, readMessage } from './messages.ts';

type McpHandler = (request: Request, options: { authInfo: AuthInfo; parsedBody?: unknown }) => Promise<Response>;

/** One incoming message on its way through the protocol library to a tool. */
export interface ToolRequest {
  incoming: Incoming;
  /** The merchant for whom a hosted client acts. Null at /mcp, where Authorization may hold a key. */
  hosted: HostedCaller | null;
  /** Set if the arguments contain a secret. The tool call is then answered with this refusal. */
  refusal: Refusal | null;
}

export interface McpMountOptions {
  path: string;
  /** Default: only POST, because the server is stateless. Tests add more for a handler with sessions. */
  methods?: readonly ExtraRoute['method'][];
  baseUrl: string;
  guard: SecretGuard;
  handle: McpHandler;
  /** Returns the hosted caller or throws a Refusal. Omitted at /mcp, which is open to everybody. */
  admit?(incoming: Incoming, message: Message): Promise<HostedCaller>;
}

/** Large enough for the largest artifact, escaped in JSON, and its envelope. */
const BODY_LIMIT_BYTES = 2_097_152;
const PARSE_ERROR = -32_700;
/** Headers that the protocol library may read. They contain no credentials. */
const PASSED_HEADERS = /^(?:accept|content-type|last-event-id|mcp-[a-z-]+)$/;

/** Serves MCP over HTTP at one address. Checks the origin, guards the message, checks the caller, then calls the protocol library. */
export function mountMcp(options: McpMountOptions): ExtraRoute[] {
  const methods = options.methods ?? (['POST'] as const);
  return methods.map((method) => ({
    method,
    path: options.path,
    bodyLimit: BODY_LIMIT_BYTES,
    ownOrigin: true,
    answer: (incoming) => answerMessage(options, incoming),
  }));
}

async function answerMessage(options: McpMountOptions, incoming: Incoming): Promise<Outgoing> {
  checkOrigin(incoming, options.baseUrl);
  if (incoming.method !== 'POST') return await callLibrary(options, incoming, { hosted: null, refusal: null });
  try {
    const { message, refusal } = readMessage(options.guard, incoming);
    if (typeof message.method === 'string') incoming.notes['mcp'] = message.method.slice(0, 40);
    const hosted = (await options.admit?.(incoming, message)) ?? null;
    return await callLibrary(options, incoming, { hosted, refusal }, message);
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'malformed_json') return parseError(error);
    throw error;
  }
}

async function callLibrary(
  { baseUrl, handle, path }: McpMountOptions,
  incoming: Incoming,
  from: Pick<ToolRequest, 'hosted' | 'refusal'>,
  message?: Message,
): Promise<Outgoing> {
  const { method, signal } = incoming;
  const request = new Request(`${baseUrl}${path}`, { method, signal, headers: passedHeaders(incoming) });
  const toolRequest: ToolRequest = { incoming, ...from };
  const authInfo: AuthInfo = { token: '', clientId: '', scopes: [], extra: { toolRequest } };
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

/** Answers malformed JSON without repeating any of it. The message's id is unknown. */
function parseError({ message }: Refusal): Outgoing {
  const problem = { jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: `Parse error: ${message}` } };
  return {
    status: 400,
    headers: { 'content-type': 'application/json', 'cache-control': 'private, no-store' },
    body: JSON.stringify(problem),
  };
}

/** Returns our request, which was passed through the protocol library. */
export function toolRequestOf(authInfo: AuthInfo | undefined): ToolRequest {
  const toolRequest = authInfo?.extra?.['toolRequest'];
  if (toolRequest === undefined) throw new TypeError('the message did not come in through mountMcp');
  return toolRequest as ToolRequest;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Prevents DNS rebinding: another site lets its own name resolve to this server, so that its page can call us from a user's browser. */
function checkOrigin({ headers }: Pick<Incoming, 'headers'>, baseUrl: string): void {
  const own = new URL(baseUrl);
  const isOurs = (name: string): boolean => name === own.hostname || (LOOPBACK.has(own.hostname) && LOOPBACK.has(name));
  const host = hostOf(`http://${headers.host ?? ''}`);
  // A proxy may call us by a loopback name. A rebound browser sends the attacker's name, which is refused.
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
