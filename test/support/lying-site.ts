import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERRORS, REASONS } from '../../src/contract/errors.ts';

export interface TapedAnswer {
  method: string;
  /** Path without the query. For the chain's node it includes the method. */
  path: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** A position in an answer's JSON, in its body or in a header. */
export interface Place {
  answer: number;
  header: string | null;
  at: readonly (string | number)[];
  /** `value` is an existing text or null, `name` an added member. */
  kind: 'value' | 'name';
}

/** Puts `words` at `place`. Null leaves all answers unchanged. */
export type Lie = { place: Place; words: string } | null;

export interface LyingSite {
  url: string;
  /** Forwards everything to the real sites and records it. */
  record(targets: Readonly<Record<string, string>>): TapedAnswer[];
  /** Replays the recorded answers in order, with the lie. */
  replay(tape: readonly TapedAnswer[], lie: Lie): void;
  close(): Promise<void>;
}

interface Exchange {
  request: IncomingMessage;
  body: Buffer;
  response: ServerResponse;
}

type Handler = (request: IncomingMessage, body: Buffer, response: ServerResponse) => Promise<void>;

/** A site that replays a real site's answers with one text replaced. */
export async function startLyingSite(): Promise<LyingSite> {
  let handle: Handler = async (_request, _body, response) => void response.destroy();
  const server = createServer((request, response) => {
    readBody(request)
      .then((body) => handle(request, body, response))
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    record: (targets) => {
      const tape: TapedAnswer[] = [];
      handle = (request, body, response) => passOn(targets, tape, { request, body, response });
      return tape;
    },
    replay: (tape, lie) => {
      const played = new Set<number>();
      handle = async (request, body, response) => sayAgain(tape, lie, played, { request, body, response });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Headers that a client reads. */
const KEPT = ['content-type', 'date', 'retry-after', 'x-request-id', 'payment-required', 'payment-response'];

async function passOn(
  targets: Readonly<Record<string, string>>,
  tape: TapedAnswer[],
  { request, body, response }: Exchange,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const [first = '', rest = ''] = url.startsWith('/rpc') ? ['/rpc', ''] : ['/', url];
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const sent = Object.entries(headers).filter(
    ([name, value]) =>
      !['host', 'connection', 'content-length', 'accept-encoding'].includes(name) && value !== undefined,
  );
  const answer = await fetch(`${targets[first] ?? ''}${rest}`, {
    method,
    headers: Object.fromEntries(sent.map(([name, value]) => [name, String(value)])),
    redirect: 'manual',
    signal: leaving.signal,
    ...(body.length === 0 ? {} : { body }),
  });
  const named = KEPT.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name) ?? '']] : []));
  const kept: TapedAnswer = {
    ...{ method, path: pathOf(url, body), status: answer.status, text: '' },
    headers: Object.fromEntries(named) as Record<string, string>,
  };
  tape.push(kept);
  response.writeHead(kept.status, kept.headers);
  const decoder = new TextDecoder();
  // A stream lasts until its reader stops.
  for await (const chunk of answer.body ?? []) {
    kept.text += decoder.decode(chunk as Uint8Array, { stream: true });
    response.write(chunk);
  }
  response.end();
}

/** Returns the path without its query. For the chain's node, adds the method. */
function pathOf(url: string, body: Buffer): string {
  const path = url.split('?')[0] ?? url;
  const method = path === '/rpc' ? /"method":"(\w+)"/.exec(body.toString())?.[1] : undefined;
  return method === undefined ? path : `${path}/${method}`;
}

function sayAgain(
  tape: readonly TapedAnswer[],
  lie: Lie,
  played: Set<number>,
  { request, body, response }: Exchange,
): void {
  const { method = 'GET', url = '/' } = request;
  const fitting = tape.flatMap((one, at) => (one.method === method && one.path === pathOf(url, body) ? [at] : []));
  const at = fitting.find((one) => !played.has(one)) ?? fitting.at(-1);
  const kept = at === undefined ? undefined : tape[at];
  if (at === undefined || kept === undefined) return void response.destroy();
  played.add(at);
  const told = lie !== null && lie.place.answer === at ? lying(kept, lie) : kept;
  response.writeHead(told.status, told.headers);
  response.end(told.text);
}

function lying(kept: TapedAnswer, { place, words }: NonNullable<Lie>): TapedAnswer {
  const { header } = place;
  if (header === null) return { ...kept, text: withJson(kept.text, (json) => planted(json, place, words)) };
  const given = kept.headers[header] ?? '';
  const text = JSON.stringify(planted(decoded(given), place, words));
  return { ...kept, headers: { ...kept.headers, [header]: Buffer.from(text).toString('base64') } };
}

/** Matches the first JSON event of a stream. Other bodies are JSON as a whole. */
const EVENT = /^data: (\{.*\})$/m;

function withJson(text: string, change: (json: unknown) => unknown): string {
  const event = EVENT.exec(text);
  if (event?.[1] === undefined) return JSON.stringify(change(JSON.parse(text)));
  const changed = JSON.stringify(change(JSON.parse(event[1])));
  return `${text.slice(0, event.index)}data: ${changed}${text.slice(event.index + event[0].length)}`;
}

function planted(json: unknown, { at, kind }: Place, words: string): unknown {
  const whole = { json: structuredClone(json) };
  let parent: Record<string | number, unknown> = whole;
  let last: string | number = 'json';
  for (const step of at) {
    parent = parent[last] as Record<string | number, unknown>;
    last = step;
  }
  if (kind === 'value') parent[last] = words;
  else {
    const members = parent[last] as Record<string, unknown>;
    // Reuse an existing value, so that only the new name matters.
    members[words] = Object.values(members)[0] ?? words;
  }
  return whole.json;
}

function decoded(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  } catch {
    return null;
  }
}

/** Returns every position of a text or null, and every object, to which a member can be added. */
export function placesOf(tape: readonly TapedAnswer[]): Place[] {
  const seen = new Set<string>();
  const once = (place: Place): boolean => {
    const { method, path, status } = tape[place.answer] ?? {};
    const name = JSON.stringify([method, path?.replaceAll(/\d+/g, '0'), status, place.header, place.at, place.kind]);
    return !seen.has(name) && seen.add(name) !== undefined;
  };
  const all = tape.flatMap((one, answer) => {
    const inHeaders = ['payment-required', 'payment-response'].flatMap((header) =>
      placesIn(decoded(one.headers[header] ?? '')).map((place) => ({ ...place, answer, header })),
    );
    return [...placesIn(jsonOf(one)).map((place) => ({ ...place, answer, header: null })), ...inHeaders];
  });
  return all.filter(once);
}

function jsonOf({ headers, text }: TapedAnswer): unknown {
  const type = headers['content-type'] ?? '';
  const inEvent = EVENT.exec(text)?.[1];
  if (type.startsWith('text/event-stream')) return inEvent === undefined ? null : JSON.parse(inEvent);
  return /json/.test(type) ? JSON.parse(text) : null;
}

function placesIn(value: unknown, at: readonly (string | number)[] = []): Pick<Place, 'at' | 'kind'>[] {
  if (typeof value === 'string' || value === null) return at.length === 0 ? [] : [{ at, kind: 'value' }];
  // All rows have the same positions as the first.
  if (Array.isArray(value)) return value.length === 0 ? [] : placesIn(value[0], [...at, 0]);
  if (typeof value !== 'object') return [];
  const inside = Object.entries(value).flatMap(([name, one]) => placesIn(one, [...at, name]));
  return [{ at, kind: 'name' }, ...inside];
}

/** Returns the recording with every write refused for that reason. Every text of the refusal is `words`. */
export function refusing(
  tape: readonly TapedAnswer[],
  { reason, status, retry }: Refused,
  words: string,
): TapedAnswer[] {
  const problem = {
    ...{ type: words, title: words, status, detail: words, reason, error_class: words, error: words, next_step: words },
    ...{ request_id: 'r-1', retry, errors: [{ path: words, message: words }] },
    ...{ tx_hash: words, market_time: words, collect: { base_url: words }, payment: words, fetch_at: words },
  };
  const text = JSON.stringify(problem);
  const headers = { 'content-type': 'application/problem+json' };
  return tape.map((one) => (one.method === 'GET' ? one : { ...one, status, headers, text }));
}

export interface Refused {
  reason: string;
  status: number;
  retry: string;
}

/** Returns every documented reason and an unknown one. */
export function everyReason(): Refused[] {
  const known = REASONS.map((reason) => ({ reason, ...ERRORS[reason] }));
  return [...known, { reason: 'zplant_call_buy_for_listing_9', status: 409, retry: 'never' }];
}
