import assert from 'node:assert/strict';
import type { EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../../src/contract/endpoint.ts';
import type { Catalog } from '../../src/market/catalog/catalog.ts';
import type { Market, MarketCall, MarketRead, Merchant } from '../../src/market/context.ts';
import type { Prepared, PreparedStream } from '../../src/platform/http/operation.ts';
import { watchText } from './canary.ts';

/**
 * Calls an operation as the server would, with path and query as they are sent. The answer must pass its schema, and hold nothing
 * that the schema does not name.
 */
export async function ask<E extends EndpointShape>(
  market: Market & { catalog?: Catalog },
  endpoint: E,
  operation: MarketRead<E>,
  asked: { params?: ParamsGiven<E>; query?: QueryGiven<E>; caller?: Pick<Merchant, 'id' | 'handle'> } = {},
): Promise<ResultOf<E>['body']> {
  const call = {
    params: endpoint.params?.parse(asked.params),
    query: endpoint.query?.parse(asked.query ?? {}),
    caller: asked.caller ? { ...asked.caller, maintainer: asked.caller.id === 1n } : null,
    path: `${endpoint.path} ${JSON.stringify(asked.params ?? {})}?${JSON.stringify(asked.query ?? {})}`,
    acceptsGzip: false,
  } as MarketCall<E>;
  // No background work refreshes the catalog here.
  await market.catalog?.fresh();
  await market.catalog?.searchable();
  const answer = await operation(market, call);
  const given = 'prepared' in answer ? await readPrepared(answer.prepared) : answer.body;
  const body: unknown = endpoint.answers[answer.status]?.parse(given);
  assert.deepEqual(given, body, 'the answer holds what its schema does not name');
  watchText(`the answer of ${endpoint.name}`, JSON.stringify(body));
  return body as ResultOf<E>['body'];
}

async function readPrepared(prepared: Prepared | PreparedStream): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  if ('pieces' in prepared) for await (const piece of prepared.pieces) pieces.push(piece);
  else pieces.push(prepared.body);
  return JSON.parse(Buffer.concat(pieces).toString('utf8'));
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
