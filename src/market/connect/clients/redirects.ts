import { ClientFault } from './client-fault.ts';

const MOST = 10;
const LONGEST = 1_000;
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
  if (given.includes('\\') || (isOfWeb(url) && !SPELLED_OUT.test(given))) {
    throw fault('must be spelled out as scheme, two slashes and host, without a backslash');
  }
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname)) {
    throw fault("may use http on the user's own machine only: localhost, 127.0.0.1 or [::1]");
  }
  if (REFUSED_SCHEMES.has(url.protocol) || REFUSED_FAMILIES.test(url.protocol))
    throw fault('use a scheme that is not taken');
  return given;
}

function fault(what: string): ClientFault {
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
