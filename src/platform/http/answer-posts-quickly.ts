import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnswerQuickly, QuickOptions, QuickWay } from './answer-quickly.ts';
import { faultOfHead } from './check-head.ts';
import { endWithParts } from './end-with-parts.ts';
import { lengthOf } from './incoming.ts';
import type { QuickParts, QuickPost } from './prepared.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

/** Longer bodies are worth the ordinary way. */
const LONGEST_BYTES = 16_384;
const FIXED = Object.entries({ ...STANDING_HEADERS, 'cache-control': 'private, no-store' }).flat();

/** The same way past the framework for messages: their bodies are short, and many of the answers lie ready. */
export function createQuickPosts(
  quickly: ReadonlyMap<string, QuickPost>,
  { guard, exchanges, counts, random, log, isBusy, reads }: Omit<QuickOptions, 'shortcut'>,
): QuickWay {
  const bodies = new WeakMap<IncomingMessage, Uint8Array>();
  const ask = (post: QuickPost, request: IncomingMessage, body: Uint8Array): QuickParts | null => {
    try {
      return post({ headers: request.headers, body });
    } catch (error) {
      log.error('shortcut_failed', { error });
      return null;
    }
  };
  const answer: AnswerQuickly = (request, response, ordinary) => {
    const { method, url = '' } = request;
    const post = method === 'POST' ? quickly.get(url) : undefined;
    if (post === undefined || !isShort(request) || isBusy(request) || faultOfHead(request, guard) !== null)
      return false;
    exchanges.hold(request, response, nothing);
    read(request, (body) => {
      const isRefused = isBusy(request) || reads.isSpent(request);
      const ready = isRefused ? null : reads.measure(request, () => ask(post, request, body));
      if (ready === null) {
        bodies.set(request, body);
        return ordinary();
      }
      counts.add(url, 200);
      // What was asked in one turn of the loop is answered together: waking readers one by one costs more than writing to them.
      setImmediate(send, response, ready, random.uuid());
    });
    return true;
  };
  return { answer, bodyOf: (request) => bodies.get(request) };
}

function isShort({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding, expect } = headers;
  return length !== undefined && Number(length) <= LONGEST_BYTES && coding === undefined && expect === undefined;
}

/** Whoever goes away before the end is not answered. */
function read(request: IncomingMessage, then: (body: Uint8Array) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    const [only] = chunks;
    then(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
  });
}

function send(response: ServerResponse, { headers, parts }: QuickParts, requestId: string): void {
  const head: (string | number)[] = FIXED.slice();
  head.push('x-request-id', requestId, 'content-length', lengthOf(parts));
  for (const [name, value] of Object.entries(headers)) head.push(name, value);
  response.writeHead(200, head as string[]);
  endWithParts(response, parts);
}

function nothing(): void {}
