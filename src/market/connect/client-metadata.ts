import { OutboundFailure, type PublicFetch, readPublicJson } from '../../platform/http/outbound-requests.ts';
import type { Market } from '../context.ts';

/** Reports why client metadata is refused. The message is for the client's author and repeats none of the metadata. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault';
  /** Error code of RFC 7591. */
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: ClientFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const MAX_REDIRECTS = 10;
const LONGEST_REDIRECT = 1_000;
/** ASCII without spaces and control characters, so that no letter of another script can imitate a Latin one. */
const PRINTABLE = /^[\x21-\x7e]+$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Schemes that browsers or systems treat specially, or that open no program of the user. */
const REFUSED_SCHEMES: ReadonlySet<string> = new Set([
  ...['about:', 'blob:', 'chrome:', 'content:', 'data:', 'file:', 'filesystem:', 'ftp:', 'intent:', 'javascript:'],
  ...['jar:', 'ldap:', 'livescript:', 'magnet:', 'mailto:', 'mocha:', 'nfs:', 'resource:', 'search:', 'search-ms:'],
  ...['sftp:', 'sip:', 'sips:', 'smb:', 'sms:', 'ssh:', 'tel:', 'telnet:', 'vbscript:', 'view-source:', 'ws:', 'wss:'],
]);
/** Refused for the same reasons: Windows handlers take commands, extensions are not programs, and any page may register a web+ scheme. */
const REFUSED_FAMILIES = /^(?:ms-|(?:chrome|moz|safari-web)-extension:|web\+)/;
/** Requires `scheme://host`, because browsers read `https:x` and `https:\\x` as other addresses than they seem to be. */
const FULL_WEB_URL = /^https?:\/\/[^/@]+(?:\/|\?|$)/i;

/** Checks redirect URIs. Allows https, http on the user's own machine, and schemes that a program may have registered. */
export function checkRedirects(redirects: unknown): string[] {
  if (!Array.isArray(redirects) || redirects.length === 0 || redirects.length > MAX_REDIRECTS) {
    throw redirectFault(`must be a list of 1 to ${MAX_REDIRECTS} addresses`);
  }
  return [...new Set(redirects.map(checkRedirect))];
}

function checkRedirect(redirect: unknown): string {
  if (typeof redirect !== 'string' || redirect.length > LONGEST_REDIRECT || !PRINTABLE.test(redirect)) {
    throw redirectFault(`must be addresses in ASCII of at most ${LONGEST_REDIRECT} characters`);
  }
  const url = URL.parse(redirect);
  if (url === null) throw redirectFault('must be absolute addresses');
  if (redirect.includes('#')) throw redirectFault('must have no fragment');
  if (url.username !== '' || url.password !== '') throw redirectFault('must name no user');
  if (redirect.includes('\\') || (isWebUrl(url) && !FULL_WEB_URL.test(redirect))) {
    throw redirectFault('must be spelled out as scheme, two slashes and host, without a backslash');
  }
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname)) {
    throw redirectFault("may use http on the user's own machine only: localhost, 127.0.0.1 or [::1]");
  }
  if (REFUSED_SCHEMES.has(url.protocol) || REFUSED_FAMILIES.test(url.protocol))
    throw redirectFault('must not use this scheme');
  return redirect;
}

function redirectFault(what: string): ClientFault {
  return new ClientFault('invalid_redirect_uri', `redirect_uris ${what}.`);
}

/** Returns whether a redirect stays on the user's own machine, where no host vouches for the program that listens. */
export function staysOnOwnMachine(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol !== 'https:' || LOOPBACK_HOSTS.has(hostname);
}

/**
 * Describes a redirect to people: its host, with an unusual port. Ports on the user's own machine change with each run and are left out. A
 * scheme that a program registered comes first, because what follows it is not a host that could be looked up.
 */
export function hostOfRedirect(redirectUri: string): string {
  const url = new URL(redirectUri);
  const { host, hostname, protocol } = url;
  if (isWebUrl(url)) return staysOnOwnMachine(redirectUri) ? hostname : host;
  return host === '' ? protocol : `${protocol}//${host}`;
}

function isWebUrl({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

export type Metadata = Record<string, unknown>;

const GRANT_TYPES = ['authorization_code', 'refresh_token'];
const LONGEST_NAME = 80;
const SHARED_SECRETS: ReadonlySet<unknown> = new Set([
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
]);

/**
 * Reduces a registration to what the authorization server supports. Clients often request too much or omit what they need, so unsupported
 * values are dropped and required ones added, as RFC 7591 allows, and the answer shows what was accepted. No client gets a secret, because
 * PKCE replaces it.
 */
export function normalizeRegistration(body: Metadata): Metadata {
  return { ...commonMetadata(body), token_endpoint_auth_method: 'none' };
}

/** Reduces a metadata document in the same way, and refuses a shared secret. The authorization server refuses other forbidden fields. */
export function normalizeDocument(document: Metadata): Metadata {
  const { client_id, token_endpoint_auth_method: method = 'none', jwks, jwks_uri } = document;
  if (SHARED_SECRETS.has(method) || 'client_secret' in document) {
    throw new ClientFault('invalid_client_metadata', 'A client with a metadata document has no shared secret.');
  }
  const isKeyed = method === 'private_key_jwt';
  return {
    ...commonMetadata(document),
    client_id,
    token_endpoint_auth_method: isKeyed ? method : 'none',
    ...(isKeyed && jwks !== undefined ? { jwks } : {}),
    ...(isKeyed && jwks_uri !== undefined ? { jwks_uri } : {}),
  };
}

function commonMetadata(metadata: Metadata): Metadata {
  const redirects = checkRedirects(metadata['redirect_uris']);
  const { response_types: responses, grant_types: grants, client_name: name } = metadata;
  if (Array.isArray(responses) && !responses.includes('code')) {
    throw new ClientFault('invalid_client_metadata', 'response_types must have code in it.');
  }
  const clientName = cleanName(name);
  return {
    redirect_uris: redirects,
    // Loopback ports change with each run; the authorization server ignores the port only for native clients.
    application_type: redirects.some(staysOnOwnMachine) ? 'native' : 'web',
    grant_types: Array.isArray(grants)
      ? GRANT_TYPES.filter((type) => type === 'authorization_code' || grants.includes(type))
      : GRANT_TYPES,
    response_types: ['code'],
    ...(clientName === null ? {} : { client_name: clientName }),
  };
}

/** Cuts untrusted text to one short line. Returns null if nothing is left. */
export function cleanName(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  const plain = name
    .slice(0, 1_000)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return plain === '' ? null : [...plain].slice(0, LONGEST_NAME).join('').trim();
}

/** Returns the host of the client's metadata document, or null if the client registered itself. */
export function hostOfClient(clientId: string): string | null {
  return /^https:\/\//i.test(clientId) ? (URL.parse(clientId)?.hostname ?? null) : null;
}

/** Reads clients' metadata documents and key sets, and caches them. */
export interface Documents {
  /** Whether a read needs no request, because there is a fresh copy or a recent failure. */
  isCached(url: string): boolean;
  /** Throws an OutboundFailure if the document cannot be fetched and there is no copy to use instead. */
  read(url: string): Promise<unknown>;
}

const FRESH_MS = 3_600_000;
/** Key sets are cached only briefly, because a key may have to be replaced at once. */
const KEYS_FRESH_MS = 300_000;
/** How long a copy is used if its host fails. */
const STALE_MS = 86_400_000;
/** How long a failure is remembered, because one authorization looks up its client several times. */
const FAILED_MS = 10_000;
const MAX_COPIES = 200;

interface Copy {
  value: unknown;
  readAt: number;
}

export function createDocuments({ clock, log }: Pick<Market, 'clock' | 'log'>, fetchPublic: PublicFetch): Documents {
  const copies = new Map<string, Copy>();
  const failures = new Map<string, { failure: OutboundFailure; at: number }>();
  const pending = new Map<string, Promise<unknown>>();

  const freshCopy = (url: string): Copy | null => {
    const copy = copies.get(url);
    return copy !== undefined && clock.now() - copy.readAt < freshMs(copy.value) ? copy : null;
  };
  const freshFailure = (url: string): OutboundFailure | null => {
    const failed = failures.get(url);
    return failed !== undefined && clock.now() - failed.at < FAILED_MS ? failed.failure : null;
  };
  const refetch = async (url: string): Promise<unknown> => {
    try {
      const value = await readPublicJson(url, fetchPublic);
      putNewest(copies, url, { value, readAt: clock.now() });
      failures.delete(url);
      return value;
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      log.warn('client_document_not_read', { why: error.why, host: URL.parse(url)?.hostname });
      putNewest(failures, url, { failure: error, at: clock.now() });
      return staleCopy(url, error);
    }
  };
  const staleCopy = (url: string, failure: OutboundFailure): unknown => {
    const copy = copies.get(url);
    if (copy === undefined || clock.now() - copy.readAt >= STALE_MS) throw failure;
    return copy.value;
  };

  return {
    isCached: (url) => freshCopy(url) !== null || freshFailure(url) !== null,
    read: async (url) => {
      const fresh = freshCopy(url);
      if (fresh !== null) {
        // Move the copy to the end, because the least recently used copy is evicted first.
        putNewest(copies, url, fresh);
        return fresh.value;
      }
      const failure = freshFailure(url);
      if (failure !== null) return staleCopy(url, failure);
      const running = pending.get(url);
      if (running !== undefined) return await running;
      const request = refetch(url).finally(() => pending.delete(url));
      pending.set(url, request);
      return await request;
    },
  };
}

function freshMs(value: unknown): number {
  return typeof value === 'object' && value !== null && 'keys' in value ? KEYS_FRESH_MS : FRESH_MS;
}

/** Puts an entry at the end of the map and evicts the first one if the map is full. */
function putNewest<Value>(map: Map<string, Value>, url: string, value: Value): void {
  map.delete(url);
  map.set(url, value);
  const [oldest] = map.keys();
  if (map.size > MAX_COPIES && oldest !== undefined) map.delete(oldest);
}
