import { RpcFailure } from './rpc-failure.ts';

/** What came of one call. */
export type Answer = { result: unknown } | RpcFailure;

interface Asked {
  what: string;
  redact(text: string): string;
}

const REASON_LIMIT = 300;
/** HTTP statuses of nodes for a body that they do not take as a batch, or not of that size. */
const BATCH_STATUSES: readonly (number | null)[] = [400, 405, 413, 415, 422];

/** Marks a failure of a batch as such: the node answered with one object for all calls. */
class BatchRefused extends RpcFailure {}

/** Whether the same calls may come through in smaller batches. A rate limit is none of these: more requests would make it worse. */
export function refusesBatches(error: unknown): boolean {
  if (error instanceof BatchRefused) return !/limit|rate|too many requests/i.test(error.message) || isAboutSize(error);
  return error instanceof RpcFailure && error.kind === 'http' && BATCH_STATUSES.includes(error.code);
}

function isAboutSize({ message }: RpcFailure): boolean {
  return /batch|calls in/i.test(message);
}

/**
 * In the order of the ids. An error object is the outcome of its own call. An answer that does not fit what was asked says nothing about any
 * call: then this throws for all of them.
 */
export function readAnswers(answer: unknown, ids: readonly number[], asked: Asked): Answer[] {
  const isBatch = ids.length > 1;
  if (isBatch && !Array.isArray(answer)) {
    const { answer: said } = readAnswer(answer, asked);
    if (!(said instanceof RpcFailure)) throw malformed(asked, 'one answer to a batch');
    throw new BatchRefused(said.kind, said.message, { code: said.code, data: said.data });
  }
  const answers = new Map<unknown, Answer>();
  for (const one of isBatch && Array.isArray(answer) ? answer : [answer]) {
    const { id, answer: said } = readAnswer(one, asked);
    // A node that refuses a request before reading it answers with id null, or with none.
    const isFor = !isBatch && said instanceof RpcFailure ? ids[0] : id;
    if (answers.has(isFor)) throw malformed(asked, 'two answers with one id');
    answers.set(isFor, said);
  }
  if (answers.size !== ids.length) throw malformed(asked, 'the ids of the answer are not those asked');
  return ids.map((id) => {
    const said = answers.get(id);
    if (said === undefined) throw malformed(asked, 'the ids of the answer are not those asked');
    return said;
  });
}

function readAnswer(answer: unknown, asked: Asked): { id: unknown; answer: Answer } {
  if (!isRecord(answer) || answer['jsonrpc'] !== '2.0') throw malformed(asked, 'the answer is not JSON-RPC 2.0');
  const { id, result } = answer;
  // Some nodes send `error: null` in addition to a result.
  const error = answer['error'] ?? undefined;
  if ((error === undefined) === (result === undefined)) {
    throw malformed(asked, 'the answer has neither or both of result and error');
  }
  return { id, answer: error === undefined ? { result } : nodeError(error, asked) };
}

function nodeError(error: unknown, asked: Asked): RpcFailure {
  if (!isRecord(error) || typeof error['message'] !== 'string') {
    return malformed(asked, 'an error object without a message');
  }
  const code = typeof error['code'] === 'number' ? error['code'] : null;
  const reason = asked.redact(error['message'].slice(0, 4 * REASON_LIMIT)).replace(/[\p{C}\s]+/gu, ' ');
  const message = `${asked.what}: error ${code}: ${reason.slice(0, REASON_LIMIT)}`;
  return new RpcFailure('error', message, { code, data: error['data'] });
}

function malformed({ what }: Asked, why: string): RpcFailure {
  return new RpcFailure('malformed', `${what}: ${why}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
