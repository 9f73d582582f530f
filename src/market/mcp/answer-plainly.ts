import type { IncomingHttpHeaders } from 'node:http';
import { endpoints } from '../../contract/index.ts';
import { META } from '../../contract/tools.ts';
import type { Incoming, Outgoing } from '../../platform/http/incoming.ts';
import type { QuickParts, QuickPost } from '../../platform/http/prepared.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Caller } from './call-tool.ts';
import { createKeptResults, type KeptResults } from './kept-results.ts';
import { readAnswer } from './read-answer.ts';
import { type Message, readMessage } from './read-message.ts';
import { serverInfo } from './server-info.ts';
import { type SplitArguments, splitArguments } from './split-arguments.ts';
import { findTool, type KnownTool } from './tool-book.ts';

/** About a hundred full pages, as results. */
const KEPT_BYTES = 16_777_216;

export interface PlainAnswers {
  /** From what lies ready in memory. */
  quickly: QuickPost;
  answer(incoming: Incoming, message: Message): Promise<Outgoing | null>;
}

/**
 * A call of a public read in its plainest form, answered without the protocol's library: the bytes of the route are put into the envelope
 * as they are, instead of being read, checked and written three times. Whatever is unusual about a message, or refused, is left to the
 * library, which answers the same (`mcp-plain.test.ts` holds one against the other).
 */
export function createPlainAnswers(by: Caller): PlainAnswers {
  const { baseUrl } = by.market.config;
  const kept = createKeptResults(KEPT_BYTES);
  const envelope = createEnvelope(baseUrl);
  const isOwn = ownHost(baseUrl);
  return {
    quickly: ({ headers, body }) => {
      if (!isOwn(headers)) return null;
      return unlessRefused(() => {
        const message = readMessage(by.inside.guard, { headers, body });
        const asked = message.refusal === null ? readAsked(headers, message.message) : null;
        const result = asked === null ? null : glance(by, kept, asked);
        return asked === null || result === null ? null : envelope(asked.plain, result);
      });
    },
    answer: async (incoming, message) => {
      const asked = unlessRefused(() => readAsked(incoming.headers, message));
      const result = asked === null ? null : (glance(by, kept, asked) ?? (await ask(by, asked, incoming)));
      if (asked === null || result === null) return null;
      incoming.notes['tool'] = asked.plain.tool.name;
      const { contentType, parts } = envelope(asked.plain, result);
      return {
        status: 200,
        headers: { 'content-type': contentType, 'cache-control': 'private, no-store' },
        body: parts,
      };
    },
  };
}

/** Of a program, to this very host: what else there may be is looked at on the ordinary way. */
function ownHost(baseUrl: string): (headers: IncomingHttpHeaders) => boolean {
  const { host } = new URL(baseUrl);
  return ({ host: asked, origin }) => asked === host && origin === undefined;
}

function unlessRefused<T>(act: () => T | null): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

interface Asked {
  plain: Plain;
  request: SplitArguments['request'];
}

function readAsked(headers: IncomingHttpHeaders, message: Message): Asked | null {
  const plain = readPlain(headers, message);
  if (plain === null || plain.tool.asks === 'front_door') return null;
  return { plain, request: splitArguments(plain.tool.asks, plain.given).request };
}

/** What lies ready in memory. Its ETag names the bytes, so a result that was made of them once is good for as long as it is the same. */
function glance(by: Caller, kept: KeptResults, { plain, request }: Asked): Buffer | null {
  const answer = by.inside.glance(targetOf(request));
  if (answer === null) return null;
  try {
    const key = `${plain.tool.name} ${answer.etag}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const bytes = 'body' in answer ? answer.body : Buffer.concat(answer.pieces);
    const made = resultOf(by, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
    if (made !== null) kept.put(key, made);
    return made;
  } finally {
    answer.release?.();
  }
}

async function ask(by: Caller, { request }: Asked, incoming: Incoming): Promise<Buffer | null> {
  const { status, text } = await readAnswer(await by.inside.ask(request, incoming));
  return status === 200 ? resultOf(by, text) : null;
}

function resultOf({ inside }: Caller, text: string): Buffer | null {
  if (inside.guard.inText(text)) return null;
  return Buffer.from(`"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}`);
}

function targetOf({ route, params = {}, query = '' }: SplitArguments['request']): string {
  const path = route
    .slice(route.indexOf(' ') + 1)
    .replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return query === '' ? path : `${path}?${query}`;
}

interface Plain {
  tool: KnownTool;
  given: Readonly<Record<string, unknown>>;
  id: string | number;
  isModern: boolean;
}

const MODERN = '2026-07-28';
const LEGACY: ReadonlySet<unknown> = new Set(['2025-11-25', '2025-06-18']);
const BOTH_FORMS = 'application/json, text/event-stream';

function readPlain(headers: IncomingHttpHeaders, message: Message): Plain | null {
  const { jsonrpc, id, method, params, ...rest } = message;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isPlainId(id) || Object.keys(rest).length > 0) return null;
  if (headers.accept !== BOTH_FORMS || !isObject(params)) return null;
  const { name, arguments: given = {}, _meta: meta, ...others } = params;
  if (typeof name !== 'string' || !isObject(given) || Object.keys(others).length > 0) return null;
  const tool = findTool(name);
  if (tool === undefined || !isPublicRead(tool)) return null;
  const version = headers['mcp-protocol-version'];
  if (LEGACY.has(version)) return meta === undefined ? { tool, given, id, isModern: false } : null;
  const isModern = version === MODERN && headers['mcp-method'] === method && headers['mcp-name'] === name;
  return isModern && isPlainEnvelope(meta) ? { tool, given, id, isModern } : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlainId(id: unknown): id is string | number {
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
}

function isPublicRead({ kind, asks }: KnownTool): boolean {
  if (kind !== 'public' || asks === 'front_door' || asks.length !== 1) return false;
  return endpoints[asks[0].endpoint].cache === 'public';
}

/** Which revision, what the client can do, and at most its name: what every call of the new revision carries. */
function isPlainEnvelope(meta: unknown): boolean {
  if (!isObject(meta)) return false;
  const {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': client,
    ...others
  } = meta;
  if (version !== MODERN || !isObject(capabilities) || Object.keys(capabilities).length > 0) return false;
  return Object.keys(others).length === 0 && (client === undefined || isPlainClient(client));
}

function isPlainClient(client: unknown): boolean {
  if (!isObject(client)) return false;
  const { name, version, ...others } = client;
  return typeof name === 'string' && typeof version === 'string' && Object.keys(others).length === 0;
}

type Envelope = (plain: Plain, result: Buffer) => QuickParts;

const HEADS = { modern: Buffer.from('{"result":{'), legacy: Buffer.from('event: message\ndata: {"result":{') };

/** What stands around a result. All but the id is the same for all calls of a tool. */
function createEnvelope(baseUrl: string): Envelope {
  const modern = JSON.stringify({ 'io.modelcontextprotocol/serverInfo': serverInfo(baseUrl) }).slice(1, -1);
  const untrusted = JSON.stringify({ [META.untrusted]: true }).slice(1, -1);
  return ({ tool, id, isModern }, result) => {
    const own = tool.holdsMerchantText ? untrusted : '';
    const close = `},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
    if (isModern) {
      const tail = `,"_meta":{${own}${own === '' ? '' : ','}${modern}},"resultType":"complete"${close}`;
      return { contentType: 'application/json', parts: [HEADS.modern, result, Buffer.from(tail)] };
    }
    const tail = `${own === '' ? '' : `,"_meta":{${own}}`}${close}\n\n`;
    return { contentType: 'text/event-stream', parts: [HEADS.legacy, result, Buffer.from(tail)] };
  };
}
