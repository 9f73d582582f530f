import { concatBytes } from 'viem';
import type { EndpointShape } from '../contract/endpoint.ts';
import { own } from '../contract/own-words.ts';
import {
  MarketError,
  problemIn,
  type ReadProblem,
  readRequestId,
  readRetryAfter,
  rowOf,
  UnreadableAnswer,
} from './errors.ts';
import { parseJson } from './parse-json.ts';
import { readAs } from './read-as.ts';
import { describePath } from './schema-path.ts';

/** Keeps a byte order mark, because the text must stay exactly as sent. */
const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });
const LARGEST_REFUSAL_BYTES = 1_048_576;

export interface LooseAnswer {
  status: number;
  body: unknown;
  requestId: string | null;
}

/** Returns a success that fits the contract. Throws `MarketError` or `UnreadableAnswer` otherwise. */
export async function readAnswer(
  endpoint: EndpointShape,
  response: Response,
  maxResponseBytes: number,
): Promise<LooseAnswer> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    throw new UnreadableAnswer('redirect', own`the answer is a redirect, which isn’t followed`, { status, headers });
  }
  const body = readJson(await readText(response, maxResponseBytes), response);
  if (status < 200 || status >= 300) throw refusalFrom(endpoint, response, body);
  const schema = Object.entries(endpoint.answers).find(([declared]) => Number(declared) === status)?.[1];
  const read = schema === undefined ? null : readAs(schema, body);
  if (read === null || 'faultAt' in read) {
    const where = read === null ? own`status` : describePath(schema, read.faultAt);
    throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit the contract (${where})`, {
      status,
      headers,
    });
  }
  return { status, body: read.data, requestId: readRequestId(headers) };
}

/** Reads a refusal from a route that isn't in the table of endpoints. */
export async function readRefusal(response: Response): Promise<MarketError | UnreadableAnswer> {
  return refusalFrom({}, response, readJson(await readText(response, LARGEST_REFUSAL_BYTES), response));
}

function refusalFrom(
  endpoint: Pick<EndpointShape, 'payment'>,
  response: Response,
  body: unknown,
): MarketError | UnreadableAnswer {
  const { status, headers } = response;
  const read = readAs(problemIn, body);
  if ('faultAt' in read || read.data.status !== status) {
    return new UnreadableAnswer('not_a_problem', own`status ${status} without a readable reason`, {
      status,
      headers,
    });
  }
  const { delivery_token: token, ...problem } = read.data;
  return new MarketError({
    problem: problem as ReadProblem,
    status,
    requestId: readRequestId(headers) ?? problem.request_id,
    retryAfterSeconds: problem.retry_after_seconds ?? readRetryAfter(headers),
    doNotPayAgain: readDoNotPayAgain(endpoint, problem as ReadProblem),
    headers,
    body,
    deliveryToken: typeof token === 'string' ? token : null,
  });
}

// Prefers the market's answer to our table. On payment routes, a fault or an unknown reason means that a payment may exist.
function readDoNotPayAgain(endpoint: Pick<EndpointShape, 'payment'>, problem: ReadProblem): boolean | undefined {
  if (problem.do_not_pay_again !== undefined) return problem.do_not_pay_again;
  const row = rowOf(problem.reason);
  if (row?.do_not_pay_again !== undefined) return row.do_not_pay_again;
  return endpoint.payment === true && (row === undefined || problem.status >= 500) ? true : undefined;
}

function readJson(text: string, response: Response): unknown {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  if (!/^application\/(?:problem\+)?json\b/i.test(type)) {
    throw new UnreadableAnswer(
      'not_json',
      own`status ${status} with ${type === '' ? own`no content type` : own`a content type other than JSON`}`,
      {
        status,
        headers,
      },
    );
  }
  try {
    return parseJson(text);
  } catch (cause) {
    throw new UnreadableAnswer('not_json', own`status ${status} with a body that isn’t JSON`, {
      status,
      headers,
      cause,
    });
  }
}

async function readText(response: Response, limit: number): Promise<string> {
  const { status, headers, body } = response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop cancels the stream, so an endless body costs no more than the limit.
    for await (const chunk of chunksOf(body)) {
      size += chunk.byteLength;
      if (size > limit) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new UnreadableAnswer('no_answer', own`the answer broke off`, { status, headers, cause });
  }
  if (size > limit) {
    throw new UnreadableAnswer('too_large', own`the answer is larger than ${limit} bytes`, { status, headers });
  }
  return TEXT.decode(concatBytes(chunks));
}

/** Iterates over a stream, which not all browsers support directly. */
async function* chunksOf(body: Response['body']): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOver = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!isOver) await reader.cancel();
  }
}
