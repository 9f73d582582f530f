import type { IncomingHttpHeaders } from 'node:http';
import { acceptsGzip } from '../../platform/http/accept-encoding.ts';
import type { Incoming, Outgoing } from '../../platform/http/incoming.ts';
import type { QuickPost } from '../../platform/http/prepared.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Caller } from './call-tool.ts';
import { fenceText } from './fence-text.ts';
import { createKeptResults, type KeptResults } from './kept-results.ts';
import { readAnswer } from './read-answer.ts';
import { type Message, readMessage } from './read-message.ts';
import { type Plain, readPlain } from './read-plain.ts';
import { type SplitArguments, splitArguments } from './split-arguments.ts';
import { createWrapResult, type Ready, unpacked } from './wrap-result.ts';

/** About a hundred full pages, as results. */
const KEPT_BYTES = 16_777_216;

export interface PlainAnswers {
  /** From what lies ready in memory. */
  quickly: QuickPost;
  answer(incoming: Incoming, message: Message): Promise<Outgoing | null>;
}

/**
 * A call of a public read in its plainest form, answered without the protocol's library: the bytes of the route are put into the envelope
 * as they are, instead of being read, checked and written three times. Whatever is unusual about a message, or refused, is left to the
 * library, which answers the same (`mcp-plain.test.ts` holds one against the other).
 */
export function createPlainAnswers(by: Caller): PlainAnswers {
  const { baseUrl } = by.market.config;
  const kept = createKeptResults(KEPT_BYTES);
  const wrap = createWrapResult(baseUrl);
  const isOwn = ownHost(baseUrl);
  return {
    quickly: ({ headers, body }) => {
      if (!isOwn(headers)) return null;
      return unlessRefused(() => {
        const message = readMessage(by.inside.guard, { headers, body });
        const asked = message.refusal === null ? readAsked(headers, message.message) : null;
        const isPacked = acceptsGzip(headers['accept-encoding']);
        const result = asked === null ? null : glance(by, kept, asked, isPacked);
        return asked === null || result === null ? null : wrap(asked.plain, result);
      });
    },
    answer: async (incoming, message) => {
      const asked = unlessRefused(() => readAsked(incoming.headers, message));
      const result =
        asked === null
          ? null
          : (glance(by, kept, asked, acceptsGzip(incoming.headers['accept-encoding'])) ??
            (await ask(by, asked, incoming)));
      if (asked === null || result === null) return null;
      incoming.notes['tool'] = asked.plain.tool.name;
      const { headers, parts } = wrap(asked.plain, result);
      return { status: 200, headers: { ...headers, 'cache-control': 'private, no-store' }, body: parts };
    },
  };
}

/** Of a program, to this very host: what else there may be is looked at on the ordinary way. */
function ownHost(baseUrl: string): (headers: IncomingHttpHeaders) => boolean {
  const { host } = new URL(baseUrl);
  return ({ host: asked, origin }) => asked === host && origin === undefined;
}

function unlessRefused<T>(act: () => T | null): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

interface Asked {
  plain: Plain;
  request: SplitArguments['request'];
}

function readAsked(headers: IncomingHttpHeaders, message: Message): Asked | null {
  const plain = readPlain(headers, message);
  if (plain === null || plain.tool.asks === 'front_door') return null;
  return { plain, request: splitArguments(plain.tool.asks, plain.given).request };
}

/** What lies ready in memory. Its ETag names the bytes, so a result that was made of them once is good for as long as it is the same. */
function glance(by: Caller, kept: KeptResults, { plain, request }: Asked, isPacked: boolean): Ready | null {
  const answer = by.inside.glance(targetOf(request));
  if (answer === null) return null;
  try {
    const key = `${plain.tool.name} ${answer.etag}`;
    const known = kept.get(key, isPacked);
    if (known !== undefined) return { ...known, isPacked };
    const bytes = 'body' in answer ? answer.body : Buffer.concat(answer.pieces);
    const made = resultOf(by, plain, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
    if (made !== null) kept.put(key, made);
    return made === null ? null : unpacked(made);
  } finally {
    answer.release?.();
  }
}

async function ask(by: Caller, { plain, request }: Asked, incoming: Incoming): Promise<Ready | null> {
  const { status, text } = await readAnswer(await by.inside.ask(request, incoming));
  const made = status === 200 ? resultOf(by, plain, text) : null;
  return made === null ? null : unpacked(made);
}

function resultOf({ inside }: Caller, { tool }: Plain, text: string): Buffer | null {
  if (inside.guard.inText(text)) return null;
  const shown = tool.holdsMerchantText ? fenceText(text) : text;
  return Buffer.from(`"content":[{"type":"text","text":${JSON.stringify(shown)}}],"structuredContent":${text}`);
}

function targetOf({ route, params = {}, query = '' }: SplitArguments['request']): string {
  const pattern = route.slice(route.indexOf(' ') + 1);
  const path = pattern.includes(':')
    ? pattern.replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    : pattern;
  return query === '' ? path : `${path}?${query}`;
}
