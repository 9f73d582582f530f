import { noteSpent } from '../budgets/tally.ts';
import type { Clock } from '../clock.ts';
import { createRpc, type Rpc, RpcFailure } from './rpc.ts';
import type { RpcFailureKind } from './rpc-failure.ts';

/** What came of the calls to a provider so far. */
export interface CallTally {
  /** Milliseconds; null: never. */
  answeredAt: number | null;
  failures: Readonly<Record<RpcFailureKind, number>>;
}

/** A node that the operator chose, and how it serves. */
export interface Provider extends Rpc {
  /** 1 is the primary. Two of one vendor have the same `endpoint`. */
  readonly number: number;
  tally(): CallTally;
}

export function createProviders(urls: readonly [string, ...string[]], clock: Clock): [Provider, ...Provider[]] {
  const [primary, ...others] = urls;
  return [createProvider(primary, 1, clock), ...others.map((url, at) => createProvider(url, at + 2, clock))];
}

function createProvider(url: string, number: number, clock: Clock): Provider {
  const rpc = createRpc({ url });
  const failures: Record<RpcFailureKind, number> = { timeout: 0, transport: 0, http: 0, malformed: 0, error: 0 };
  let answeredAt: number | null = null;
  const counted = async <T>(asked: Promise<T>): Promise<T> => {
    noteSpent(1);
    try {
      const answer = await asked;
      answeredAt = clock.now();
      return answer;
    } catch (error) {
      if (error instanceof RpcFailure) failures[error.kind] += 1;
      // An error object is an answer: a call that reverts, say.
      if (error instanceof RpcFailure && error.kind === 'error') answeredAt = clock.now();
      throw error;
    }
  };
  return {
    number,
    endpoint: rpc.endpoint,
    call: (method, params, options) => counted(rpc.call(method, params, options)),
    traffic: rpc.traffic,
    tally: () => ({ answeredAt, failures: { ...failures } }),
  };
}
