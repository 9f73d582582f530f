import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { Refusal } from '../../refusal.ts';
import { endWith, type ProblemAnswer, rawAnswer } from '../failure.ts';
import { type Admission, type AdmissionOptions, createAdmission } from './admit-requests.ts';

const TIMES = { headersTimeout: 10_000, keepAliveTimeout: 72_000, connectionsCheckingInterval: 2_000 };
const REQUEST_TIMEOUT_MS = 10_000;

/** A server under the rules of this folder. */
export function createAdmittedServer(admission: Admission, answer: RequestListener, options: ServerOptions): Server {
  const server = createServer({ ...TIMES, ...options });
  server.on('request', admission.guard(server, answer));
  return server;
}

/** The same for who brings a framework of its own, as fastify's `serverFactory`, and has no problems to answer with. */
export function admitFramework(options: Omit<AdmissionOptions, 'sayTooSlow'>): (answer: RequestListener) => Server {
  const admission = createAdmission({
    ...options,
    sayTooSlow: (socket) => endWith(socket, rawAnswer(answerOf(new Refusal('request_timeout'))), options.clock),
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
