import { watchText, withoutDownloadToken } from './canary.ts';
import type { World } from './market-world.ts';

export type Era = 'modern' | 'legacy';

const REVISION: Readonly<Record<Era, string>> = { modern: '2026-07-28', legacy: '2025-11-25' };

export interface McpAsked {
  era?: Era;
  path?: string;
  headers?: Readonly<Record<string, string>>;
  meta?: Readonly<Record<string, unknown>>;
  id?: number | string;
  /** Runs for each message as it arrives. */
  onEvent?: (message: Record<string, unknown>) => Promise<void>;
}

export interface McpAnswer {
  status: number;
  headers: Headers;
  /** The whole JSON-RPC response, or the problem document if there is none. */
  message: { result?: Record<string, unknown>; error?: { code: number; message: string; data?: unknown } } & Record<
    string,
    unknown
  >;
  /** Messages that arrived before the response. */
  before: Record<string, unknown>[];
}

export interface ToolAnswer {
  status: number;
  /** Answer without `untrusted`. */
  body: Record<string, unknown>;
  /** Warning at the start of data that contains merchants' texts. */
  untrusted: unknown;
  text: string;
  isError: boolean;
  meta: Record<string, unknown>;
  before: Record<string, unknown>[];
}

/** Sends one message as a client of that revision, written by hand so that tests can change it. */
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
  const messages = await messagesOf(response, asked.onEvent);
  const last = messages.at(-1) ?? {};
  return { status: response.status, headers: response.headers, message: last, before: messages.slice(0, -1) };
}

/** Reads a single response, or a stream that ends with it. */
async function messagesOf(response: Response, onEvent: McpAsked['onEvent']): Promise<McpAnswer['message'][]> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    watchText(`the answer of ${response.url}`, withoutDownloadToken(text));
    return [JSON.parse(text === '' ? '{}' : text) as McpAnswer['message']];
  }
  const messages: McpAnswer['message'][] = [];
  let rest = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((one) => one.startsWith('data: '))) {
      const message = JSON.parse(line.slice('data: '.length)) as McpAnswer['message'];
      watchText(`the stream of ${response.url}`, withoutDownloadToken(line));
      messages.push(message);
      await onEvent?.(message);
    }
  }
  return messages;
}

/** Returns the merchants' text between the untrusted marks. Throws if there are no marks. */
export function unfenced(text: string): string {
  const [, mark, inside] = /^[^\n]+\n<(untrusted [0-9a-f]{16})>\n([\s\S]*)\n<\/\1>$/.exec(text) ?? [];
  if (mark === undefined || inside === undefined) throw new Error(`not fenced: ${text.slice(0, 200)}`);
  return inside;
}

/** Calls a tool and expects a tool result. */
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
  const { untrusted, ...body } = result['structuredContent'] as Record<string, unknown>;
  return {
    status,
    before,
    body,
    untrusted,
    text: content[0]?.text ?? '',
    isError: result['isError'] === true,
    meta: (result['_meta'] ?? {}) as Record<string, unknown>,
  };
}
