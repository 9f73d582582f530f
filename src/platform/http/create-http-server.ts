import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions,
  type LightMyRequestResponse,
} from 'fastify';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import type { Clock } from '../clock.ts';
import type { Random } from '../random.ts';
import { Refusal } from '../refusal.ts';
import { createSecretGuard, type SecretGuard } from '../secrets.ts';
import {
  type Admission,
  type AdmissionFacts,
  createAdmission,
  createAdmittedServer,
} from './admission/admit-requests.ts';
import { compressAnswer } from './cache-answer.ts';
import { CORS_HEADERS, commonHeaders, preflightHeaders } from './caller-headers.ts';
import {
  closeServer,
  createExchanges,
  createInFlightAnswers,
  type Exchange,
  type InFlightAnswers,
} from './exchanges.ts';
import { answerFailure, buildProblem, endWith, type ProblemAnswer, rawAnswer, refuseUnparsed } from './failure.ts';
import {
  type AnswerFromMemory,
  createAnswerFromMemory,
  createMeasureReads,
  createReadCounts,
  type ReadCount,
} from './from-memory.ts';
import { checkHead, guardBody } from './guard-request.ts';
import { createInternalRequests } from './internal-requests.ts';
import { type Incoming, type Outgoing, splitTarget } from './message.ts';
import { addRepresentations, entryOf, type Route, routeOfExtra, routesOf } from './route.ts';
import { type AllowedMethod, createRouteTable, type RouteFacts } from './route-table.ts';
import { sendAnswer, sendOutgoing } from './send-answer.ts';
import type { Endpoints, ServerOptions } from './server-options.ts';

export interface HttpServer {
  listen(at: { host: string; port: number }): Promise<{ url: string; port: number }>;
  /** Stops accepting connections, gives requests in flight `drainMs` to finish, then cuts the rest. */
  close(options: { drainMs: number }): Promise<void>;
  /** Runs a request without a socket, for tests. */
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>;
  /** Counts of reads answered from memory, which have no line of their own in the access log. */
  readCounts(): readonly Readonly<ReadCount>[];
  /** Open sockets, requests in flight, and refusals by rule. */
  admission(): AdmissionFacts;
}

/**
 * Serves a table of endpoints and a few pages over HTTP. Contains no business rules, only the checks that all routes share: form, size,
 * load, misplaced secrets and keys.
 */
export function createHttpServer<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
): HttpServer {
  const { clock, log, random } = options;
  const guard = createSecretGuard(options.secretPrefixes);
  const admission = createAdmission({
    ...{ clock, log, trustProxy: options.trustProxy, bounds: options.bounds },
    sendTimeout: (socket) => answerUnparsed(options, new Refusal('request_timeout'), socket),
  });
  const { clientOf } = admission;
  const flights = createInFlightAnswers();
  const begin = createBeginExchange(options, admission, flights);
  const routes = allRoutes(options, guard);
  const allowedAt = createRouteTable(routes);
  const counts = createReadCounts({ clock, log });
  const bodies = createBodyTracker();
  let closing: Promise<void> | undefined;
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    answerFailure(options, error, begin(request, reply), { request, reply });

  const isBusy = (request: IncomingMessage): boolean =>
    closing !== undefined || admission.refusalOf(request) !== undefined;
  const reads = createMeasureReads(options.readMs, clientOf, random);
  const memory = { read: options.fromMemory, guard, flights, counts, random, log, isBusy, clientOf, reads };
  const app = createApp({
    random,
    admission,
    fromMemory: createAnswerFromMemory(memory),
    onUnparsed: (error, socket) => endUnparsed(options, admission, refuseUnparsed(error.code), socket),
    onRouterError: (error, request, reply) => fail(checkHead(request.raw, guard) ?? error, request, reply),
  });
  setDateHeader(app, clock);
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    const refusal = admission.refusalOf(request.raw);
    if (refusal !== undefined && !request.routeOptions.config.facts?.unlimited) throw refusal;
    const fault = checkHead(request.raw, guard);
    if (fault !== null) throw fault;
    if (request.method === 'QUERY') throw refuseMethod(allowedAt(splitTarget(request.url).path));
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler(async (request, reply) => {
    guardBody(guard, bytesOf(request.body), undefined);
    return sendAnswer(reply, answerUnrouted(request, allowedAt(splitTarget(request.url).path)));
  });
  addRoutes(app, routes, async (route, request, reply) => {
    const exchange = begin(request, reply);
    const plain = await bodies.track(request.body, route.answer(readIncoming(request, exchange, clientOf)));
    const outgoing = await compressAnswer(plain, request.headers['accept-encoding']);
    return sendOutgoing(reply, outgoing, { exchange, log });
  });
  return {
    listen: async (at) => {
      const url = await app.listen(at);
      return { url, port: Number(new URL(url).port || 80) };
    },
    inject: (request) => app.inject(request),
    readCounts: counts.list,
    admission: admission.facts,
    close: ({ drainMs }) => {
      // From here on, every answer closes its connection.
      closing ??= closeServer(app, flights, { clock, drainMs }).then(bodies.whenRead).then(counts.close);
      return closing;
    },
  };
}

/** Sets the Date header from the clock that checks clients' signatures, not from the library's own. */
function setDateHeader(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', (_, reply, payload, done) => {
    reply.raw.setHeader('Date', new Date(clock.now()).toUTCString());
    done(null, payload);
  });
}

/** Creates the function that returns a request's exchange and sets the headers of every answer. The function may be called again. */
function createBeginExchange({ clock, log }: AnswerContext, admission: Admission, flights: InFlightAnswers) {
  const beginExchange = createExchanges({
    ...{ clock, log, flights, leave: admission.leave },
    // Needed because a refused MCP tool call is answered with status 200.
    refused: (request, reason) => reason === 'key_invalid' && admission.distrust(request),
  });
  return (request: FastifyRequest, reply: FastifyReply): Exchange => {
    const exchange = beginExchange(request.raw, reply.raw, request.id, () => request.routeOptions.url ?? 'none');
    const { facts } = request.routeOptions.config;
    reply.headers({ ...commonHeaders(exchange.requestId), ...facts?.headers });
    if (facts?.cors) reply.headers(CORS_HEADERS);
    return exchange;
  };
}

/** Ends a connection on which no further request can be read. Answers first if nothing else is being written there. */
function endUnparsed(context: AnswerContext, admission: Admission, refusal: Refusal, socket: Socket): void {
  if (refusal.reason === 'request_timeout') admission.rules.request_late += 1;
  if (!socket.writable || admission.isAnswering(socket)) socket.destroy();
  else answerUnparsed(context, refusal, socket);
}

/** Answers a client whose request Node could not parse, or whose request arrived too slowly. */
function answerUnparsed({ clock, log, random, docsUrl }: AnswerContext, refusal: Refusal, socket: Socket): void {
  const requestId = random.uuid();
  log.info('request', { request_id: requestId, route: 'none', status: refusal.row.status, reason: refusal.reason });
  const { headers, ...problem } = buildProblem(refusal, { requestId, docsUrl });
  endWith(socket, rawAnswer({ ...problem, headers: { ...commonHeaders(requestId), ...headers } }), clock);
}

type AnswerContext = Pick<ServerOptions<Endpoints, never, never>, 'log' | 'random' | 'clock' | 'docsUrl'>;

function allRoutes<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
  guard: SecretGuard,
): readonly Route<Caller>[] {
  const entry = entryOf(options, guard);
  const own = routesOf(options, entry);
  const inside = createInternalRequests(own, entry, options);
  return [
    ...addRepresentations(own, options, inside),
    ...(options.extraRoutes?.(inside) ?? []).map(routeOfExtra<Caller>),
  ];
}

function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  answer: (route: Route, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  const addRoute = (to: FastifyInstance, route: Route): void => {
    const { methods, path: url, bodyLimit, facts } = route;
    const handler = (request: FastifyRequest, reply: FastifyReply) => answer(route, request, reply);
    to.route({ method: methods, url, bodyLimit, config: { facts }, handler });
  };
  for (const route of routes) if (!route.streamsBody) addRoute(app, route);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    for (const route of routes) if (route.streamsBody) addRoute(scope, route);
  });
}

function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}

function readIncoming(request: FastifyRequest, exchange: Exchange, clientOf: Admission['clientOf']): Incoming {
  const { method, headers, raw, body } = request;
  const { requestId, signal, notes } = exchange;
  return {
    ...{ method, headers, rawHeaders: raw.rawHeaders, body: bytesOf(body), requestId, signal, notes },
    ...(body instanceof Readable ? { stream: body.iterator({ destroyOnReturn: false }) } : {}),
    target: splitTarget(raw.url ?? '/'),
    params: { ...(request.params as Record<string, string>) },
    clientNetwork: clientOf(raw),
  };
}

/** Tracks answers that read their body as it arrives. They may go on after their client is gone, to store what has arrived. */
function createBodyTracker() {
  const answering = new Set<Promise<unknown>>();
  return {
    /** Returns the answer. Reads and drops the rest of the body, because many clients read no answer before they have sent everything. */
    async track(body: unknown, answer: Promise<Outgoing>): Promise<Outgoing> {
      if (!(body instanceof Readable)) return await answer;
      answering.add(answer);
      try {
        return await answer;
      } finally {
        answering.delete(answer);
        body.resume();
      }
    },
    async whenRead(): Promise<void> {
      await Promise.allSettled(answering);
    },
  };
}

/** Also called early for QUERY, because fastify would answer with its own error if the content type is missing. */
function refuseMethod(allowed: readonly AllowedMethod[]): Refusal {
  return allowed.length === 0
    ? new Refusal('not_found')
    : new Refusal('method_not_allowed', { headers: { allow: allowHeader(allowed) } });
}

function allowHeader(allowed: readonly AllowedMethod[]): string {
  return [...allowed.map(({ method }) => method), 'OPTIONS'].join(', ');
}

function answerUnrouted(request: FastifyRequest, allowed: readonly AllowedMethod[]): ProblemAnswer {
  if (allowed.length === 0 || request.method !== 'OPTIONS') throw refuseMethod(allowed);
  const allow = allowHeader(allowed);
  const own = Object.assign({}, ...allowed.map(({ optionsHeaders }) => optionsHeaders));
  const open = allowed.filter(({ cors }) => cors).map(({ method }) => method);
  return { status: 204, headers: { allow, ...own, ...(open.length > 0 ? preflightHeaders(open) : {}) }, body: '' };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
  }
}

// Above our own limit, so that most oversized heads get our full problem document.
const PARSER_HEADER_BYTES = 24_576;
const REQUEST_TIMEOUT_MS = 30_000;
// Longer than any handler takes. Payments wait about 20 s for other services.
const SILENT_SOCKET_MS = 120_000;
const LONGEST_PARAMETER = 200;

interface AppOptions {
  random: Random;
  admission: Admission;
  /** Called first. fastify gets the requests that this function does not answer. */
  fromMemory: AnswerFromMemory;
  onUnparsed(error: NodeJS.ErrnoException, socket: Socket): void;
  onRouterError(error: Error, request: FastifyRequest, reply: FastifyReply): void;
}

/** Creates fastify without its guesses: no coercion, content sniffing, own JSON parser or request ids from clients. */
function createApp(options: AppOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => options.random.uuid(),
    // While draining, serve requests on open connections; the answers close them.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: LONGEST_PARAMETER, querystringParser: () => ({}) },
    serverFactory: (handler) => createNodeServer(handler, options),
    clientErrorHandler: options.onUnparsed,
    frameworkErrors: options.onRouterError,
  });
  // Node emits no `end` for a body that was not announced, so give the content parser an empty stream instead.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { 'content-type': type, 'content-length': length, 'transfer-encoding': coding } = request.headers;
    const hasNoBody = type !== undefined && length === undefined && coding === undefined;
    done(null, hasNoBody ? Readable.from([]) : payload);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return app;
}

function createNodeServer(
  framework: RequestListener,
  { admission, fromMemory }: Pick<AppOptions, 'admission' | 'fromMemory'>,
): Server {
  const answer: RequestListener = (request, response) => {
    if (!fromMemory(request, response)) framework(request, response);
  };
  const server = createAdmittedServer(admission, answer, {
    maxHeaderSize: PARSER_HEADER_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // We answer a missing Host header ourselves, with a problem document.
    requireHostHeader: false,
    // Most requests have no body, and preparing to read one would take a tenth of the time of an answer from memory.
    optimizeEmptyRequests: true,
  });
  server.setTimeout(SILENT_SOCKET_MS);
  // 0 keeps all headers instead of silently dropping some; their bytes are limited instead.
  server.maxHeadersCount = 0;
  return server;
}
