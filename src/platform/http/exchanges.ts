import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

/** Answers that have begun and are not fully sent. */
export interface InFlightAnswers {
  /** Counts the answer until it is sent or the client is gone, then runs `ended`. Call the returned function to stop counting earlier. */
  track(response: ServerResponse, ended?: () => void): () => void;
  idle(): Promise<void>;
}

export function createInFlightAnswers(): InFlightAnswers {
  const inFlight = new Set<ServerResponse>();
  const waiting: (() => void)[] = [];
  const leave = (response: ServerResponse): void => {
    if (!inFlight.delete(response) || inFlight.size > 0) return;
    for (const resolve of waiting.splice(0)) resolve();
  };
  return {
    track: (response, ended) => {
      inFlight.add(response);
      response.once('close', () => {
        ended?.();
        leave(response);
      });
      return () => leave(response);
    },
    idle: () => (inFlight.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

/** One request and its answer, from the first header to the last byte. */
export interface Exchange {
  requestId: string;
  /** Aborted if the client disconnects before it has its answer. */
  signal: AbortSignal;
  /** Written to the access log. */
  notes: Record<string, unknown>;
  /** Runs `run` once the last byte is sent or the client is gone. */
  atEnd(run: () => void): void;
  /** Stops counting an endless answer as in flight. Its log line is still written when it ends. */
  leave(): void;
}

/** Returns the exchange of a request, always the same one. */
export type BeginExchange = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  route: () => string,
) => Exchange;

export interface ExchangesOptions {
  clock: Clock;
  log: Log;
  flights: InFlightAnswers;
  /** Called for endless answers. */
  leave(request: IncomingMessage): void;
  /** Called with the reason of each refusal. */
  refused(request: IncomingMessage, reason: unknown): void;
}

/** Creates the exchange of each request, and writes the access log. */
export function createExchanges({ clock, log, flights, leave, refused }: ExchangesOptions): BeginExchange {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  return (request, response, requestId, route) => {
    const existing = exchanges.get(request);
    if (existing) return existing;
    const gone = new AbortController();
    const notes: Exchange['notes'] = {};
    const startedAt = clock.now();
    const leaveFlights = flights.track(response, () => {
      const answered = response.writableFinished;
      if (!answered) gone.abort();
      const ms = clock.now() - startedAt;
      const facts = { request_id: requestId, method: request.method, route: route(), status: response.statusCode, ms };
      log.info('request', { ...facts, ...(answered ? {} : { aborted: true }), ...notes });
      if (notes['reason'] !== undefined) refused(request, notes['reason']);
    });
    const exchange: Exchange = {
      requestId,
      signal: gone.signal,
      notes,
      atEnd: (run) => void (response.closed ? run() : response.once('close', run)),
      leave: () => {
        leaveFlights();
        leave(request);
      },
    };
    exchanges.set(request, exchange);
    return exchange;
  };
}

/** Time to send the last bytes once no answer is in flight. */
const FLUSH_MS = 250;

/** Stops accepting connections, waits for answers in flight, then cuts the rest. */
export async function closeServer(
  app: FastifyInstance,
  flights: Pick<InFlightAnswers, 'idle'>,
  options: { clock: Clock; drainMs: number },
): Promise<void> {
  const { clock, drainMs } = options;
  const { server } = app;
  const closeIdle = server.closeIdleConnections.bind(server);
  // Node calls a connection idle once its answer is handed over, even if a slow client is still reading. So wait until everything is sent.
  server.closeIdleConnections = () => undefined;
  const stop = new AbortController();
  let closed = false;
  const closing = app.close().then(() => {
    closed = true;
    stop.abort();
  });
  await Promise.race([closing, flights.idle(), clock.sleep(drainMs, stop.signal)]);
  if (!closed) {
    closeIdle();
    // A connection that never sent a request would keep the server open for ever.
    await Promise.race([closing, clock.sleep(FLUSH_MS, stop.signal)]);
    server.closeAllConnections();
  }
  await closing;
}
