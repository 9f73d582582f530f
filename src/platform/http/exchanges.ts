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
  /** Runs that once the last byte is written or the client has gone. */
  atEnd(run: () => void): void;
  /** Its answer goes on without an end: not in flight any more, though its line in the access log is still to come. */
  leave(): void;
}

export interface Exchanges {
  /** Idempotent: the same request always has the same exchange. */
  begin(request: IncomingMessage, response: ServerResponse, requestId: string, route: () => string): Exchange;
  /** An answer that is given already but not written yet: in flight until it is, or the client has gone. */
  hold(request: IncomingMessage, response: ServerResponse, ended: () => void): void;
  /** Resolves once nothing is in flight. */
  idle(): Promise<void>;
  /** Whether an answer on this connection is under way, so that nothing else may be written there. */
  answering(socket: Duplex): boolean;
}

interface Flight {
  request: IncomingMessage;
  response: ServerResponse;
  ended: (() => void)[];
  /** Has left: it is not counted. */
  left: boolean;
  end(): void;
}

/** Knows what is in flight, and writes the access log. */
export function createExchanges(options: {
  clock: Clock;
  log: Log;
  /** Hears of answers that go on without an end. */
  leave(request: IncomingMessage): void;
  /** Hears of the reason of each refusal. */
  refused(request: IncomingMessage, reason: unknown): void;
}): Exchanges {
  const { clock, log } = options;
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const flights = createFlights();

  const begin: Exchanges['begin'] = (request, response, requestId, route) => {
    const known = exchanges.get(request);
    if (known) return known;
    const gone = new AbortController();
    const atEnd: (() => void)[] = [];
    let ended = false;
    const exchange: Exchange = {
      requestId,
      signal: gone.signal,
      notes: {},
      atEnd: (run) => {
        if (ended) run();
        else atEnd.push(run);
      },
      leave: () => {
        flights.leave(request);
        options.leave(request);
      },
    };
    exchanges.set(request, exchange);
    const startedAt = clock.now();
    flights.begin(request, response, () => {
      ended = true;
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
      if (exchange.notes['reason'] !== undefined) options.refused(request, exchange.notes['reason']);
      for (const run of atEnd.splice(0)) run();
    });
    return exchange;
  };
  return { begin, hold: flights.begin, idle: flights.idle, answering: flights.answering };
}

interface Flights extends Pick<Exchanges, 'idle' | 'answering'> {
  begin(request: IncomingMessage, response: ServerResponse, ended: () => void): void;
  leave(request: IncomingMessage): void;
}

function createFlights(): Flights {
  const bySocket = new WeakMap<Duplex, Set<Flight>>();
  const waiting: (() => void)[] = [];
  let count = 0;

  const tellIdle = (): void => {
    if (count > 0) return;
    for (const resolve of waiting.splice(0)) resolve();
  };
  const sharing = (socket: Duplex): Set<Flight> => {
    const known = bySocket.get(socket);
    if (known) return known;
    const flights = new Set<Flight>();
    bySocket.set(socket, flights);
    // Node 20 does not tell answers that wait behind another one when their connection goes; they would be in flight for ever.
    socket.once('close', () => {
      for (const flight of [...flights]) flight.end();
    });
    return flights;
  };
  return {
    begin: (request, response, ended) => {
      const flights = sharing(request.socket);
      const known = [...flights].find((flight) => flight.request === request);
      // Held first, and begun in earnest later.
      if (known !== undefined) return void known.ended.push(ended);
      const end = (): void => {
        if (!flights.delete(flight)) return;
        if (!flight.left) count -= 1;
        for (const run of flight.ended) run();
        tellIdle();
      };
      // What is asked behind an answer without an end would wait for ever, in flight all the time.
      if ([...flights].some(({ left }) => left)) request.socket.destroy();
      const flight: Flight = { request, response, ended: [ended], left: false, end };
      flights.add(flight);
      count += 1;
      response.once('finish', end);
      response.once('close', end);
    },
    leave: (request) => {
      const flights = [...sharing(request.socket)];
      const flight = flights.find((one) => one.request === request);
      if (flight === undefined || flight.left) return;
      flight.left = true;
      count -= 1;
      tellIdle();
      if (flights.at(-1) !== flight) request.socket.destroy();
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    answering: (socket) =>
      [...(bySocket.get(socket) ?? [])].some(({ request, response }) => request.complete || response.headersSent),
  };
}
