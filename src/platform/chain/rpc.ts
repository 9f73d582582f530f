import { gatherCalls, type RpcAnswer, type RpcCall, RpcFailure, readAnswers, refusesBatches } from './rpc-batch.ts';

export type { RpcCall } from './rpc-batch.ts';
export { RpcFailure } from './rpc-batch.ts';

export interface RpcOptions {
  /** If given, the call is sent in a request of its own: it may run code of strangers, which must not delay other calls. */
  deadlineMs?: number;
}

export interface RpcTraffic {
  requests: number;
  bytes: { sent: number; received: number };
  calls: Readonly<Record<string, number>>;
}

/**
 * JSON-RPC 2.0 over HTTP, always to the same endpoint. Calls made at the same time share a request. A node's error fails only its own call;
 * a failed request fails all of its calls. Every failure is an `RpcFailure`. A call is repeated only if the node refuses the batch as such.
 */
export interface Rpc {
  /** Label for logs, without credentials. */
  readonly endpoint: string;
  call(method: string, params: readonly unknown[], options?: RpcOptions): Promise<unknown>;
  traffic(): RpcTraffic;
}

/** Makes the calls at the same time, so that they share a request. Rejects with the first failure. */
export function callAll(rpc: Pick<Rpc, 'call'>, calls: readonly RpcCall[]): Promise<unknown[]> {
  return Promise.all(calls.map(({ method, params }) => rpc.call(method, params)));
}

const DEADLINE_MS = 4_000;
const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024;
const REASON_LIMIT = 300;
/** Public nodes accept 10 to 1,000 calls in a batch. If a node refuses this many, we send smaller batches. */
const MAX_CALLS = 40;
/** After this time the full batch size is tried again, because the refusal may have been about one call and not about the size. */
const REFUSAL_CACHED_MS = 600_000;

export function createRpc(options: { url: string; deadlineMs?: number; headers?: Record<string, string> }): Rpc {
  const endpoint = parseEndpoint(options.url, options.headers);
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const traffic = { requests: 0, bytes: { sent: 0, received: 0 }, calls: {} as Record<string, number> };
  let refused: { most: number; at: number } | null = null;
  let lastId = 0;

  const post = async (calls: readonly RpcCall[], each: { deadlineMs: number }): Promise<RpcAnswer[]> => {
    const requests = calls.map(({ method, params }) => ({ jsonrpc: '2.0', id: ++lastId, method, params }));
    const what = `${[...new Set(calls.map((call) => call.method))].join(', ')} at ${endpoint.label}`;
    const body = JSON.stringify(calls.length === 1 ? requests[0] : requests);
    traffic.requests += 1;
    traffic.bytes.sent += body.length;
    for (const { method } of calls) traffic.calls[method] = (traffic.calls[method] ?? 0) + 1;
    const text = await postText(endpoint, body, { what, ...each });
    traffic.bytes.received += text.length;
    const ids = requests.map((request) => request.id);
    return readAnswers(parseJson(text, what), ids, { what, redact: endpoint.redact });
  };
  const ask = async (calls: readonly RpcCall[]): Promise<RpcAnswer[]> => {
    try {
      return await post(calls, { deadlineMs });
    } catch (error) {
      if (calls.length === 1 || !refusesBatches(error)) throw error;
      const most = Math.min(maxCallsNow(), Math.ceil(calls.length / 2));
      refused = { most, at: performance.now() };
      const halves = [calls.slice(0, most), calls.slice(most)];
      return (await Promise.all(halves.map((half) => askHalf(half)))).flat();
    }
  };
  const askHalf = async (calls: readonly RpcCall[]): Promise<RpcAnswer[]> => {
    try {
      return await ask(calls);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return calls.map(() => error);
    }
  };
  const maxCallsNow = (): number =>
    refused !== null && performance.now() - refused.at < REFUSAL_CACHED_MS ? refused.most : MAX_CALLS;
  const gathered = gatherCalls(ask, maxCallsNow);
  return {
    endpoint: endpoint.label,
    call: async (method, params, each) => {
      if (each?.deadlineMs === undefined) return await gathered({ method, params });
      const [answer] = await post([{ method, params }], { deadlineMs: each.deadlineMs });
      if (answer instanceof RpcFailure) throw answer;
      return answer?.result;
    },
    traffic: () => ({ ...traffic, bytes: { ...traffic.bytes }, calls: { ...traffic.calls } }),
  };
}

async function postText(endpoint: Endpoint, body: string, on: { what: string; deadlineMs: number }): Promise<string> {
  // One signal covers head and body, so that a node that sends byte by byte cannot outlast the deadline.
  const signal = AbortSignal.timeout(on.deadlineMs);
  try {
    const response = await fetch(endpoint.url, {
      method: 'POST',
      redirect: 'error',
      headers: { ...endpoint.headers, accept: 'application/json', 'content-type': 'application/json' },
      body,
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new RpcFailure('http', `${on.what}: HTTP ${response.status}`, { code: response.status });
    }
    return await readText(response, on.what);
  } catch (error) {
    if (error instanceof RpcFailure) throw error;
    if (signal.aborted) throw new RpcFailure('timeout', `${on.what}: no answer within ${on.deadlineMs} ms`);
    throw new RpcFailure('transport', `${on.what}: ${endpoint.redact(transportReason(error))}`);
  }
}

async function readText(response: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    // Count decompressed bytes, so that a small answer cannot expand without limit.
    if (size > ANSWER_LIMIT_BYTES)
      throw new RpcFailure('malformed', `${what}: answer over ${ANSWER_LIMIT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function transportReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return 'connection failed';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message.slice(0, REASON_LIMIT);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcFailure('malformed', `${what}: the answer is not JSON`);
  }
}

interface Endpoint {
  /** URL without user and password, because `fetch` rejects URLs with credentials. */
  url: string;
  /** Scheme and host only, for logs: providers put keys into the path and the query. */
  label: string;
  headers: Record<string, string>;
  /** Removes every secret of the URL and headers from a text that the node sent. */
  redact(text: string): string;
}

function parseEndpoint(address: string, headers: Record<string, string> = {}): Endpoint {
  // The error of `new URL` would quote the whole address.
  const url = URL.parse(address);
  if (url === null) throw new TypeError('the RPC address is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new TypeError('the RPC address must begin with http:// or https://');
  const secrets = secretsOf(url, headers);
  const sent = { ...headers };
  if (url.username !== '' || url.password !== '') {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    sent['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
    url.username = '';
    url.password = '';
  }
  url.hash = '';
  return {
    url: url.href,
    label: url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/...`,
    headers: sent,
    redact: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text),
  };
}

function secretsOf(url: URL, headers: Record<string, string>): string[] {
  const candidates = [url.username, url.password, url.search, url.search.slice(1), ...url.searchParams.values()];
  // Short path segments are words such as "v2"; keys are longer.
  candidates.push(...url.pathname.split('/').filter((segment) => segment.length >= 8));
  candidates.push(...Object.values(headers).flatMap((value) => [value, ...value.split(' ')]));
  const spelled = candidates.flatMap((text) => [text, safeDecode(text)]).filter((text) => text.length >= 4);
  // Longest first, because a shorter secret may be part of a longer one.
  return [...new Set(spelled)].sort((a, b) => b.length - a.length);
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
