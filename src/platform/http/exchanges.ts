import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

/** One request and its answer, from the first header to the last byte. */
export interface Exchange {
  requestId: string;
  /** Aborted when the client has gone before it had its answer. */
  signal: AbortSignal;
  /** For the access log. */
  notes: Record<string, unknown>;
}

export interface Exchanges {
  /** Idempotent: the same request always has the same exchange. */
  begin(request: IncomingMessage, response: ServerResponse, requestId: string, route: () => string): Exchange;
  count(): number;
  /** Resolves once nothing is in flight. */
  idle(): Promise<void>;
  /** Whether an answer on this connection is under way, so that nothing else may be written there. */
  answering(socket: Duplex): boolean;
}

/** Knows what is in flight, and writes the access log. */
export function createExchanges(options: { clock: Clock; log: Log }): Exchanges {
  const { clock, log } = options;
  const open = new Map<IncomingMessage, { exchange: Exchange; response: ServerResponse }>();
  const closed = new WeakMap<IncomingMessage, Exchange>();
  const waiting: (() => void)[] = [];

  const begin: Exchanges['begin'] = (request, response, requestId, route) => {
    const known = open.get(request)?.exchange ?? closed.get(request);
    if (known) return known;
    const gone = new AbortController();
    const exchange: Exchange = { requestId, signal: gone.signal, notes: {} };
    const startedAt = clock.now();
    open.set(request, { exchange, response });
    const finish = (): void => {
      if (!open.delete(request)) return;
      closed.set(request, exchange);
      const answered = response.writableFinished;
      if (!answered) gone.abort();
      log.info('request', {
        request_id: requestId,
        method: request.method,
        route: route(),
        status: response.statusCode,
        ms: clock.now() - startedAt,
        ...(answered ? {} : { aborted: true }),
        ...exchange.notes,
      });
      if (open.size > 0) return;
      for (const resolve of waiting.splice(0)) resolve();
    };
    response.once('finish', finish);
    response.once('close', finish);
    return exchange;
  };

  return {
    begin,
    count: () => open.size,
    idle: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    answering: (socket) =>
      [...open].some(
        ([request, { response }]) => request.socket === socket && (request.complete || response.headersSent),
      ),
  };
}
