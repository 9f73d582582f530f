import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import type { Random } from '../random.ts';
import type { RouteFacts } from './route-table.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
  }
}

// Above the limit that we count ourselves, so that the common case is answered with all that a problem carries.
const PARSER_HEADER_BYTES = 24_576;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 2_000;
const KEEP_ALIVE_MS = 72_000;
// Longer than any handler takes: payments wait about 20 s for others.
const SILENT_SOCKET_MS = 120_000;
const LONGEST_PARAMETER = 200;

export interface AppOptions {
  random: Random;
  trustProxy: false | string[];
  onUnparsed(error: NodeJS.ErrnoException, socket: Socket): void;
  onRouterError(error: Error, request: FastifyRequest, reply: FastifyReply): void;
}

/** fastify with everything off that guesses: coercion, content sniffing, JSON parsing of its own, trusted request ids. */
export function createApp(options: AppOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => options.random.uuid(),
    trustProxy: options.trustProxy,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: SILENT_SOCKET_MS,
    // While draining, what still arrives on an open connection is served; the answer closes it.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: LONGEST_PARAMETER, querystringParser: () => ({}) },
    http: {
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Answered by us, with a problem.
      requireHostHeader: false,
    },
    clientErrorHandler: options.onUnparsed,
    frameworkErrors: options.onRouterError,
  });
  // None dropped silently; their bytes are counted.
  app.server.maxHeadersCount = 0;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return app;
}
