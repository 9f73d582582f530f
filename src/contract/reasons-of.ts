import type { EndpointShape } from './endpoint.ts';
import { REASONS, type Reason } from './errors.ts';

const ALWAYS: readonly Reason[] = [
  'malformed_request',
  'secret_in_payload',
  'invalid_query',
  'unexpected_fields',
  'headers_too_large',
  'rate_limited',
  'unavailable',
  'history_lost',
  'internal_error',
];
const WITH_BODY: readonly Reason[] = ['malformed_json', 'invalid_fields', 'body_too_large', 'unsupported_media_type'];

/** Every reason that an endpoint may answer: its own, and those that its shape brings along. In the order of the table. */
export function reasonsOf(endpoint: EndpointShape): Reason[] {
  const reasons = new Set<Reason>([...ALWAYS, ...endpoint.errors]);
  if (endpoint.body) for (const reason of WITH_BODY) reasons.add(reason);
  if (endpoint.params) reasons.add('not_found');
  if (endpoint.auth === 'key' || endpoint.auth === 'maintainer')
    for (const reason of ['key_required', 'rotation_required'] as const) reasons.add(reason);
  if (endpoint.auth !== 'audit' && endpoint.auth !== 'public') reasons.add('key_invalid');
  if (endpoint.auth === 'maintainer') reasons.add('maintainer_only');
  if (endpoint.payment) reasons.add('two_proofs');
  return REASONS.filter((reason) => reasons.has(reason));
}
