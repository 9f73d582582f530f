import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Budget } from '../budget.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Random } from '../random.ts';
import type { SecretGuard } from '../secrets.ts';
import { matchesEtag, PUBLIC_CACHE } from './cache-answer.ts';
import { acceptsGzip, COMMON_HEADERS, CORS_HEADERS } from './caller-headers.ts';
import type { InFlightAnswers } from './exchanges.ts';
import { checkHead } from './guard-request.ts';
import type { MemoryAnswer, MemoryRequest, ReadFromMemory } from './operation.ts';

export interface ReadCount {
  route: string;
  /** Number of answers with content since the start. */
  answered: number;
  notModified: number;
}

interface ReadCounts {
  add(route: string, status: 200 | 304): void;
  list(): readonly Readonly<ReadCount>[];
  /** Writes the outstanding line and stops. */
  close(): void;
}

interface Counted extends ReadCount {
  written: number;
}

const LINE_EVERY_MS = 60_000;

/** Access log for reads that take less time than writing a log line. Writes one line a minute, and none without reads. */
export function createReadCounts({ clock, log }: { clock: Clock; log: Log }): ReadCounts {
  const counts = new Map<string, Counted>();
  const stop = new AbortController();
  let since: number | null = null;

  const write = (): void => {
    if (since === null) return;
    const news = [...counts.values()].map((one) => ({ one, count: one.answered + one.notModified - one.written }));
    const routes = news.filter(({ count }) => count > 0).map(({ one, count }) => `${one.route} ${count}`);
    for (const { one, count } of news) one.written += count;
    log.info('reads_summary', {
      count: news.reduce((sum, { count }) => sum + count, 0),
      routes,
      ms: clock.now() - since,
    });
    since = null;
  };
  const begin = (): void => {
    since = clock.now();
    // After close(), the line has already been written.
    void clock.sleep(LINE_EVERY_MS, stop.signal).then(() => stop.signal.aborted || write());
  };
  return {
    add: (route, status) => {
      let counted = counts.get(route);
      if (counted === undefined) {
        counted = { route, answered: 0, notModified: 0, written: 0 };
        counts.set(route, counted);
      }
      if (status === 304) counted.notModified += 1;
      else counted.answered += 1;
      if (since === null && !stop.signal.aborted) begin();
    },
    list: () => [...counts.values()].map(({ route, answered, notModified }) => ({ route, answered, notModified })),
    close: () => {
      stop.abort();
      write();
    },
  };
}

export interface MemoryOptions {
  read: ReadFromMemory | undefined;
  guard: SecretGuard;
  flights: InFlightAnswers;
  counts: ReadCounts;
  random: Random;
  log: Log;
  /** True if the server is overloaded or closing. The framework then answers, so that the client learns the reason. */
  isBusy(request: IncomingMessage): boolean;
  clientOf(request: IncomingMessage): string;
  reads: MeasureReads;
}

/** Answers at once if possible. Returns false if it did nothing. */
export type AnswerFromMemory = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Headers of all these answers, as alternating names and values. */
const FIXED_HEADERS = Object.entries({ ...COMMON_HEADERS, ...CORS_HEADERS, 'cache-control': PUBLIC_CACHE }).flat();
/** Headers that describe a body, so a 304 leaves them out. */
const BODY_HEADERS = new Set(['content-type', 'content-encoding']);

/** Answers GETs from memory before the framework sees them. Leaves anything unusual to the framework. */
export function createAnswerFromMemory(options: MemoryOptions): AnswerFromMemory {
  const { flights, counts, random } = options;
  return (request, response) => {
    const memoryRequest = readPlain(request, options);
    if (memoryRequest === null) return false;
    const answer = options.reads.measure(request, () => readSafely(options, memoryRequest));
    if (answer === null) return false;
    const status = matchesEtag(request.headers['if-none-match'], answer.etag) ? 304 : 200;
    counts.add(answer.route, status);
    response.writeHead(status, headOf(answer, status, random.uuid()) as string[]);
    if (status === 304 || request.method === 'HEAD') response.end();
    else response.end(answer.body);
    // Usually the kernel has taken everything by now, except behind another answer or with a slow client.
    if (response.writableLength === 0) answer.release?.();
    else flights.track(response, answer.release);
    return true;
  };
}

function readPlain(request: IncomingMessage, options: MemoryOptions): MemoryRequest | null {
  const { guard, isBusy, reads, clientOf } = options;
  const { method, url, headers } = request;
  if ((method !== 'GET' && method !== 'HEAD') || url === undefined || !url.startsWith('/')) return null;
  if (headers.expect !== undefined || isBusy(request) || checkHead(request, guard) !== null) return null;
  if (reads.isSpent(request)) return null;
  return {
    target: url,
    accept: headers.accept,
    acceptsGzip: acceptsGzip(headers['accept-encoding']),
    hasKey: headers.authorization !== undefined,
    network: () => clientOf(request),
  };
}

function readSafely({ read, log }: MemoryOptions, request: MemoryRequest): MemoryAnswer | null {
  try {
    return read?.(request) ?? null;
  } catch (error) {
    log.error('cached_read_failed', { error });
    return null;
  }
}

function headOf({ etag, head, body }: MemoryAnswer, status: 200 | 304, requestId: string): (string | number)[] {
  const all: (string | number)[] = FIXED_HEADERS.slice();
  all.push('x-request-id', requestId, 'etag', etag);
  for (let at = 0; at + 1 < head.length; at += 2) {
    const name = head[at] ?? '';
    if (status === 200 || !BODY_HEADERS.has(name)) all.push(name, head[at + 1] ?? '');
  }
  if (status === 200) all.push('content-length', body.byteLength);
  return all;
}

/** The part of a budget, in milliseconds, that this file uses. */
export type ReadMeter = Pick<Budget, 'charge' | 'isSpent' | 'mayBeSpent'>;

/** Nearly all answers from memory take less. Only slower ones are charged to their client. */
const SLOW_MS = 1;

/** One in this many reads is measured and charged for all of them, because reading the clock twice takes much of a fast read's time. */
const SAMPLE = 8;

/** Charges slow reads to their clients. */
export interface MeasureReads {
  isSpent(request: IncomingMessage): boolean;
  measure<T>(request: IncomingMessage, read: () => T): T;
}

export function createMeasureReads(
  meter: ReadMeter | undefined,
  clientOf: (request: IncomingMessage) => string,
  random: Pick<Random, 'int'>,
): MeasureReads {
  if (meter === undefined) return { isSpent: () => false, measure: (_request, read) => read() };
  // Random, so that no client can tell which reads are measured. Security does not depend on it.
  let state = random.int(2 ** 31);
  const isSampled = (): boolean => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    return state >>> 16 <= 0xffff / SAMPLE;
  };
  return {
    isSpent: (request) => meter.mayBeSpent() && meter.isSpent(clientOf(request)),
    measure: (request, read) => {
      if (!isSampled()) return read();
      const begun = performance.now();
      try {
        return read();
      } finally {
        const elapsedMs = performance.now() - begun;
        if (elapsedMs > SLOW_MS) meter.charge({ network: clientOf(request) }, elapsedMs * SAMPLE);
      }
    },
  };
}
