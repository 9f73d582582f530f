import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import type { Random } from '../random.ts';
import type { Admission } from './admission/admit-requests.ts';
import { createAdmittedServer } from './admission/admitted-server.ts';
import type { AnswerFromMemory } from './from-memory.ts';
import type { RouteFacts } from './route-table.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
  }
}

// Above the limit that we count ourselves, so that the common case is answered with all that a problem carries.
const PARSER_HEADER_BYTES = 24_576;
const REQUEST_TIMEOUT_MS = 30_000;
// Longer than any handler takes: payments wait about 20 s for others.
const SILENT_SOCKET_MS = 120_000;
const LONGEST_PARAMETER = 200;

export interface AppOptions {
  random: Random;
  admission: Admission;
  /** Asked first; what it does not answer is fastify's. */
  fromMemory: AnswerFromMemory;
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
    // While draining, what still arrives on an open connection is served; the answer closes it.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: LONGEST_PARAMETER, querystringParser: () => ({}) },
    serverFactory: (handler) => createNodeServer(handler, options),
    clientErrorHandler: options.onUnparsed,
    frameworkErrors: options.onRouterError,
  });
  // Node does not even open a body that was not announced, so the parser must not wait for its end.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { 'content-type': type, 'content-length': length, 'transfer-encoding': coding } = request.headers;
    const nothingComes = type !== undefined && length === undefined && coding === undefined;
    done(null, nothingComes ? Readable.from([]) : payload);
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
    // Answered by us, with a problem.
    requireHostHeader: false,
    // Most requests have no body, and getting ready to read one takes a tenth of what an answer from memory takes.
    optimizeEmptyRequests: true,
  });
  server.setTimeout(SILENT_SOCKET_MS);
  // None dropped silently; their bytes are counted.
  server.maxHeadersCount = 0;
  return server;
}
