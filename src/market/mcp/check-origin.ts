import type { Incoming } from '../../platform/http/incoming.ts';
import { Refusal } from '../../platform/refusal.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A page of another site that resolves to us may not talk to us in its visitor's name: who calls has to mean this host. */
export function checkOrigin({ headers }: Pick<Incoming, 'headers'>, baseUrl: string): void {
  const own = new URL(baseUrl);
  const isOurs = (name: string): boolean => name === own.hostname || (LOOPBACK.has(own.hostname) && LOOPBACK.has(name));
  const host = hostOf(`http://${headers.host ?? ''}`);
  // A proxy in front may call us by a loopback name; a browser that was lured here sends the name that lured it.
  if (host === null || !(isOurs(host) || LOOPBACK.has(host))) {
    throw new Refusal('origin_refused', { detail: 'The Host header names another host than this market.' });
  }
  const { origin } = headers;
  if (origin === undefined || origin === own.origin) return;
  const from = hostOf(origin);
  if (from === null || !LOOPBACK.has(own.hostname) || !isOurs(from)) throw new Refusal('origin_refused');
}

function hostOf(url: string): string | null {
  return URL.parse(url)?.hostname || null;
}
