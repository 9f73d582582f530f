import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../refusal.ts';
import { JsonFault, readJson } from './read-json.ts';

export interface Target {
  path: string;
  /** Without the question mark. Empty if there is none. */
  query: string;
  /** Path and query as sent. */
  whole: string;
}

/** Splits a request target as sent. Reduces the absolute form, which proxies may send, to its path. */
export function splitTarget(url: string): Target {
  const whole = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, '') || '/';
  const mark = whole.indexOf('?');
  return mark < 0
    ? { path: whole, query: '', whole }
    : { path: whole.slice(0, mark), query: whole.slice(mark + 1), whole };
}

/** Decodes percent-encoding, and `+` as a space. Null if malformed. */
export function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

const MAX_PARAMETERS = 100;
const NUL = '\u0000';

/** Parses form or query text. `refuse` builds the error for malformed or repeated fields, and for too many of them. */
function readPairs(
  text: string,
  most: number,
  refuse: (message: string, name: string) => Refusal,
): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (text === '') return read;
  const pairs = text.split('&');
  if (pairs.length > most) throw refuse(`exceeds the limit of ${most}`, '');
  for (const pair of pairs) {
    const mark = pair.indexOf('=');
    const name = decodeComponent(mark < 0 ? pair : pair.slice(0, mark));
    const value = mark < 0 ? '' : decodeComponent(pair.slice(mark + 1));
    if (name === null || value === null) throw refuse('has malformed percent-encoding', name ?? '');
    if (name.includes(NUL) || value.includes(NUL)) throw refuse('holds a NUL character', name);
    if (name in read) throw refuse('is given more than once', name);
    read[name] = value;
  }
  return read;
}

/** Parses a query. The caller's schema checks the values. */
export function readQuery(query: string): Record<string, string> {
  return readPairs(query, MAX_PARAMETERS, (message, name) => {
    const path = name.slice(0, 100);
    const detail = path === '' ? `A parameter ${message}.` : `The parameter ${path} ${message}.`;
    return new Refusal('invalid_query', { detail, errors: [{ path, message }] });
  });
}

/** Parses Cookie. Leaves out a repeated name, because the server cannot tell which one is its own. */
export function readCookies(header: string | undefined): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (header === undefined) return read;
  const seen = new Set<string>();
  for (const pair of header.split(';')) {
    const mark = pair.indexOf('=');
    if (mark < 0) continue;
    const name = pair.slice(0, mark).trim();
    if (seen.has(name)) delete read[name];
    else read[name] = pair.slice(mark + 1).trim();
    seen.add(name);
  }
  return read;
}

/** A request as routes receive it: read in full, unless the route reads a stream, but not checked yet. */
export interface Incoming {
  method: string;
  target: Target;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
  body: Uint8Array;
  /** The body as it arrives, once, on routes that read a stream. Throws if the client disconnects. Bytes that are not read are dropped. */
  stream?: Pieces;
  requestId: string;
  clientNetwork: string;
  signal: AbortSignal;
  /** Written to the access log. */
  notes: Record<string, unknown>;
}

export type Pieces = AsyncIterable<Uint8Array>;

/** An answer without the headers that every answer has. */
export interface Outgoing {
  status: number;
  /** A list is only for headers sent more than once, such as Set-Cookie. */
  headers: Record<string, string | string[]>;
  body: string | Uint8Array | Pieces;
  /** Null: no ETag. Omitted: computed from the body where needed. */
  etag?: string | null;
  /** Called once, when the body is sent or dropped. */
  release?(): void;
  /** Allows gzip. Only safe if the body mixes no secret with text that the client chose. */
  compress?: boolean;
  /** Replaces the body: keeps the answer open and writes it through the listener. Not called for HEAD. */
  listen?(listener: Listener): void;
}

export function isPieces(body: Outgoing['body']): body is Pieces {
  return typeof body !== 'string' && !(body instanceof Uint8Array);
}

/** Releases a body that nobody will read. */
export function releaseBody({ body, release }: Outgoing): void {
  release?.();
  if (!isPieces(body)) return;
  // The answer does not need this body, so ignore errors of its cleanup.
  void (async () => body[Symbol.asyncIterator]().return?.())().catch(() => undefined);
}

/** Reads the answer of another route as text and releases the body. */
export async function readOutgoing({ body, release }: Pick<Outgoing, 'body' | 'release'>): Promise<string> {
  try {
    if (typeof body === 'string') return body;
    if (!isPieces(body)) return textOf(body);
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return textOf(Buffer.concat(pieces));
  } finally {
    release?.();
  }
}

/** Decodes UTF-8 without copying the bytes. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A client whose answer stays open. The answer's `release` runs when the client is gone. */
export interface Listener {
  /** Writes without copying, so many listeners may share the bytes. If it returns false, wait for `onceDrained`, or memory fills up. */
  write(bytes: Uint8Array): boolean;
  /** Runs `run` once when the client has taken everything written so far. */
  onceDrained(run: () => void): void;
  /** Writes the last bytes. The connection closes when the client has taken them. */
  end(bytes: Uint8Array): void;
  cut(): void;
}

type BodyHeaders = Pick<IncomingHttpHeaders, 'content-type' | 'content-encoding'>;

export const FORM_LIMIT_BYTES = 16_384;
const MAX_FIELDS = 40;
const BODY_TYPE =
  /^(application\/(?:json|x-www-form-urlencoded))[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Browsers percent-encode all other characters. */
const PLAIN_FORM = /^[\x20-\x7e]*$/;

/** Parses a non-empty body as a JSON object. Throws a Refusal. */
export function readBody(bytes: Uint8Array, headers: BodyHeaders): Record<string, unknown> {
  if (isEncoded(headers)) {
    throw new Refusal('unsupported_media_type', { detail: 'The body has a content encoding; send it plain.' });
  }
  if (bodyTypeOf(headers) !== 'application/json') {
    throw new Refusal('unsupported_media_type', { detail: 'The body must be application/json in UTF-8.' });
  }
  try {
    return readJson(bytes);
  } catch (error) {
    if (error instanceof JsonFault) throw new Refusal('malformed_json', { detail: error.message });
    throw error;
  }
}

/** Parses the fields of a form, each given once. Throws a Refusal that contains no value. */
export function readForm(bytes: Uint8Array, headers: BodyHeaders): Record<string, string> {
  if (isEncoded(headers) || bodyTypeOf(headers) !== 'application/x-www-form-urlencoded') {
    throw new Refusal('unsupported_media_type', {
      detail: 'This page accepts only its own form, as browsers send it.',
    });
  }
  const fault = (what: string): Refusal => new Refusal('malformed_request', { detail: `The form ${what}.` });
  const text = Buffer.from(bytes).toString('latin1');
  if (!PLAIN_FORM.test(text)) throw fault('contains characters that must be percent-encoded');
  return readPairs(text, MAX_FIELDS, (message) => fault(`has a field that ${message}`));
}

function isEncoded({ 'content-encoding': encoding = 'identity' }: BodyHeaders): boolean {
  return encoding.trim().toLowerCase() !== 'identity';
}

/** Returns the media type in lower case. Undefined if it is neither JSON nor a form, or not in UTF-8. */
function bodyTypeOf({ 'content-type': type = '' }: BodyHeaders): string | undefined {
  return BODY_TYPE.exec(type.trim())?.[1]?.toLowerCase();
}
