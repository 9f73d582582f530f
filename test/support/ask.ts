import assert from 'node:assert/strict';
import type { EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../../src/contract/endpoint.ts';
import type { Market, MarketCall, MarketOperation, Merchant } from '../../src/market/context.ts';

/**
 * Calls an operation as the server would, with path and query as they are sent. The answer must pass its schema, and hold nothing
 * that the schema does not name.
 */
export async function ask<E extends EndpointShape>(
  market: Market,
  endpoint: E,
  operation: MarketOperation<E>,
  given: { params?: ParamsGiven<E>; query?: QueryGiven<E>; caller?: Pick<Merchant, 'id' | 'handle'> } = {},
): Promise<ResultOf<E>['body']> {
  const call = {
    params: endpoint.params?.parse(given.params),
    query: endpoint.query?.parse(given.query ?? {}),
    caller: given.caller ? { ...given.caller, maintainer: given.caller.id === 1n } : null,
  } as MarketCall<E>;
  const answer = await operation(market, call);
  const body: unknown = endpoint.answers[answer.status]?.parse(answer.body);
  assert.deepEqual(answer.body, body, 'the answer holds what its schema does not name');
  return body as ResultOf<E>['body'];
}

/** The reason of the refusal that `act` ends with. */
export async function reasonOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof Error && 'reason' in error) return String(error.reason);
    throw error;
  }
  return 'none';
}
