import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { createSecretGuard } from '../secret-guard.ts';
import { type Admission, type AdmissionFacts, createAdmission } from './admission/admit-requests.ts';
import { createInside } from './ask-inside.ts';
import { checkHead, faultOfHead } from './check-head.ts';
import { closeServer } from './close-server.ts';
import { compressAnswer } from './compress-answer.ts';
import { CORS_HEADERS, preflightHeaders } from './cors.ts';
import { createApp } from './create-app.ts';
import { createExchanges, createFlights, type Exchange } from './exchanges.ts';
import { answerFailure } from './failure.ts';
import { createAnswerFromMemory } from './from-memory.ts';
import { guardBody } from './guard-request.ts';
import { holdOpen } from './hold-open.ts';
import { createMeasureReads } from './measure-reads.ts';
import type { ProblemAnswer } from './problem.ts';
import { endWith, rawProblem, refuseUnparsed } from './problem.ts';
import { createReadCounts, type ReadCount } from './read-counts.ts';
import { bytesOf, readIncoming } from './read-incoming.ts';
import { splitTarget } from './request-target.ts';
import { type Route, routeOfMount, routesOf } from './route.ts';
import { type AllowedMethod, createRouteTable } from './route-table.ts';
import { sendAnswer, sendOutgoing } from './send-answer.ts';
import type { Endpoints, ServerOptions } from './server-options.ts';
import { showFaces } from './show-faces.ts';
import { standingHeaders } from './standing-headers.ts';

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

const LINGER_MS = 500;

/** HTTP for a table of endpoints and a few pages. Knows no business: what it refuses by itself is the shape of a request. */
export function createHttpServer<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
): HttpServer {
  const { clock, log, random } = options;
  const guard = createSecretGuard(options.secretPrefixes);
  const admission = admissionOf(options);
  const flights = createFlights();
  const beginExchange = createExchanges({
    clock,
    log,
    flights,
    leave: admission.leave,
    // A tool's refusal is a 200 of HTTP.
    refused: (request, reason) => reason === 'key_invalid' && admission.distrust(request),
  });
  const ownRoutes = routesOf(options, guard);
  const inside = createInside(ownRoutes, guard, options);
  const mounts = options.mounts?.(inside) ?? [];
  const routes = [...showFaces(ownRoutes, options, inside), ...mounts.map(routeOfMount<Caller>)];
  const allowedAt = createRouteTable(routes);
  const counts = createReadCounts({ clock, log });
  let isClosing = false;

  const begin = (request: FastifyRequest, reply: FastifyReply): Exchange => {
    const exchange = beginExchange(request.raw, reply.raw, request.id, () => request.routeOptions.url ?? 'none');
    reply.headers(standingHeaders(exchange.requestId));
    if (request.routeOptions.config.facts?.cors) reply.headers(CORS_HEADERS);
    return exchange;
  };
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    answerFailure(options, error, begin(request, reply), { request, reply });

  const isBusy = (request: IncomingMessage): boolean => isClosing || admission.refusalOf(request) !== undefined;
  const { clientOf } = admission;
  const reads = createMeasureReads(options.readMs, clientOf, random);
  const memory = { read: options.fromMemory, guard, flights, counts, random, log, isBusy, clientOf, reads };
  const app = createApp({
    random,
    admission,
    fromMemory: createAnswerFromMemory(memory),
    onUnparsed: createUnparsed(options, admission),
    onRouterError: (error, request, reply) => {
      begin(request, reply);
      fail(faultOfHead(request.raw, guard) ?? error, request, reply);
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    const refusal = admission.refusalOf(request.raw);
    if (refusal !== undefined && !request.routeOptions.config.facts?.unlimited) throw refusal;
    checkHead(request.raw, guard);
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler(async (request, reply) => {
    guardBody(guard, bytesOf(request.body), undefined);
    return sendAnswer(reply, answerUnrouted(request, allowedAt(splitTarget(request.url).path)));
  });
  addRoutes(app, routes, { begin, log, clientOf: admission.clientOf });
  return {
    listen: (at) => listen(app, at),
    inject: (request) => app.inject(request),
    readCounts: counts.list,
    admission: admission.facts,
    close: createClose(async ({ drainMs }) => {
      // From now on every answer closes its connection.
      isClosing = true;
      await closeServer(app, flights, { clock, drainMs });
      counts.close();
    }),
  };
}

function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  {
    begin,
    log,
    clientOf,
  }: { begin(request: FastifyRequest, reply: FastifyReply): Exchange; log: Log } & Pick<Admission, 'clientOf'>,
): void {
  for (const route of routes) {
    app.route({
      method: route.methods,
      url: route.path,
      bodyLimit: route.bodyLimit,
      config: { facts: route.facts },
      handler: async (request, reply) => {
        const exchange = begin(request, reply);
        const answer = await route.answer(readIncoming(request, exchange, clientOf(request.raw)));
        const outgoing = await compressAnswer(answer, request.headers['accept-encoding']);
        const { listen } = outgoing;
        return listen
          ? holdOpen(reply, { ...outgoing, listen }, exchange)
          : sendOutgoing(reply, outgoing, { exchange, log });
      },
    });
  }
}

function admissionOf(options: Said & Pick<ServerOptions<Endpoints, never, never>, 'trustProxy' | 'bounds'>): Admission {
  return createAdmission({
    clock: options.clock,
    log: options.log,
    trustProxy: options.trustProxy,
    bounds: options.bounds,
    sayTooSlow: (socket) => sayUnparsed(options, new Refusal('request_timeout'), socket),
  });
}

type Said = Pick<ServerOptions<Endpoints, never, never>, 'log' | 'random' | 'clock' | 'docsUrl'>;

function createUnparsed(
  options: Said,
  admission: Pick<Admission, 'count' | 'isAnswering'>,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    const refusal = refuseUnparsed(error.code);
    if (refusal.reason === 'request_timeout') admission.count('request_late');
    if (!socket.writable || admission.isAnswering(socket)) return void socket.destroy();
    sayUnparsed(options, refusal, socket);
  };
}

/** To a client whose request never became one. */
function sayUnparsed({ clock, log, random, docsUrl }: Said, refusal: Refusal, socket: Socket): void {
  const requestId = random.uuid();
  log.info('request', { request_id: requestId, route: 'none', status: refusal.row.status, reason: refusal.reason });
  const text = rawProblem(refusal, { requestId, docsUrl });
  endWith(socket, text, clock.sleep(LINGER_MS));
}

async function listen(
  app: FastifyInstance,
  at: { host: string; port: number },
): Promise<{ url: string; port: number }> {
  await app.listen(at);
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return { url: `http://${host}:${address.port}`, port: address.port };
}

function createClose(close: HttpServer['close']): HttpServer['close'] {
  let closing: Promise<void> | undefined;
  return (options) => {
    closing ??= close(options);
    return closing;
  };
}

function answerUnrouted(request: FastifyRequest, allowed: readonly AllowedMethod[]): ProblemAnswer {
  if (allowed.length === 0) throw new Refusal('not_found');
  const allow = [...allowed.map(({ method }) => method), 'OPTIONS'].join(', ');
  if (request.method !== 'OPTIONS') throw new Refusal('method_not_allowed', { headers: { allow } });
  const open = allowed.filter(({ cors }) => cors).map(({ method }) => method);
  return { status: 204, headers: { allow, ...(open.length > 0 ? preflightHeaders(open) : {}) }, body: '' };
}
