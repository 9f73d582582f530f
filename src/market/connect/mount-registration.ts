import { guardBody } from '../../platform/http/guard-request.ts';
import type { Incoming, Outgoing } from '../../platform/http/incoming.ts';
import type { Mount } from '../../platform/http/mount.ts';
import { readBody } from '../../platform/http/read-body.ts';
import type { SecretGuard } from '../../platform/secret-guard.ts';
import type { Market } from '../context.ts';
import type { ProviderCalls } from './call-provider.ts';
import { ClientFault } from './clients/client-fault.ts';
import { type Metadata, normalizeRegistration } from './clients/normalize-client.ts';
import { takeClientQuota } from './create-provider.ts';
import { OAUTH_BODY_BYTES } from './mount-token.ts';
import { PATHS } from './paths.ts';
import { answerProgram, oauthError } from './show-fault.ts';

/** Clients that register themselves (RFC 7591), and read what they registered. */
export function mountRegistration(market: Market, calls: ProviderCalls, guard: SecretGuard): Mount[] {
  return [
    {
      method: 'POST',
      path: PATHS.registration,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => {
        await takeClientQuota(market, incoming.clientNetwork);
        return await register(calls, readMetadata(guard, incoming), incoming);
      },
    },
    {
      method: 'GET',
      path: `${PATHS.registration}/:client_id`,
      answer: async (incoming) => {
        const path = `${PATHS.registration}/${encodeURIComponent(incoming.params['client_id'] ?? '')}`;
        const { authorization } = incoming.headers;
        const headers = authorization === undefined ? {} : { authorization };
        const { answer, fault } = await calls.ask({ method: 'GET', path, headers }, incoming);
        return fault === null ? answer : answerProgram(answer, fault, incoming);
      },
    },
  ];
}

/** The guard comes before any word about the body's shape. */
function readMetadata(guard: SecretGuard, { body, headers }: Incoming): Metadata {
  guardBody(guard, body, undefined);
  const metadata = readBody(body, headers);
  guardBody(guard, metadata, undefined);
  return metadata;
}

async function register(calls: ProviderCalls, given: Metadata, incoming: Incoming): Promise<Outgoing> {
  try {
    const body = JSON.stringify(normalizeRegistration(given));
    const headers = { 'content-type': 'application/json' };
    const { answer, fault } = await calls.ask({ method: 'POST', path: PATHS.registration, headers, body }, incoming);
    return fault === null ? answer : answerProgram(answer, fault, incoming);
  } catch (error) {
    if (!(error instanceof ClientFault)) throw error;
    incoming.notes['reason'] = error.code;
    return oauthError({ status: 400, error: error.code, text: error.message });
  }
}
