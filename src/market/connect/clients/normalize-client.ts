import { ClientFault } from './client-fault.ts';
import { checkRedirects, isOwnMachine } from './redirects.ts';

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
  return { ...common(body), token_endpoint_auth_method: 'none' };
}

/** A metadata document in the same way. What it must not say is left for the authorization server to refuse. */
export function normalizeDocument(document: Metadata): Metadata {
  const { client_id, token_endpoint_auth_method: method = 'none', jwks, jwks_uri } = document;
  if (SHARED_SECRETS.has(method) || 'client_secret' in document) {
    throw new ClientFault('invalid_client_metadata', 'A client with a metadata document has no shared secret.');
  }
  const isKeyed = method === 'private_key_jwt';
  return {
    ...common(document),
    client_id,
    token_endpoint_auth_method: isKeyed ? method : 'none',
    ...(isKeyed && jwks !== undefined ? { jwks } : {}),
    ...(isKeyed && jwks_uri !== undefined ? { jwks_uri } : {}),
  };
}

function common(given: Metadata): Metadata {
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
