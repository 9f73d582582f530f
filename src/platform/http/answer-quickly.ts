import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import type { Random } from '../random.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { acceptsGzip } from './accept-encoding.ts';
import { PUBLIC_CACHE } from './cache-answer.ts';
import { faultOfHead } from './check-head.ts';
import { CORS_HEADERS } from './cors.ts';
import { endWithParts } from './end-with-parts.ts';
import type { Exchanges } from './exchanges.ts';
import { lengthOf } from './incoming.ts';
import type { MeasureReads } from './measure-reads.ts';
import type { QuickAnswer, QuickRead, Shortcut } from './prepared.ts';
import type { ReadCounts } from './read-counts.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

export interface QuickOptions {
  shortcut: Shortcut;
  guard: SecretGuard;
  exchanges: Exchanges;
  counts: ReadCounts;
  random: Random;
  log: Log;
  /** Refused for load, or the server is closing: then what is said about it is said on the ordinary way. */
  isBusy(request: IncomingMessage): boolean;
  reads: MeasureReads;
}

/** Answers the request if that can be done at once; false: nothing has happened. What is read first may still be given to `ordinary`. */
export type AnswerQuickly = (request: IncomingMessage, response: ServerResponse, ordinary: () => void) => boolean;

export interface QuickWay {
  answer: AnswerQuickly;
  /** What was read of a request before it went the ordinary way: all of its body. */
  bodyOf(request: IncomingMessage): Uint8Array | undefined;
}

/** What every quick answer carries, put together once: names and values in turn. */
const FIXED = Object.entries({ ...STANDING_HEADERS, ...CORS_HEADERS, 'cache-control': PUBLIC_CACHE }).flat();

/** The way past the framework, for answers whose bytes are ready. Whatever is unusual about a request goes the ordinary way. */
export function createQuickAnswers(options: QuickOptions): AnswerQuickly {
  const { exchanges, counts, random } = options;
  return (request, response) => {
    const read = readPlain(request, options);
    if (read === null) return false;
    const answer = options.reads.measure(request, () => ask(options, read));
    if (answer === null) return false;
    counts.add(answer.route ?? 'other', answer.status);
    writeHead(response, answer, random.uuid());
    const { release } = answer as Partial<Extract<QuickAnswer, { status: 200 }>>;
    if (answer.status === 304 || request.method === 'HEAD') response.end();
    else if ('body' in answer) response.end(answer.body);
    else endWithParts(response, answer.pieces);
    // Nearly always the system has taken all of it by now. Behind another answer, or to a slow client, it has not.
    if (response.writableLength === 0) release?.();
    else exchanges.hold(request, response, release ?? nothing);
    return true;
  };
}

function readPlain(request: IncomingMessage, { guard, isBusy, reads }: QuickOptions): QuickRead | null {
  const { method, url, headers } = request;
  if ((method !== 'GET' && method !== 'HEAD') || url === undefined || !url.startsWith('/')) return null;
  if (headers.expect !== undefined || isBusy(request) || faultOfHead(request, guard) !== null) return null;
  if (reads.isSpent(request)) return null;
  return {
    target: url,
    accept: headers.accept,
    ifNoneMatch: headers['if-none-match'],
    acceptsGzip: acceptsGzip(headers['accept-encoding']),
  };
}

function ask({ shortcut, log }: QuickOptions, read: QuickRead): QuickAnswer | null {
  try {
    return shortcut(read);
  } catch (error) {
    log.error('shortcut_failed', { error });
    return null;
  }
}

function writeHead(response: ServerResponse, answer: QuickAnswer, requestId: string): void {
  const head: (string | number)[] = FIXED.slice();
  head.push('x-request-id', requestId, 'etag', answer.etag);
  for (const text of answer.head) head.push(text);
  if (answer.status === 200)
    head.push('content-length', 'body' in answer ? answer.body.byteLength : lengthOf(answer.pieces));
  response.writeHead(answer.status, head as string[]);
}

function nothing(): void {}
