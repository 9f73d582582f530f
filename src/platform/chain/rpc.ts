import { type Endpoint, parseEndpoint } from './endpoint.ts';
import { RpcFailure } from './rpc-failure.ts';

export { RpcFailure } from './rpc-failure.ts';

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

export interface RpcOptions {
  deadlineMs?: number;
}

/** JSON-RPC 2.0 over HTTP, always to the same endpoint, each call asked exactly once. Every failure is an `RpcFailure`. */
export interface Rpc {
  /** For logs: carries no credentials. */
  readonly endpoint: string;
  call(method: string, params: readonly unknown[], options?: RpcOptions): Promise<unknown>;
  /** One HTTP request. The answers are in the order of the calls; an error or a missing answer fails them all. */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<unknown[]>;
}

const DEADLINE_MS = 4_000;
const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024;
const REASON_LIMIT = 300;

export function createRpc(options: { url: string; deadlineMs?: number; headers?: Record<string, string> }): Rpc {
  const endpoint = parseEndpoint(options.url, options.headers);
  let lastId = 0;
  const ask = async (calls: readonly RpcCall[], asBatch: boolean, deadlineMs?: number): Promise<unknown[]> => {
    const requests = calls.map(({ method, params }) => ({ jsonrpc: '2.0', id: ++lastId, method, params }));
    const what = `${[...new Set(calls.map((call) => call.method))].join(', ')} at ${endpoint.label}`;
    const text = await post(endpoint, JSON.stringify(asBatch ? requests : requests[0]), {
      what,
      deadlineMs: deadlineMs ?? options.deadlineMs ?? DEADLINE_MS,
    });
    const ids = requests.map((request) => request.id);
    return readAnswers(parseJson(text, what), ids, { what, asBatch, redact: endpoint.redact });
  };
  return {
    endpoint: endpoint.label,
    call: async (method, params, each) => (await ask([{ method, params }], false, each?.deadlineMs))[0],
    batch: async (calls, each) => (calls.length === 0 ? [] : ask(calls, true, each?.deadlineMs)),
  };
}

async function post(endpoint: Endpoint, body: string, on: { what: string; deadlineMs: number }): Promise<string> {
  // One signal for head and body: a node that sends byte after byte must not outlive the deadline.
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
    // Counted after decompression, so that a small answer cannot unfold without end.
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

interface Asked {
  what: string;
  asBatch: boolean;
  redact(text: string): string;
}

function readAnswers(answer: unknown, ids: readonly number[], asked: Asked): unknown[] {
  const answers = asked.asBatch && Array.isArray(answer) ? answer : [answer];
  const results = new Map<unknown, unknown>();
  for (const one of answers) {
    const { id, result } = readAnswer(one, asked);
    if (results.has(id)) throw new RpcFailure('malformed', `${asked.what}: two answers with one id`);
    results.set(id, result);
  }
  if (results.size !== ids.length || !ids.every((id) => results.has(id))) {
    throw new RpcFailure('malformed', `${asked.what}: the ids of the answer are not those asked`);
  }
  return ids.map((id) => results.get(id));
}

function readAnswer(answer: unknown, asked: Asked): { id: unknown; result: unknown } {
  if (!isRecord(answer) || answer['jsonrpc'] !== '2.0') {
    throw new RpcFailure('malformed', `${asked.what}: the answer is not JSON-RPC 2.0`);
  }
  const error = answer['error'];
  const hasResult = answer['result'] !== undefined;
  // Some nodes send `error: null` beside a result.
  if (error !== undefined && error !== null && !hasResult) throw nodeError(error, asked);
  if (!hasResult || (error !== undefined && error !== null)) {
    throw new RpcFailure('malformed', `${asked.what}: the answer has neither or both of result and error`);
  }
  return { id: answer['id'], result: answer['result'] };
}

/** Its id is not looked at: a node that refuses a request before reading it answers with id null. */
function nodeError(error: unknown, asked: Asked): RpcFailure {
  if (!isRecord(error) || typeof error['message'] !== 'string') {
    return new RpcFailure('malformed', `${asked.what}: an error object without a message`);
  }
  const code = typeof error['code'] === 'number' ? error['code'] : null;
  const reason = asked.redact(error['message'].slice(0, 4 * REASON_LIMIT)).replace(/[\p{C}\s]+/gu, ' ');
  const message = `${asked.what}: error ${code}: ${reason.slice(0, REASON_LIMIT)}`;
  return new RpcFailure('error', message, { code, data: error['data'] });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
