import type { EndpointShape } from '../../../contract/endpoint.ts';
import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { CEREMONIES } from '../ceremony/create-ceremonies.ts';
import { ENDPOINTS } from '../endpoint-lines.ts';

/** Everything public may be read by every program. What cannot be read, is one person's own, or never ends is not worth the visit (RFC 9309). */
export function robotsText(): string {
  const open = new Set(ENDPOINTS.filter(isPublicRead).map(toPattern));
  const closed = ENDPOINTS.map(toPattern).filter((pattern) => !open.has(pattern));
  const paths = [...CEREMONIES.map(({ path }) => path), '/oauth/', STREAM_PATH, ...new Set(closed)];
  return ['User-agent: *', 'Allow: /', ...paths.map((path) => `Disallow: ${path}`), ''].join('\n');
}

function isPublicRead({ method, auth }: EndpointShape): boolean {
  return method === 'GET' && (auth === 'audit' || auth === 'public');
}

/** Closed with `$`, so that what lies below stays open. */
function toPattern({ path }: EndpointShape): string {
  return `${path.replaceAll(/:[a-z_]+/g, '*')}$`;
}
