import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ofSource, own } from '../contract/own-words.ts';
import { API_VERSION } from '../contract/vocabulary.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { UnreadableAnswer } from '../sdk/errors.ts';

/** Protocol revisions. A connection of the first begins with `initialize`. In the second, each message is complete by itself. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface ToolCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  /** Sent as `_meta` beside the arguments. */
  meta?: Readonly<Record<string, unknown>>;
  /** True to ask for progress. The market then waits while a payment is undecided, up to 45 s, before it answers. */
  follow?: boolean;
  signal?: AbortSignal | undefined;
}

export interface ToolAnswer {
  body: Readonly<Record<string, unknown>>;
  meta: Readonly<Record<string, unknown>>;
  /** True if the body is a problem document, like that of a refusal over HTTP. */
  refused: boolean;
}

export interface Watcher {
  asking?(call: ToolCall): void;
  answered?(call: ToolCall, answer: ToolAnswer): void;
  progress?(seconds: number, total: number | undefined, message: string): void;
}

export interface ConnectOptions {
  baseUrl: string;
  revision: Revision;
  /** Key of a merchant, sent in Authorization only. Without it the caller is anonymous. */
  key?: string;
  environment?: Pick<Environment, 'fetch'>;
  watcher?: Watcher;
}

export interface Tools extends AsyncDisposable {
  names: readonly string[];
  call(call: ToolCall): Promise<ToolAnswer>;
  readResource(uri: string): Promise<string>;
}

/** Longer than the market waits in one call. */
const TIMEOUT_MS = 60_000;

export async function connectTools(options: ConnectOptions): Promise<Tools> {
  const { baseUrl, revision, key, environment = systemEnvironment, watcher = {} } = options;
  const client = new Client(
    { name: 'openaisle-agent', version: API_VERSION },
    { versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
    fetch: (url, init) => environment.fetch(String(url), init ?? {}),
    // A redirect could send the key to an address that the caller did not choose.
    requestInit: { redirect: 'error', ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }) },
  });
  await client.connect(transport);
  const spoken = client.getNegotiatedProtocolVersion();
  if (spoken !== revision) throw new Error(`the market speaks ${spoken} instead of ${revision}`);
  // The library checks each result against the tool's schema from now on.
  const { tools } = await client.listTools();
  return {
    names: tools.map(({ name }) => name),
    call: async (call) => {
      watcher.asking?.(call);
      const answer = await callTool(client, call, watcher);
      watcher.answered?.(call, answer);
      return answer;
    },
    readResource: (uri) => readResource(client, uri),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function callTool(client: Client, call: ToolCall, { progress }: Watcher): Promise<ToolAnswer> {
  const { name, arguments: args, meta, follow = false, signal } = call;
  const onprogress = (update: { progress: number; total?: number | undefined; message?: string | undefined }): void =>
    progress?.(update.progress, update.total, update.message ?? '');
  try {
    const { structuredContent, _meta, isError } = await client.callTool(
      { name, arguments: { ...args }, ...(meta === undefined ? {} : { _meta: { ...meta } }) },
      {
        timeout: TIMEOUT_MS,
        resetTimeoutOnProgress: true,
        ...(follow ? { onprogress } : {}),
        ...(signal === undefined ? {} : { signal }),
      },
    );
    return { body: objectOf(structuredContent), meta: _meta ?? {}, refused: isError === true };
  } catch (cause) {
    // A lost answer does not show whether the payment in the request was made.
    throw new UnreadableAnswer('no_answer', own`the tool ${ofSource(name)} gave no result`, { cause });
  }
}

async function readResource(client: Client, uri: string): Promise<string> {
  const { contents } = await client.readResource({ uri });
  const [content] = contents;
  if (content === undefined || !('text' in content)) throw new Error(`there is no text at ${uri}`);
  return content.text;
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError('the result holds no data');
}
