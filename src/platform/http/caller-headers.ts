import type { IncomingHttpHeaders } from 'node:http';
import type { Auth } from '../../contract/endpoint.ts';
import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { PaymentHeaders } from './operation.ts';

export const PAYMENT_HEADER_NAMES = [
  'x-payment',
  'payment-signature',
  'x-delivery-token',
  'x-download-token',
  'x-recovery-slip',
] as const;

/** Returns true if the request contains a payment proof, a token or a slip, valid or not. */
export function hasPaymentHeader(headers: IncomingHttpHeaders): boolean {
  return PAYMENT_HEADER_NAMES.some((name) => headers[name] !== undefined);
}

/** Returns every value of a header as sent. Node joins repeated headers with a comma, which would hide the repetition. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** Reads the payment headers. Rejects more than one proof or token, and a download token beside any of them. */
export function readPaymentHeaders(rawHeaders: readonly string[]): PaymentHeaders {
  const [v1, v2, tokens = [], downloadTokens = []] = PAYMENT_HEADER_NAMES.map((name) =>
    boundedValues(rawHeaders, name),
  );
  const proofs = [...(v1 ?? []), ...(v2 ?? [])];
  if (proofs.length > 1) {
    throw new Refusal('two_proofs', {
      detail: 'X-PAYMENT and PAYMENT-SIGNATURE together contain more than one proof.',
    });
  }
  if (tokens.length > 1) throw new Refusal('two_proofs', { detail: 'X-Delivery-Token was sent more than once.' });
  const [downloadToken = null] = downloadTokens;
  if (downloadToken !== null && downloadTokens.length + proofs.length + tokens.length > 1) {
    throw new Refusal('two_proofs', { detail: 'X-Download-Token stands alone, or beside a key.' });
  }
  return {
    v1: v1?.[0] ?? null,
    v2: v2?.[0] ?? null,
    deliveryToken: tokens[0] ?? null,
    downloadToken,
    ...readSlip(rawHeaders),
  };
}

/** Reads the recovery slip: the market's own record of a payment, which the market may have lost since. Any endpoint may receive one. */
export function readSlip(rawHeaders: readonly string[]): Pick<PaymentHeaders, 'recoverySlip'> {
  return { recoverySlip: boundedValues(rawHeaders, 'x-recovery-slip')[0] ?? null };
}

/** Limits the length of each value. MCP tools pass body fields on as headers, which the limit on headers has not counted. */
function boundedValues(rawHeaders: readonly string[], name: string): string[] {
  const values = headerValues(rawHeaders, name);
  if (values.some((value) => value.length > HEADER_LIMIT_BYTES)) throw new Refusal('headers_too_large');
  return values;
}

export interface Identified<Caller> {
  caller: Caller | null;
  /** Bearer as sent. Set only where the operation checks it itself. */
  bearer: string | null;
}

export interface Identification<Caller> {
  /** True for a recovery or pairing code, which does not belong in Authorization. */
  isCode(bearer: string): boolean;
  authenticate(bearer: string): Promise<Caller | null>;
  isMaintainer(caller: Caller): boolean;
}

export const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** Identifies the caller as the route requires. `audit` and `public` routes never read Authorization. */
export async function identifyCaller<Caller>(
  auth: Auth,
  from: { rawHeaders: readonly string[]; known?: Caller | undefined },
  by: Identification<Caller>,
): Promise<Identified<Caller>> {
  if (auth === 'audit' || auth === 'public') return { caller: null, bearer: null };
  if (auth === 'staged_key') return { caller: null, bearer: readBearer(from.rawHeaders, by) };
  const caller = from.known ?? (await callerOf(readBearer(from.rawHeaders, by), by));
  if (caller === null && auth !== 'optional_key') throw new Refusal('key_required');
  if (caller !== null && auth === 'maintainer' && !by.isMaintainer(caller)) throw new Refusal('maintainer_only');
  return { caller, bearer: null };
}

async function callerOf<Caller>(bearer: string | null, by: Identification<Caller>): Promise<Caller | null> {
  if (bearer === null) return null;
  const caller = await by.authenticate(bearer);
  if (caller === null) throw new Refusal('key_invalid');
  return caller;
}

/** Reads the key from Authorization without checking it. Rejects a code there, because codes belong in the body. */
export function readBearer(
  rawHeaders: readonly string[],
  { isCode }: Pick<Identification<never>, 'isCode'>,
): string | null {
  const [value, another] = headerValues(rawHeaders, 'authorization');
  if (value === undefined) return null;
  if (another !== undefined) throw new Refusal('key_invalid', { detail: 'Authorization was sent more than once.' });
  const token = BEARER.exec(value.trim())?.[1];
  if (isCode(token ?? value.trim())) throw new Refusal('secret_in_payload');
  if (token === undefined) throw new Refusal('key_invalid', { detail: 'Authorization must be Bearer and one key.' });
  return token;
}

/** Sent with every answer, besides the request id. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function commonHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, ...COMMON_HEADERS };
}

/**
 * Includes the token: an answer of bytes can carry it nowhere else, and the script that sent the request is the buyer. Includes the date,
 * because clients sign by the market's clock.
 */
const EXPOSED_HEADERS = [
  'x-request-id',
  'date',
  'retry-after',
  'etag',
  'payment-required',
  'payment-response',
  'x-payment-response',
  'x-delivery-token',
  ...(['location', 'tus-resumable', 'tus-version', 'tus-extension', 'tus-max-size', 'tus-checksum-algorithm'] as const),
  ...(['upload-offset', 'upload-length', 'upload-expires', 'upload-metadata'] as const),
  'accept-ranges',
  'content-range',
  'content-disposition',
].join(', ');

const ACCEPTED_HEADERS = [
  'authorization',
  'content-type',
  'if-none-match',
  'last-event-id',
  'mcp-protocol-version',
  'payment-signature',
  'x-payment',
  'x-delivery-token',
  'x-download-token',
  'x-recovery-slip',
  ...(['tus-resumable', 'upload-length', 'upload-offset', 'upload-metadata', 'upload-checksum'] as const),
  ...(['x-http-method-override', 'x-request-id'] as const),
  'range',
  'if-range',
].join(', ');

const PREFLIGHT_SECONDS = 600;

/** For answers that scripts of any origin may read. Cookies are never allowed, because callers send their own key. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

export function preflightHeaders(methods: readonly string[]): Record<string, string> {
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': ACCEPTED_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
}

/** Parses a header of preferences: names in lower case, each with its weight from 0 to 1. */
function parsePreferences(header: string): ReadonlyMap<string, number> {
  const preferences = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (!preferences.has(name)) preferences.set(name, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return preferences;
}

/** Returns how much the client wants a media type, 0 to 1. The most specific range decides (RFC 9110, 12.5.1). Without Accept it is 1. */
export function acceptQuality(accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1;
  const preferences = parsePreferences(accept);
  return preferences.get(type) ?? preferences.get(`${type.split('/')[0]}/*`) ?? preferences.get('*/*') ?? 0;
}

/** Returns the offered type with the highest weight, the first among equals. Null if the client accepts none. */
export function preferredType<Type extends string>(accept: string | undefined, offered: readonly Type[]): Type | null {
  let best: Type | null = null;
  let bestQuality = 0;
  for (const type of offered) {
    const quality = acceptQuality(accept, type);
    if (quality <= bestQuality) continue;
    best = type;
    bestQuality = quality;
  }
  return best;
}

/** Returns true if Accept names octet-stream with at least the weight of JSON. */
export function wantsBytes(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('application/octet-stream')) return false;
  const bytes = acceptQuality(accept, 'application/octet-stream');
  return bytes > 0 && bytes >= acceptQuality(accept, 'application/json');
}

const MAX_REMEMBERED = 256;
const LONGEST_REMEMBERED = 200;
// Cached by header value, because clients repeat the same few values.
const gzipByHeader = new Map<string, boolean>();

/** Returns true if the client wants gzip at least as much as plain bytes. False without the header. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || acceptEncoding === '') return false;
  const cached = gzipByHeader.get(acceptEncoding);
  if (cached !== undefined) return cached;
  const preferences = parsePreferences(acceptEncoding);
  const gzip = preferences.get('gzip') ?? preferences.get('x-gzip') ?? preferences.get('*') ?? 0;
  const welcome = gzip > 0 && gzip >= (preferences.get('identity') ?? 0);
  if (acceptEncoding.length > LONGEST_REMEMBERED) return welcome;
  if (gzipByHeader.size >= MAX_REMEMBERED) gzipByHeader.clear();
  gzipByHeader.set(acceptEncoding, welcome);
  return welcome;
}
