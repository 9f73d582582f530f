import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Refusal } from '../../refusal.ts';
import { createClientNames } from '../client-network.ts';
import { endWith, type ProblemAnswer, rawAnswer } from '../failure.ts';
import {
  type Bounds,
  createRuleCounts,
  DEFAULT_BOUNDS,
  DROPS_PER_FLOOD,
  MAX_STARTS_PER_TURN,
  type RuleCounts,
} from './bounds.ts';
import { type Connection, connectionOf, createSockets, type Slot } from './connections.ts';
import { createSlots, isCredentialRefused } from './slots.ts';

export interface AdmissionOptions {
  clock: Clock;
  log: Log;
  /** Proxies that may name the client's address. False: none. */
  trustProxy: false | readonly string[];
  bounds?: Partial<Bounds> | undefined;
  /** Answers that the request arrived too slowly, and closes the socket. */
  sendTimeout(socket: Socket): void;
}

export interface AdmissionFacts {
  slotsTaken: number;
  socketsOpen: number;
  rules: RuleCounts;
}

export interface Admission {
  /** Takes over the server's sockets. Returns the request listener, which admits requests and passes them to `answer`. */
  guard(server: Server, answer: RequestListener): RequestListener;
  /** Returns the reason to refuse the request now. Undefined: serve it. */
  refusalOf(request: IncomingMessage): Refusal | undefined;
  clientOf(request: IncomingMessage): string;
  /** Call for an endless answer. Releases the request's slot and counts its socket as a stream. */
  leave(request: IncomingMessage): void;
  /** Call for an invalid key, token or proof that the answer's status does not show. */
  distrust(request: IncomingMessage): void;
  /** True while an answer is being written to this socket, so nothing else may be written there. */
  isAnswering(socket: Socket): boolean;
  rules: RuleCounts;
  facts(): AdmissionFacts;
}

const CHECK_EVERY_MS = 1_000;
const FORWARDED =
  'A peer that is not in OPENAISLE_TRUST_PROXY forwards client addresses. They are ignored, and all its requests count as one client. If it is your proxy, add it there.';

/** Limits how much of a server one client can use: sockets as they open, requests before their body is read. All servers use it. */
export function createAdmission(options: AdmissionOptions): Admission {
  const { clock } = options;
  const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const rules = createRuleCounts();
  const names = createClientNames(options.trustProxy);
  const sockets = createSockets({ total: bounds.openSockets, clock, names, rules });
  const warnOnce = createWarning(options.log);

  const clientOf = (request: IncomingMessage): string => {
    const { peer } = connectionOf(request.socket) ?? {};
    return peer === null ? names.ofForwarded(request) : (peer?.address ?? names.of(request));
  };
  const slots = createSlots({ total: bounds.requestsInFlight, clock, rules, clientOf });
  const turns = createTurns(clientOf);

  const distrust = (slot: Slot | null): void => {
    if (slot?.isReserved) slots.suspendReserved(slot.site);
  };

  const start = (answer: RequestListener, connection: Connection): void => {
    const { request, response } = connection;
    if (request === null || response === null || request.socket.destroyed) return;
    connection.refusal = slots.judge(request);
    answer(request, response);
    // Answers from memory are usually sent by now. Then they need no slot.
    const isOut = response.writableEnded && response.writableLength === 0;
    if (isOut || connection.refusal !== null || connection.isStream) return;
    connection.slot = slots.take(request);
    response.once('close', () => {
      const slot = releaseSlot(connection);
      if (isCredentialRefused(request, response.statusCode)) distrust(slot);
    });
  };
  const beginWith =
    (answer: RequestListener): Begin =>
    (connection, request, response) => {
      if (!connection.socket.writable) return;
      connection.begin(request, response, clock);
      warnOnce(request, connection);
      // With few sockets open there cannot be many requests.
      if (sockets.count() <= MAX_STARTS_PER_TURN) return void start(answer, connection);
      turns.run(request, () => start(answer, connection));
    };
  return {
    guard: (server, answer) => {
      server.on('connection', sockets.admit);
      checkPeriodically(server, sockets, options, rules);
      const enqueue = createQueue(sockets, rules, beginWith(answer));
      return (request, response) => {
        const connection = connectionOf(request.socket);
        if (connection === undefined) answer(request, response);
        else enqueue(connection, request, response);
      };
    },
    refusalOf: (request) => connectionOf(request.socket)?.refusal ?? undefined,
    clientOf,
    leave: (request) => {
      const connection = connectionOf(request.socket);
      if (connection === undefined) return;
      releaseSlot(connection);
      sockets.leave(connection);
      // A request queued behind an endless answer would never be answered.
      if (connection.isQueued) request.socket.destroy();
    },
    distrust: (request) => distrust(connectionOf(request.socket)?.slot ?? null),
    isAnswering: (socket) => connectionOf(socket)?.hasBegunToAnswer() === true,
    rules,
    facts: () => ({ slotsTaken: slots.taken(), socketsOpen: sockets.count(), rules }),
  };
}

type Sockets = ReturnType<typeof createSockets>;
type Begin = (connection: Connection, request: IncomingMessage, response: ServerResponse) => void;

/**
 * Begins a request once the previous one on its connection is answered, although Node emits it as soon as it is parsed. One request may
 * wait; another one closes the connection.
 */
function createQueue(sockets: Sockets, rules: RuleCounts, begin: Begin): Begin {
  /** Drops a request. Node may have read more requests behind it, which are dropped too. */
  const drop = (connection: Connection): void => {
    if (!connection.socket.destroyed) {
      rules.pipelined += 1;
      connection.socket.destroy();
    }
    connection.dropped += 1;
    if (connection.dropped === DROPS_PER_FLOOD) sockets.pauseReading(connection);
  };
  return (connection, request, response) => {
    if (connection.socket.destroyed || connection.isStream || connection.isQueued) return drop(connection);
    const current = connection.response;
    if (current === null || current.closed) return begin(connection, request, response);
    connection.isQueued = true;
    // Begin in a later turn, so that other clients are served between two requests of one connection.
    const beginNext = (): void => {
      connection.isQueued = false;
      begin(connection, request, response);
    };
    current.once('close', () => setImmediate(beginNext));
  };
}

/** Warns once if a peer forwards client addresses without being a trusted proxy. */
function createWarning(log: Log): (request: IncomingMessage, connection: Connection) => void {
  let hasWarned = false;
  return ({ headers }, { peer }) => {
    if (hasWarned || peer === null || headers['x-forwarded-for'] === undefined) return;
    hasWarned = true;
    log.warn('forwarded_address_not_trusted', { detail: FORWARDED });
  };
}

function releaseSlot(connection: Connection): Slot | null {
  const { slot } = connection;
  connection.slot = null;
  slot?.release();
  return slot;
}

/** Closes the connection if its client is too slow. */
function cutIfLate(connection: Connection, { clock, sendTimeout }: AdmissionOptions, rules: RuleCounts): void {
  const { socket, response } = connection;
  const lateness = socket.destroyed ? null : connection.findLateness(clock.now());
  if (lateness === null) return;
  rules[lateness] += 1;
  if (lateness !== 'body_too_slow' || response === null || response.headersSent) return void socket.destroy();
  // For the access log and `isCredentialRefused`.
  response.statusCode = 408;
  sendTimeout(socket);
}

/** Checks all connections every second until the server is closed. */
function checkPeriodically(server: Server, sockets: Sockets, options: AdmissionOptions, rules: RuleCounts): void {
  const closing = new AbortController();
  server.once('close', () => closing.abort());
  server.once('listening', async () => {
    while (!closing.signal.aborted) {
      await options.clock.sleep(CHECK_EVERY_MS, closing.signal);
      for (const connection of sockets.each()) cutIfLate(connection, options, rules);
    }
  });
}

/**
 * Limits how many requests of one client begin in a turn of the event loop. Many sockets of a client can have a request in the same turn,
 * and other clients would wait for all of them. The rest begin in later turns, interleaved with other clients.
 */
function createTurns(clientOf: (request: IncomingMessage) => string) {
  const begun = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  let isTurnEndScheduled = false;

  const endTurn = (): void => {
    isTurnEndScheduled = false;
    begun.clear();
    for (const [client, queue] of waiting) {
      const now = queue.splice(0, MAX_STARTS_PER_TURN);
      if (queue.length === 0) waiting.delete(client);
      begun.set(client, now.length);
      for (const start of now) start();
    }
    if (begun.size > 0) scheduleTurnEnd();
  };
  const scheduleTurnEnd = (): void => {
    if (isTurnEndScheduled) return;
    isTurnEndScheduled = true;
    setImmediate(endTurn);
  };
  return {
    run: (request: IncomingMessage, start: () => void): void => {
      const client = clientOf(request);
      const count = begun.get(client) ?? 0;
      scheduleTurnEnd();
      if (count < MAX_STARTS_PER_TURN) {
        begun.set(client, count + 1);
        return void start();
      }
      const queue = waiting.get(client);
      if (queue === undefined) waiting.set(client, [start]);
      else queue.push(start);
    },
  };
}

const TIMEOUTS = { headersTimeout: 10_000, keepAliveTimeout: 72_000, connectionsCheckingInterval: 2_000 };
const REQUEST_TIMEOUT_MS = 10_000;

export function createAdmittedServer(admission: Admission, answer: RequestListener, options: ServerOptions): Server {
  const server = createServer({ ...TIMEOUTS, ...options });
  server.on('request', admission.guard(server, answer));
  return server;
}

/** Admission for a framework such as fastify (`serverFactory`) that has no problem documents of its own. */
export function admitFramework(options: Omit<AdmissionOptions, 'sendTimeout'>): (answer: RequestListener) => Server {
  const admission = createAdmission({
    ...options,
    sendTimeout: (socket) => endWith(socket, rawAnswer(answerOf(new Refusal('request_timeout'))), options.clock),
  });
  const admitted =
    (answer: RequestListener): RequestListener =>
    (request, response) => {
      const refusal = admission.refusalOf(request);
      if (refusal === undefined) return void answer(request, response);
      const { status, headers, body } = answerOf(refusal);
      response.writeHead(status, headers).end(body);
    };
  return (answer) => createAdmittedServer(admission, admitted(answer), { requestTimeout: REQUEST_TIMEOUT_MS });
}

function answerOf({ reason, row, options: { retryAfterSeconds } }: Refusal): ProblemAnswer {
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return {
    status: row.status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...retry },
    body: JSON.stringify({ error: reason, message: row.title }),
  };
}
