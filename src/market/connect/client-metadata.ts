import { OutboundFailure, type PublicFetch, readPublicJson } from '../../platform/http/outbound-requests.ts';
import type { Market } from '../context.ts';

/** Why a client is not taken as it describes itself. The text is for the author of the description, and repeats none of it. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault';
  /** As in RFC 7591. */
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: ClientFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const MOST_REDIRECTS = 10;
const LONGEST_REDIRECT = 1_000;
/** No spaces, no controls, no letters that look like others. */
const PRINTABLE = /^[\x21-\x7e]+$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Schemes that browsers or systems give a meaning of their own, or that lead to what is no program of the user's. */
const REFUSED_SCHEMES: ReadonlySet<string> = new Set([
  ...['about:', 'blob:', 'chrome:', 'content:', 'data:', 'file:', 'filesystem:', 'ftp:', 'intent:', 'javascript:'],
  ...['jar:', 'ldap:', 'livescript:', 'magnet:', 'mailto:', 'mocha:', 'nfs:', 'resource:', 'search:', 'search-ms:'],
  ...['sftp:', 'sip:', 'sips:', 'smb:', 'sms:', 'ssh:', 'tel:', 'telnet:', 'vbscript:', 'view-source:', 'ws:', 'wss:'],
]);
/** Families of such schemes: handlers of Windows take commands, extensions of browsers are no programs, pages may claim web+. */
const REFUSED_FAMILIES = /^(?:ms-|(?:chrome|moz|safari-web)-extension:|web\+)/;
/** A browser reads `https:x` and `https:\\x` as other addresses than they look. */
const SPELLED_OUT = /^https?:\/\/[^/@]+(?:\/|\?|$)/i;

/** Where a client wants its users sent back to: https; http on the user's own machine; a scheme that a program there has registered. */
export function checkRedirects(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_REDIRECTS) {
    throw redirectFault(`must be a list of 1 to ${MOST_REDIRECTS} addresses`);
  }
  return [...new Set(given.map(checkRedirect))];
}

function checkRedirect(given: unknown): string {
  if (typeof given !== 'string' || given.length > LONGEST_REDIRECT || !PRINTABLE.test(given)) {
    throw redirectFault(`must be addresses in ASCII of at most ${LONGEST_REDIRECT} characters`);
  }
  const url = URL.parse(given);
  if (url === null) throw redirectFault('must be absolute addresses');
  if (given.includes('#')) throw redirectFault('must have no fragment');
  if (url.username !== '' || url.password !== '') throw redirectFault('must name no user');
  if (given.includes('\\') || (isOfWeb(url) && !SPELLED_OUT.test(given))) {
    throw redirectFault('must be spelled out as scheme, two slashes and host, without a backslash');
  }
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname)) {
    throw redirectFault("may use http on the user's own machine only: localhost, 127.0.0.1 or [::1]");
  }
  if (REFUSED_SCHEMES.has(url.protocol) || REFUSED_FAMILIES.test(url.protocol))
    throw redirectFault('use a scheme that is not taken');
  return given;
}

function redirectFault(what: string): ClientFault {
  return new ClientFault('invalid_redirect_uri', `redirect_uris ${what}.`);
}

/** Whether this redirect stays on the user's own machine: no host vouches for the program that listens there. */
export function isOwnMachine(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol !== 'https:' || LOOPBACK_HOSTS.has(hostname);
}

/**
 * What people are told of it: the host, with its port where that is not the usual one and not of the moment. Where a program has registered
 * a scheme, that comes first: whatever follows it is no host that anybody could look up.
 */
export function hostOfRedirect(redirectUri: string): string {
  const url = new URL(redirectUri);
  const { host, hostname, protocol } = url;
  if (isOfWeb(url)) return isOwnMachine(redirectUri) ? hostname : host;
  return host === '' ? protocol : `${protocol}//${host}`;
}

function isOfWeb({ protocol }: URL): boolean {
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
 * A registration as the authorization server takes it. Real clients ask for more than they need, and leave out what they mean: what we do
 * not have is dropped, as RFC 7591 allows, and the answer says what was taken. No client gets a secret: PKCE does what it would.
 */
export function normalizeRegistration(body: Metadata): Metadata {
  return { ...commonMetadata(body), token_endpoint_auth_method: 'none' };
}

/** A metadata document in the same way. What it must not say is left for the authorization server to refuse. */
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

function commonMetadata(given: Metadata): Metadata {
  const redirects = checkRedirects(given['redirect_uris']);
  const { response_types: responses, grant_types: grants, client_name: name } = given;
  if (Array.isArray(responses) && !responses.includes('code')) {
    throw new ClientFault('invalid_client_metadata', 'response_types must have code in it.');
  }
  const shown = cleanName(name);
  return {
    redirect_uris: redirects,
    // Ports of one's own machine change from run to run; only for this type does the authorization server know that.
    application_type: redirects.some(isOwnMachine) ? 'native' : 'web',
    grant_types: Array.isArray(grants)
      ? GRANT_TYPES.filter((type) => type === 'authorization_code' || grants.includes(type))
      : GRANT_TYPES,
    response_types: ['code'],
    ...(shown === null ? {} : { client_name: shown }),
  };
}

/** A stranger's text, on one line and short. Null: nothing is left of it. */
export function cleanName(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  const plain = [
    ...name
      .slice(0, 1_000)
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .trim(),
  ];
  return plain.length === 0 ? null : plain.slice(0, LONGEST_NAME).join('').trim();
}

/** The host of the metadata document that a client id is the address of; null: it registered itself. */
export function hostOfClient(clientId: string): string | null {
  return /^https:\/\//i.test(clientId) ? (URL.parse(clientId)?.hostname ?? null) : null;
}

/** Documents of clients at addresses of theirs, and the keys of those that sign. */
export interface Documents {
  /** Whether it would be read from a copy, or refused for what happened a moment ago. */
  isCached(url: string): boolean;
  /** Throws an OutboundFailure. */
  read(url: string): Promise<unknown>;
}

const FRESH_MS = 3_600_000;
/** A key may be replaced in a hurry. */
const KEYS_FRESH_MS = 300_000;
/** While its host gives nothing, the last copy does. */
const STALE_MS = 86_400_000;
/** One that failed is not asked again at once: an authorization looks for its client more than once. */
const FAILED_MS = 10_000;
const MOST = 200;

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
      keep(copies, url, { value, readAt: clock.now() });
      failures.delete(url);
      return value;
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      log.warn('client_document_not_read', { why: error.why, host: URL.parse(url)?.hostname });
      keep(failures, url, { failure: error, at: clock.now() });
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
        // What is used stays longest.
        keep(copies, url, fresh);
        return fresh.value;
      }
      const failure = freshFailure(url);
      if (failure !== null) return staleCopy(url, failure);
      const underWay = pending.get(url);
      if (underWay !== undefined) return await underWay;
      const asking = refetch(url).finally(() => pending.delete(url));
      pending.set(url, asking);
      return await asking;
    },
  };
}

function freshMs(value: unknown): number {
  return typeof value === 'object' && value !== null && 'keys' in value ? KEYS_FRESH_MS : FRESH_MS;
}

/** At the end; the one that was not asked for longest makes room. */
function keep<Value>(map: Map<string, Value>, url: string, value: Value): void {
  map.delete(url);
  map.set(url, value);
  const [oldest] = map.keys();
  if (map.size > MOST && oldest !== undefined) map.delete(oldest);
}
