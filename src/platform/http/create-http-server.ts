import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Refusal } from '../refusal.ts';
import { createSecretGuard, type SecretGuard } from '../secret-guard.ts';
import { type Admission, type AdmissionFacts, createAdmission } from './admission/admit-requests.ts';
import { createInside } from './ask-inside.ts';
import { compressAnswer } from './cache-answer.ts';
import { closeServer } from './close-server.ts';
import { CORS_HEADERS, preflightHeaders, standingHeaders } from './cors.ts';
import { createApp } from './create-app.ts';
import { createExchanges, createFlights, type Exchange, type Flights } from './exchanges.ts';
import { answerFailure } from './failure.ts';
import { createAnswerFromMemory, createMeasureReads } from './from-memory.ts';
import { faultOfHead, guardBody } from './guard-request.ts';
import type { Incoming } from './incoming.ts';
import { buildProblem, endWith, type ProblemAnswer, rawAnswer, refuseUnparsed } from './problem.ts';
import { createReadCounts, type ReadCount } from './read-counts.ts';
import { splitTarget } from './request-target.ts';
import { type Route, routeOfMount, routesOf, showFaces } from './route.ts';
import { type AllowedMethod, createRouteTable } from './route-table.ts';
import { sendAnswer, sendOutgoing } from './send-answer.ts';
import type { Endpoints, ServerOptions } from './server-options.ts';

export interface HttpServer {
  listen(at: { host: string; port: number }): Promise<{ url: string; port: number }>;
  /** Stops accepting, lets what is in flight finish for that long, then cuts. */
  close(options: { drainMs: number }): Promise<void>;
  /** A request without a socket, for tests. */
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>;
  /** What was answered from memory; these reads have no lines of their own in the access log. */
  readCounts(): readonly Readonly<ReadCount>[];
  /** What is open and in flight, and what was turned away or cut, by rule. */
  admission(): AdmissionFacts;
}

/** HTTP for a table of endpoints and a few pages. Knows no business: what it refuses by itself is the shape of a request. */
export function createHttpServer<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
): HttpServer {
  const { clock, log, random } = options;
  const guard = createSecretGuard(options.secretPrefixes);
  const admission = createAdmission({
    ...{ clock, log, trustProxy: options.trustProxy, bounds: options.bounds },
    sayTooSlow: (socket) => sayUnparsed(options, new Refusal('request_timeout'), socket),
  });
  const { clientOf } = admission;
  const flights = createFlights();
  const begin = createBegin(options, admission, flights);
  const routes = allRoutes(options, guard);
  const allowedAt = createRouteTable(routes);
  const counts = createReadCounts({ clock, log });
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
    onUnparsed: (error, socket) => {
      const refusal = refuseUnparsed(error.code);
      if (refusal.reason === 'request_timeout') admission.rules.request_late += 1;
      if (!socket.writable || admission.isAnswering(socket)) socket.destroy();
      else sayUnparsed(options, refusal, socket);
    },
    onRouterError: (error, request, reply) => fail(faultOfHead(request.raw, guard) ?? error, request, reply),
  });
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    const refusal = admission.refusalOf(request.raw);
    if (refusal !== undefined && !request.routeOptions.config.facts?.unlimited) throw refusal;
    const fault = faultOfHead(request.raw, guard);
    if (fault !== null) throw fault;
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler(async (request, reply) => {
    guardBody(guard, bytesOf(request.body), undefined);
    return sendAnswer(reply, answerUnrouted(request, allowedAt(splitTarget(request.url).path)));
  });
  addRoutes(app, routes, async (route, request, reply) => {
    const exchange = begin(request, reply);
    const given = await route.answer(readIncoming(request, exchange, clientOf));
    const outgoing = await compressAnswer(given, request.headers['accept-encoding']);
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
      // From now on every answer closes its connection.
      closing ??= closeServer(app, flights, { clock, drainMs }).then(counts.close);
      return closing;
    },
  };
}

/** Idempotent: the exchange of a request, with what is said on every answer. */
function createBegin({ clock, log }: Said, admission: Admission, flights: Flights) {
  const beginExchange = createExchanges({
    ...{ clock, log, flights, leave: admission.leave },
    // A tool's refusal is a 200 of HTTP.
    refused: (request, reason) => reason === 'key_invalid' && admission.distrust(request),
  });
  return (request: FastifyRequest, reply: FastifyReply): Exchange => {
    const exchange = beginExchange(request.raw, reply.raw, request.id, () => request.routeOptions.url ?? 'none');
    reply.headers(standingHeaders(exchange.requestId));
    if (request.routeOptions.config.facts?.cors) reply.headers(CORS_HEADERS);
    return exchange;
  };
}

/** To a client whose request never became one. */
function sayUnparsed({ clock, log, random, docsUrl }: Said, refusal: Refusal, socket: Socket): void {
  const requestId = random.uuid();
  log.info('request', { request_id: requestId, route: 'none', status: refusal.row.status, reason: refusal.reason });
  const { headers, ...problem } = buildProblem(refusal, { requestId, docsUrl });
  endWith(socket, rawAnswer({ ...problem, headers: { ...standingHeaders(requestId), ...headers } }), clock);
}

type Said = Pick<ServerOptions<Endpoints, never, never>, 'log' | 'random' | 'clock' | 'docsUrl'>;

/** Endpoints, pages and mounts. */
function allRoutes<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
  guard: SecretGuard,
): readonly Route<Caller>[] {
  const own = routesOf(options, guard);
  const inside = createInside(own, guard, options);
  return [...showFaces(own, options, inside), ...(options.mounts?.(inside) ?? []).map(routeOfMount<Caller>)];
}

function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  answer: (route: Route, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  for (const route of routes) {
    const { methods, path: url, bodyLimit, facts } = route;
    const handler = (request: FastifyRequest, reply: FastifyReply) => answer(route, request, reply);
    app.route({ method: methods, url, bodyLimit, config: { facts }, handler });
  }
}

function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}

function readIncoming(request: FastifyRequest, exchange: Exchange, clientOf: Admission['clientOf']): Incoming {
  const { method, headers, raw, body } = request;
  const { requestId, signal, notes } = exchange;
  return {
    ...{ method, headers, rawHeaders: raw.rawHeaders, body: bytesOf(body), requestId, signal, notes },
    target: splitTarget(raw.url ?? '/'),
    params: { ...(request.params as Record<string, string>) },
    clientNetwork: clientOf(raw),
  };
}

function answerUnrouted(request: FastifyRequest, allowed: readonly AllowedMethod[]): ProblemAnswer {
  if (allowed.length === 0) throw new Refusal('not_found');
  const allow = [...allowed.map(({ method }) => method), 'OPTIONS'].join(', ');
  if (request.method !== 'OPTIONS') throw new Refusal('method_not_allowed', { headers: { allow } });
  const open = allowed.filter(({ cors }) => cors).map(({ method }) => method);
  return { status: 204, headers: { allow, ...(open.length > 0 ? preflightHeaders(open) : {}) }, body: '' };
}
