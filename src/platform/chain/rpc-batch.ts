/**
 * timeout: no complete answer before the deadline. transport: the connection failed or was cut. http: a status other than 2xx (`code` is
 * the status). malformed: the answer breaks the protocol. error: the node answered with an error object (`code` is the code in it).
 */
export type RpcFailureKind = 'timeout' | 'transport' | 'http' | 'malformed' | 'error';

export class RpcFailure extends Error {
  readonly kind: RpcFailureKind;
  readonly code: number | null;
  /** The `data` field of the node's error, usually the revert data of a call. */
  readonly data: unknown;

  constructor(kind: RpcFailureKind, message: string, details: { code?: number | null; data?: unknown } = {}) {
    super(message);
    this.name = 'RpcFailure';
    this.kind = kind;
    this.code = details.code ?? null;
    this.data = details.data;
  }
}

export type RpcAnswer = { result: unknown } | RpcFailure;

interface CallContext {
  what: string;
  redact(text: string): string;
}

const REASON_LIMIT = 300;
/** HTTP statuses of nodes that accept no batch, or none of that size. */
const BATCH_STATUSES: readonly (number | null)[] = [400, 405, 413, 415, 422];

/** Thrown if the node refused a batch by answering with one error object for all calls. */
class BatchRefused extends RpcFailure {}

/** Returns true if smaller batches may succeed. They do not help against a rate limit, because more requests would make it worse. */
export function refusesBatches(error: unknown): boolean {
  if (error instanceof BatchRefused) return !/limit|rate|too many requests/i.test(error.message) || isAboutSize(error);
  return error instanceof RpcFailure && error.kind === 'http' && BATCH_STATUSES.includes(error.code);
}

function isAboutSize({ message }: RpcFailure): boolean {
  return /batch|calls in/i.test(message);
}

/** Returns the answers in the order of `ids`. An error object fails only its call; an answer that does not match the request fails all. */
export function readAnswers(answer: unknown, ids: readonly number[], context: CallContext): RpcAnswer[] {
  const isBatch = ids.length > 1;
  if (isBatch && !Array.isArray(answer)) {
    const { answer: parsed } = readAnswer(answer, context);
    if (!(parsed instanceof RpcFailure)) throw malformedAnswer(context, 'one answer to a batch');
    throw new BatchRefused(parsed.kind, parsed.message, { code: parsed.code, data: parsed.data });
  }
  const answers = new Map<unknown, RpcAnswer>();
  for (const one of isBatch && Array.isArray(answer) ? answer : [answer]) {
    const { id, answer: parsed } = readAnswer(one, context);
    // A node that rejects a request before parsing it answers with a null or missing id.
    const isFor = !isBatch && parsed instanceof RpcFailure ? ids[0] : id;
    if (answers.has(isFor)) throw malformedAnswer(context, 'two answers with one id');
    answers.set(isFor, parsed);
  }
  if (answers.size !== ids.length) throw malformedAnswer(context, 'the ids of the answer are not those asked');
  return ids.map((id) => {
    const parsed = answers.get(id);
    if (parsed === undefined) throw malformedAnswer(context, 'the ids of the answer are not those asked');
    return parsed;
  });
}

function readAnswer(answer: unknown, context: CallContext): { id: unknown; answer: RpcAnswer } {
  if (!isRecord(answer) || answer['jsonrpc'] !== '2.0')
    throw malformedAnswer(context, 'the answer is not JSON-RPC 2.0');
  const { id, result } = answer;
  // Some nodes send `error: null` with a result.
  const error = answer['error'] ?? undefined;
  if ((error === undefined) === (result === undefined)) {
    throw malformedAnswer(context, 'the answer has neither or both of result and error');
  }
  return { id, answer: error === undefined ? { result } : nodeError(error, context) };
}

function nodeError(error: unknown, context: CallContext): RpcFailure {
  if (!isRecord(error) || typeof error['message'] !== 'string') {
    return malformedAnswer(context, 'an error object without a message');
  }
  const code = typeof error['code'] === 'number' ? error['code'] : null;
  const reason = context.redact(error['message'].slice(0, 4 * REASON_LIMIT)).replace(/[\p{C}\s]+/gu, ' ');
  const message = `${context.what}: error ${code}: ${reason.slice(0, REASON_LIMIT)}`;
  return new RpcFailure('error', message, { code, data: error['data'] });
}

function malformedAnswer({ what }: CallContext, why: string): RpcFailure {
  return new RpcFailure('malformed', `${what}: ${why}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/** One call. Callers that make the same read at the same time share it. */
interface WaitingCall {
  name: string;
  call: RpcCall;
  settled: PromiseWithResolvers<unknown>;
}

/** Longest time that a call waits for others to join its request. */
const MAX_WAIT_MS = 5;
const MAX_SUSPECTS = 1_000;
/** Methods that only read. Identical reads made at the same time share a call. Other methods run as often as they are called. */
const READ_METHODS = /^eth_(?:get|call$|chainId$|blockNumber$|estimateGas$|feeHistory$|gasPrice$)/;

/**
 * Sends the calls of one turn of the event loop together. While a request is running, calls wait up to 5 ms for its answer. So an idle
 * process loses no time, and a busy one sends a handful of requests for hundreds of calls.
 *
 * If a whole request fails, any of its calls may be the cause, such as a receipt of many megabytes. Each of these calls is sent alone the
 * next time, so that a stranger cannot make other callers' calls fail again.
 */
export function gatherCalls(
  ask: (calls: readonly RpcCall[]) => Promise<RpcAnswer[]>,
  most: () => number,
): (call: RpcCall) => Promise<unknown> {
  let waiting: WaitingCall[] = [];
  const readings = new Map<string, WaitingCall>();
  const suspects = new Set<string>();
  let inFlight = 0;
  let timer: NodeJS.Timeout | null = null;
  let isDue = false;

  const send = async (group: readonly WaitingCall[]): Promise<void> => {
    inFlight += 1;
    try {
      const answers = await ask(group.map(({ call }) => call));
      for (const [at, { settled }] of group.entries()) {
        const answer = answers[at];
        if (answer instanceof RpcFailure) settled.reject(answer);
        else settled.resolve(answer?.result);
      }
    } catch (error) {
      for (const { name, settled } of group) {
        if (group.length > 1 && suspects.size < MAX_SUSPECTS) suspects.add(name);
        settled.reject(error);
      }
    } finally {
      inFlight -= 1;
      if (inFlight === 0) flushSoon();
    }
  };
  const flush = (): void => {
    isDue = false;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const alone = waiting.filter(({ name }) => suspects.has(name));
    const together = waiting.filter(({ name }) => !suspects.has(name));
    waiting = [];
    readings.clear();
    for (const one of alone) {
      suspects.delete(one.name);
      void send([one]);
    }
    for (let at = 0; at < together.length; at += most()) void send(together.slice(at, at + most()));
  };
  const flushSoon = (): void => {
    if (isDue || waiting.length === 0) return;
    isDue = true;
    setImmediate(flush);
  };
  return (call) => {
    const name = `${call.method} ${JSON.stringify(call.params)}`;
    const same = readings.get(name);
    if (same !== undefined) return same.settled.promise;
    const made: WaitingCall = { name, call, settled: Promise.withResolvers() };
    waiting.push(made);
    if (READ_METHODS.test(call.method)) readings.set(name, made);
    if (inFlight === 0 || waiting.length >= most()) flushSoon();
    else timer ??= setTimeout(flush, MAX_WAIT_MS);
    return made.settled.promise;
  };
}
