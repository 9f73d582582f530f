import type { Answer } from './rpc-answer.ts';
import { RpcFailure } from './rpc-failure.ts';

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/** One call on the wire, and all who made it at that time. */
interface Waiting {
  name: string;
  call: RpcCall;
  settled: PromiseWithResolvers<unknown>;
}

/** Longer than this no call waits for others to share its request. */
const LONGEST_WAIT_MS = 5;
const MOST_SUSPECTS = 1_000;
/** A reading. The same reading twice at one moment is one; anything else is done as often as it is asked for. */
const READING = /^eth_(?:get|call$|chainId$|blockNumber$|estimateGas$|feeHistory$|gasPrice$)/;

/**
 * Calls of one turn of the event loop go out together. While a request is on its way, calls wait for its answer, at most 5 ms: a quiet process
 * loses no time, and a busy one sends a handful of requests for hundreds of calls.
 *
 * Where a whole request fails, any of its calls may be the cause: a receipt of many megabytes, say. The next time each of them travels alone,
 * so that nothing a stranger does makes the calls for others fail again.
 */
export function gatherCalls(
  ask: (calls: readonly RpcCall[]) => Promise<Answer[]>,
  most: () => number,
): (call: RpcCall) => Promise<unknown> {
  let waiting: Waiting[] = [];
  const readings = new Map<string, Waiting>();
  const suspects = new Set<string>();
  let inFlight = 0;
  let timer: NodeJS.Timeout | null = null;
  let isDue = false;

  const send = async (group: readonly Waiting[]): Promise<void> => {
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
        if (group.length > 1 && suspects.size < MOST_SUSPECTS) suspects.add(name);
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
    const made: Waiting = { name, call, settled: Promise.withResolvers() };
    waiting.push(made);
    if (READING.test(call.method)) readings.set(name, made);
    if (inFlight === 0 || waiting.length >= most()) flushSoon();
    else timer ??= setTimeout(flush, LONGEST_WAIT_MS);
    return made.settled.promise;
  };
}
