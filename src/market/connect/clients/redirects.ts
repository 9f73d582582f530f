import { ClientFault } from './client-fault.ts';

const MOST = 10;
const LONGEST = 1_000;
/** No spaces, no controls, no letters that look like others. */
const PRINTABLE = /^[\x21-\x7e]+$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Schemes that browsers give a meaning of their own, or that lead to what is no program of the user's. */
const REFUSED_SCHEMES: ReadonlySet<string> = new Set([
  ...['about:', 'blob:', 'chrome:', 'content:', 'data:', 'file:', 'filesystem:', 'ftp:', 'intent:', 'javascript:'],
  ...['mailto:', 'resource:', 'sms:', 'tel:', 'vbscript:', 'view-source:', 'ws:', 'wss:'],
]);

/** Where a client wants its users sent back to: https; http on the user's own machine; a scheme that a program there has registered. */
export function checkRedirects(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST) {
    throw fault(`must be a list of 1 to ${MOST} addresses`);
  }
  return [...new Set(given.map(checkRedirect))];
}

function checkRedirect(given: unknown): string {
  if (typeof given !== 'string' || given.length > LONGEST || !PRINTABLE.test(given)) {
    throw fault(`must be addresses in ASCII of at most ${LONGEST} characters`);
  }
  const url = URL.parse(given);
  if (url === null) throw fault('must be absolute addresses');
  if (given.includes('#')) throw fault('must have no fragment');
  if (url.username !== '' || url.password !== '') throw fault('must name no user');
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname)) {
    throw fault("may use http on the user's own machine only: localhost, 127.0.0.1 or [::1]");
  }
  if (REFUSED_SCHEMES.has(url.protocol)) throw fault('use a scheme that is not taken');
  return given;
}

function fault(what: string): ClientFault {
  return new ClientFault('invalid_redirect_uri', `redirect_uris ${what}.`);
}

/** Whether whoever is sent there stays on the machine on which they are: no host vouches for what listens. */
export function isOwnMachine(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol !== 'https:' || LOOPBACK_HOSTS.has(hostname);
}

/** What people are told of it: the host, or the scheme where there is none. */
export function hostOfRedirect(redirectUri: string): string {
  const { hostname, protocol } = new URL(redirectUri);
  return hostname === '' ? protocol : hostname;
}
