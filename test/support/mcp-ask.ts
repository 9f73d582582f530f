import type { World } from './market-world.ts';

export type Era = 'modern' | 'legacy';

const REVISION: Readonly<Record<Era, string>> = { modern: '2026-07-28', legacy: '2025-11-25' };

export interface McpAsked {
  era?: Era;
  path?: string;
  headers?: Readonly<Record<string, string>>;
  meta?: Readonly<Record<string, unknown>>;
  id?: number | string;
}

export interface McpAnswer {
  status: number;
  headers: Headers;
  /** The whole JSON-RPC answer, or the problem where it is none. */
  message: { result?: Record<string, unknown>; error?: { code: number; message: string; data?: unknown } } & Record<
    string,
    unknown
  >;
  /** Messages that came before it. */
  before: Record<string, unknown>[];
}

export interface ToolAnswer {
  status: number;
  body: Record<string, unknown>;
  text: string;
  isError: boolean;
  meta: Record<string, unknown>;
  before: Record<string, unknown>[];
}

/** One message as a client of that revision sends it, written by hand so that tests can bend it. */
export async function askMcp(
  { url }: Pick<World, 'url'>,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  asked: McpAsked = {},
): Promise<McpAnswer> {
  const { era = 'modern', path = '/mcp', headers = {}, meta = {}, id = 1 } = asked;
  const envelope =
    era === 'legacy'
      ? {}
      : {
          'io.modelcontextprotocol/protocolVersion': REVISION.modern,
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        };
  const all = { ...envelope, ...meta };
  const name = params['name'] ?? params['uri'];
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION[era],
      ...(era === 'modern' ? { 'mcp-method': method, ...(typeof name === 'string' ? { 'mcp-name': name } : {}) } : {}),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, ...(Object.keys(all).length > 0 ? { _meta: all } : {}) },
    }),
  });
  const text = await response.text();
  const messages =
    text.startsWith('event:') || text.startsWith(':') || text.startsWith('id:')
      ? eventsOf(text)
      : [JSON.parse(text || '{}')];
  const last = messages.at(-1) ?? {};
  return { status: response.status, headers: response.headers, message: last, before: messages.slice(0, -1) };
}

function eventsOf(text: string): McpAnswer['message'][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as McpAnswer['message']);
}

/** A call of a tool that has to come back as a tool's result. */
export async function callTool(
  world: Pick<World, 'url'>,
  name: string,
  given: Readonly<Record<string, unknown>> = {},
  asked: McpAsked & { key?: string } = {},
): Promise<ToolAnswer> {
  const { key, ...rest } = asked;
  const headers = { ...rest.headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  const { status, message, before } = await askMcp(
    world,
    'tools/call',
    { name, arguments: given },
    { ...rest, headers },
  );
  const { result } = message;
  if (result === undefined) throw new Error(`${name} gave no result: ${status} ${JSON.stringify(message)}`);
  const content = result['content'] as { text: string }[];
  return {
    status,
    before,
    body: result['structuredContent'] as Record<string, unknown>,
    text: content[0]?.text ?? '',
    isError: result['isError'] === true,
    meta: (result['_meta'] ?? {}) as Record<string, unknown>,
  };
}
