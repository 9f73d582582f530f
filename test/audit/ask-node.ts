import { BoundMet, readText } from './bounds.ts';

/** JSON-RPC client for an auditor, which batches many calls and retries busy providers. It shares no code with the market. */

/** The endpoint refused the request. A smaller one may work. */
export class NodeRefused extends Error {
  override readonly name = 'NodeRefused';
}

/** The endpoint gave no answer, even after several tries. */
export class NodeSilent extends Error {
  override readonly name = 'NodeSilent';
}

export type Asking = <T>(method: string, params: unknown[]) => Promise<T>;

interface PendingCall {
  method: string;
  params: unknown[];
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Answered {
  id?: number;
  result?: unknown;
  error?: { code?: number; message?: string };
}

/** Calls per batch. Halved permanently when a provider refuses that many. */
const AT_ONCE = 100;
const REQUESTS_AT_ONCE = 4;
const TIMEOUT_MS = 30_000;
/** Limit on one answer in bytes. A range with more logs is read in halves. */
const MAX_BYTES = 67_108_864;
/** Pauses before each retry while a provider is busy. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];

/** Batches calls made at the same time, since an audit checks many payments. */
export function createAsking(url: string): Asking {
  let waiting: PendingCall[] = [];
  let atOnce = AT_ONCE;
  let running = 0;
  const next = (): void => {
    while (running < REQUESTS_AT_ONCE && waiting.length > 0) {
      const asked = waiting.slice(0, atOnce);
      waiting = waiting.slice(atOnce);
      running += 1;
      void send(asked).finally(() => {
        running -= 1;
        next();
      });
    }
  };
  const send = async (asked: readonly PendingCall[]): Promise<void> => {
    try {
      const answers = await post(url, asked);
      for (const [id, one] of asked.entries()) resolveCall(one, answers.get(id));
    } catch (error) {
      if (error instanceof NodeRefused && asked.length > 1) {
        atOnce = Math.max(1, Math.floor(asked.length / 2));
        waiting = [...asked, ...waiting];
        return;
      }
      for (const { method, reject } of asked) reject(withMethod(method, error));
    }
  };
  return <T>(method: string, params: unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(next);
      waiting.push({ method, params, resolve: (result) => resolve(result as T), reject });
    });
}

function resolveCall({ method, resolve, reject }: PendingCall, answer: Answered | undefined): void {
  if (answer !== undefined && answer.error === undefined && answer.result !== undefined) resolve(answer.result);
  else reject(new NodeRefused(`${method}: ${answer?.error?.message ?? 'no answer'}`));
}

function withMethod(method: string, error: unknown): Error {
  const text = `${method}: ${error instanceof Error ? error.message : String(error)}`;
  return error instanceof NodeRefused ? new NodeRefused(text) : new NodeSilent(text);
}

/** Returns the answers by index of their call. Retries while the provider is busy or unreachable. */
async function post(url: string, asked: readonly PendingCall[]): Promise<Map<number, Answered>> {
  for (let round = 0; ; round += 1) {
    const answered = await tryOnce(url, asked);
    if (!(answered instanceof NodeSilent)) return answered;
    const pause = PAUSES_MS[round];
    if (pause === undefined) throw answered;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function tryOnce(url: string, asked: readonly PendingCall[]): Promise<Map<number, Answered> | NodeSilent> {
  const questions = asked.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  let status: number;
  let text: string;
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(questions.length === 1 ? questions[0] : questions),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = answer.status;
    text = await readText(answer, MAX_BYTES, 'the endpoint');
  } catch (error) {
    if (error instanceof BoundMet) throw new NodeRefused(error.message);
    // A log range that takes longer than this is too large. An unreachable node fails in another way.
    if (error instanceof DOMException) throw new NodeRefused(`no answer within ${TIMEOUT_MS / 1000} s`);
    return new NodeSilent(reasonOf(error));
  }
  if (status === 429 || status === 502 || status === 503) return new NodeSilent(`the endpoint answers ${status}`);
  const answers = parse(text, questions.length);
  if (answers === null) throw new NodeRefused(`the endpoint answers ${status} with no list of answers`);
  if (answers.some(isBusy)) return new NodeSilent('the endpoint asks to be called less often');
  return new Map(answers.map((one) => [one.id ?? 0, one]));
}

function parse(text: string, count: number): Answered[] | null {
  try {
    const read: unknown = JSON.parse(text);
    if (count === 1 && read !== null && typeof read === 'object' && !Array.isArray(read)) return [read as Answered];
    return Array.isArray(read) ? (read as Answered[]) : null;
  } catch {
    return null;
  }
}

const isBusy = ({ error }: Answered): boolean =>
  error?.code === 429 || /rate limit|too many requests|compute units/i.test(error?.message ?? '');

/** Returns the cause, because the message `fetch failed` says nothing. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
