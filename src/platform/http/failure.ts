import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { errorClass, type Problem, type Reason } from '../../contract/errors.ts';
import { MAX_ERRORS } from '../../contract/vocabulary.ts';
import type { Clock } from '../clock.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { hasPaymentHeader } from './caller-headers.ts';
import type { Exchange } from './exchanges.ts';
import type { RouteFacts } from './route-table.ts';
import { sendAnswer } from './send-answer.ts';
import type { RefusedPage, RefusedRequest } from './server-options.ts';

interface ProblemContext {
  requestId: string;
  docsUrl: (reason: string) => string;
  /** Set on routes that take payments or claims. Each answer there says whether paying again is safe. */
  payment?: { proofSent: boolean };
}

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Statuses of refusals that are decided before the ledger is read. */
const LEDGER_UNREAD: ReadonlySet<number> = new Set([401, 429]);

/** Builds the problem document of a refusal. */
export function buildProblem(refusal: Refusal, context: ProblemContext): ProblemAnswer {
  const { row, options, reason } = refusal;
  const detail = options.detail ?? row.title;
  const retryAfter =
    options.retryAfterSeconds === undefined ? undefined : Math.max(1, Math.ceil(options.retryAfterSeconds));
  // Without reading the ledger we cannot know whether the sent proof or key has a payment, so paying again is not safe.
  const isPaymentUnknown =
    context.payment && (context.payment.proofSent || row.status >= 500 || LEDGER_UNREAD.has(row.status));
  const doNotPayAgain = options.doNotPayAgain ?? row.do_not_pay_again ?? isPaymentUnknown;
  const problem: Problem = {
    ...options.fields,
    type: context.docsUrl(reason),
    title: row.title,
    status: row.status,
    detail,
    reason,
    error_class: errorClass(row.status),
    error: detail,
    next_step: options.nextStep ?? row.next_step,
    request_id: context.requestId,
    retry: row.retry,
    ...(retryAfter === undefined ? {} : { retry_after_seconds: retryAfter }),
    ...(doNotPayAgain === undefined ? {} : { do_not_pay_again: doNotPayAgain }),
    ...(options.errors === undefined ? {} : { errors: options.errors }),
  };
  return {
    status: row.status,
    headers: {
      ...(row.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...options.headers,
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      'content-type': 'application/problem+json',
      'cache-control': 'private, no-store',
    },
    body: JSON.stringify(problem),
  };
}

/** Maps a parser error of Node to a refusal. */
export function refuseUnparsed(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('request_timeout');
  return new Refusal('malformed_request', { detail: 'The request is not valid HTTP.' });
}

/** Formats a complete answer to be written directly to a socket. */
export function rawAnswer({ status, headers, body }: ProblemAnswer): string {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

const LINGER_MS = 500;

/** Sends a last answer and gives the client time to read it. Closing at once with unread input would discard the answer. */
export function endWith(socket: Socket, text: string, clock: Clock): void {
  // A `data` listener takes the bytes from Node's parser, which would fail on them again.
  socket.removeAllListeners('data').on('data', () => {});
  socket.end(text);
  socket.resume();
  void clock.sleep(LINGER_MS).then(() => socket.destroy());
}

type Issue = z.core.$ZodIssue;

/** Turns schema issues into a refusal that names fields but never values. */
export function refuseIssues(issues: readonly Issue[], otherwise: 'invalid_fields' | 'invalid_query'): Refusal {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: pathOf([...issue.path, key]), message: 'is not known here' }))
      : [],
  );
  if (unknown.length > 0) {
    const names = unknown.map(({ path }) => path || 'an empty field name');
    return new Refusal('unexpected_fields', {
      detail: `Not known here: ${joinNames(names)}.${countErrors(unknown)}`,
      errors: unknown.slice(0, MAX_ERRORS),
    });
  }
  const errors = issues.map((issue) => ({ path: pathOf(issue.path), message: issue.message }));
  const messages = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return new Refusal(otherwise, {
    detail: `Not acceptable: ${joinNames(messages)}.${countErrors(errors)}`,
    errors: errors.slice(0, MAX_ERRORS),
  });
}

function countErrors(errors: readonly unknown[]): string {
  return errors.length > MAX_ERRORS ? ` There are ${errors.length} in all; the first ${MAX_ERRORS} are in errors.` : '';
}

const MAX_NAMED = 10;
const LONGEST_NAME = 100;

function joinNames(names: readonly string[]): string {
  const unique = [...new Set(names)];
  const rest = unique.length - MAX_NAMED;
  return unique.slice(0, MAX_NAMED).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((step) => String(step).slice(0, LONGEST_NAME)).join('.');
}

interface AnswerOptions extends FailureOptions {
  refusedPage?(refusal: Refusal, request: RefusedRequest): RefusedPage | null;
}

export function answerFailure(
  options: AnswerOptions,
  error: unknown,
  exchange: Exchange,
  at: { request: FastifyRequest; reply: FastifyReply },
): void {
  const { request, reply } = at;
  const { requestId, notes } = exchange;
  const { headers } = request;
  const { facts } = request.routeOptions.config;
  // Without facts, the request matched none of our routes, even if fastify reports one.
  const route = facts === undefined ? null : (request.routeOptions.url ?? null);
  const show = (refusal: Refusal): RefusedPage | null =>
    options.refusedPage?.(refusal, { accept: headers.accept, requestId, route }) ?? null;
  sendAnswer(reply, presentFailure(options, error, { requestId, notes, headers, facts, show }));
}

export interface FailureOptions {
  log: Log;
  docsUrl(reason: string): string;
  classifyError?(error: unknown, reasons: readonly Reason[]): Refusal | null;
}

export interface FailedRequest {
  requestId: string;
  notes: Record<string, unknown>;
  facts?: RouteFacts | undefined;
}

/** Turns any thrown error into a problem. Details of a bug go only to the log. `show` renders the refusal for a person. */
export function presentFailure(
  options: FailureOptions,
  error: unknown,
  request: FailedRequest & { headers: IncomingHttpHeaders; show?(refusal: Refusal): RefusedPage | null },
): ProblemAnswer {
  const { log } = options;
  const { facts, requestId, headers: sent } = request;
  const expected = expectFailure(options, error, request);
  if (expected === null) log.error('request_failed', { request_id: requestId, error });
  const refusal = expected ?? new Refusal('internal_error');
  request.notes['reason'] = refusal.reason;
  const context: ProblemContext = {
    requestId,
    docsUrl: (reason) => options.docsUrl(reason),
    ...(facts?.payment || facts?.claim ? { payment: { proofSent: hasPaymentHeader(sent) || facts.claim } } : {}),
  };
  // Refusal fields that are not JSON, or a page that cannot be rendered, are bugs too. fastify must not answer them in its own words.
  try {
    const problem = buildProblem(refusal, context);
    const { headers = {}, body = problem.body } = request.show?.(refusal) ?? {};
    return { ...problem, headers: { ...problem.headers, ...headers }, body };
  } catch (fault) {
    log.error('refusal_render_failed', { request_id: requestId, reason: refusal.reason, error: fault });
    return buildProblem(new Refusal('internal_error'), context);
  }
}

/** Turns a thrown error into a refusal and records its reason for the log. Null if the error is a bug. */
export function expectFailure(
  { log, classifyError }: Pick<FailureOptions, 'log' | 'classifyError'>,
  error: unknown,
  { requestId, notes, facts }: FailedRequest,
): Refusal | null {
  const refusal = refuseFailure(error) ?? classifyError?.(error, facts?.errors ?? []) ?? null;
  if (refusal === null) return null;
  const { reason, row, options } = refusal;
  notes['reason'] = reason;
  if (options.budget !== undefined) notes['budget'] = options.budget;
  if (!(error instanceof Refusal) && row.status >= 500) {
    log.warn('request_not_served', { request_id: requestId, reason, error });
  }
  return refusal;
}

const FRAMEWORK_REASONS: Readonly<Record<string, Reason>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
};

/** Returns a refusal unchanged, and maps errors of fastify and Node to refusals. Null for any other error. */
function refuseFailure(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  const { code, statusCode } = fieldsOf(error);
  const reason = FRAMEWORK_REASONS[code];
  if (reason !== undefined) return new Refusal(reason);
  if (code === 'FST_ERR_BAD_URL') {
    return new Refusal('malformed_request', { detail: 'The address has malformed percent-encoding.' });
  }
  // The client disconnected or announced a wrong length while its body was read.
  const isClientFault = code.startsWith('FST_ERR_CTP') || code === 'ECONNRESET' || code === 'ABORT_ERR';
  return isClientFault && statusCode === 400
    ? new Refusal('malformed_request', { detail: 'The body broke off.' })
    : null;
}

function fieldsOf(error: unknown): { code: string; statusCode: unknown } {
  const fields = error instanceof Error ? error : {};
  return {
    code: 'code' in fields && typeof fields.code === 'string' ? fields.code : '',
    statusCode: 'statusCode' in fields ? fields.statusCode : undefined,
  };
}

/** Query cancelled, serialization failure, deadlock. The database did nothing, and a retry may succeed. */
const TRANSIENT: ReadonlySet<string> = new Set(['57014', '40001', '40P01']);
const RETRY_SECONDS = 2;

/**
 * Returns the refusal for a database that is unavailable or too slow, chosen from the reasons of the route. A failed read about money must
 * not look like "nothing was paid". Null for any other error.
 */
export function refuseUnreadable(error: unknown, reasons: readonly Reason[]): Refusal | null {
  if (!isUnavailable(error) && !TRANSIENT.has(fieldsOf(error).code)) return null;
  const reason = reasons.includes('read_unavailable') ? 'read_unavailable' : 'unavailable';
  return new Refusal(reason, { retryAfterSeconds: RETRY_SECONDS });
}
