import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../refusal.ts';
import { JsonFault, readJson } from './read-json.ts';

export interface Target {
  path: string;
  /** Without the question mark; empty when there is none. */
  query: string;
  /** Path and query as sent. */
  whole: string;
}

/** The address of a request as sent; the absolute form that proxies may send is cut to its path. */
export function splitTarget(url: string): Target {
  const whole = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, '') || '/';
  const mark = whole.indexOf('?');
  return mark < 0
    ? { path: whole, query: '', whole }
    : { path: whole.slice(0, mark), query: whole.slice(mark + 1), whole };
}

/** Text after percent-decoding (and `+` for a space), null when it is malformed. */
export function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

const MAX_PARAMETERS = 100;
const NUL = '\u0000';

/** Names and values as forms and queries spell them, each name once. What is wrong is made an error of by `refuse`. */
function readPairs(
  text: string,
  most: number,
  refuse: (message: string, name: string) => Refusal,
): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (text === '') return read;
  const pairs = text.split('&');
  if (pairs.length > most) throw refuse(`is one of more than ${most}`, '');
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

/** Each parameter once, as text; what they may be is the schema's to say. */
export function readQuery(query: string): Record<string, string> {
  return readPairs(query, MAX_PARAMETERS, (message, name) => {
    const path = name.slice(0, 100);
    const detail = path === '' ? `A parameter ${message}.` : `The parameter ${path} ${message}.`;
    return new Refusal('invalid_query', { detail, errors: [{ path, message }] });
  });
}

/** The cookies of a request. A name that occurs twice is left out: one of the two is not ours, and the server cannot tell which. */
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

/** A request as the routes see it: read in full, nothing checked yet. */
export interface Incoming {
  method: string;
  target: Target;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
  /** Empty when there is no body. */
  body: Uint8Array;
  requestId: string;
  clientNetwork: string;
  signal: AbortSignal;
  /** What the access log shall say about it. */
  notes: Record<string, unknown>;
}

export type Pieces = AsyncIterable<Uint8Array>;

/** What goes back, before the standing headers. */
export interface Outgoing {
  status: number;
  /** A list only where a header is sent more than once, as Set-Cookie is. */
  headers: Record<string, string | string[]>;
  body: string | Uint8Array | Pieces;
  /** Known already; null: it has none. Left out: made from the body where one is due. */
  etag?: string | null;
  /** To be called once, when the body is sent or given up. */
  release?(): void;
  /** May be sent in gzip: the body holds no secret next to text that the client has chosen. */
  compress?: boolean;
  /** In place of a body: the answer of a mount stays open, and goes on through this. Not called for HEAD. */
  listen?(listener: Listener): void;
}

export function isPieces(body: Outgoing['body']): body is Pieces {
  return typeof body !== 'string' && !(body instanceof Uint8Array);
}

/** Lets go of a body that will not be read. */
export function abandon({ body, release }: Outgoing): void {
  release?.();
  if (!isPieces(body)) return;
  // Whatever goes wrong while it is put away, the answer does not need it.
  void (async () => body[Symbol.asyncIterator]().return?.())().catch(() => undefined);
}

/** What another route of this server answered, as text, wherever its bytes lie; then they are let go. */
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

/** Without copying the bytes. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A client whose answer goes on for as long as it stays. When it goes, the answer's `release` says so. */
export interface Listener {
  /** The bytes are not copied and may be shared by many. False: enough for now; a writer that does not wait fills the memory. */
  write(bytes: Uint8Array): boolean;
  /** Runs once, when all that was written has been taken. */
  onceDrained(run: () => void): void;
  /** Says the last word; the connection closes when it is taken. */
  end(bytes: Uint8Array): void;
  /** Closes the connection at once. */
  cut(): void;
}

type BodyHeaders = Pick<IncomingHttpHeaders, 'content-type' | 'content-encoding'>;

export const FORM_LIMIT_BYTES = 16_384;
const MOST_FIELDS = 40;
const BODY_TYPE =
  /^(application\/(?:json|x-www-form-urlencoded))[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Browsers percent-encode everything else. */
const PLAIN_FORM = /^[\x20-\x7e]*$/;

/** The JSON object in a body that is not empty. Throws a Refusal. */
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

/** The fields of a form, each of them once. Throws a Refusal that names no value. */
export function readForm(bytes: Uint8Array, headers: BodyHeaders): Record<string, string> {
  if (isEncoded(headers) || bodyTypeOf(headers) !== 'application/x-www-form-urlencoded') {
    throw new Refusal('unsupported_media_type', { detail: 'This page takes its own form, as browsers send it.' });
  }
  const fault = (what: string): Refusal => new Refusal('malformed_request', { detail: `The form ${what}.` });
  const text = Buffer.from(bytes).toString('latin1');
  if (!PLAIN_FORM.test(text)) throw fault('holds characters that are not encoded');
  return readPairs(text, MOST_FIELDS, (message) => fault(`has a field that ${message}`));
}

function isEncoded({ 'content-encoding': encoding = 'identity' }: BodyHeaders): boolean {
  return encoding.trim().toLowerCase() !== 'identity';
}

/** In lower case; undefined: none that is read here. */
function bodyTypeOf({ 'content-type': type = '' }: BodyHeaders): string | undefined {
  return BODY_TYPE.exec(type.trim())?.[1]?.toLowerCase();
}
