import { TOKEN_SCOPES } from '../../contract/token-scopes.ts';
import { cacheAnswer } from '../../platform/http/cache-answer.ts';
import type { Mount } from '../../platform/http/mount.ts';
import type { MarketConfig } from '../context.ts';
import { PATHS, RESOURCE_PATH, resourceOf } from './paths.ts';

/** Hosts look for the authorization server at either, with the path of what they were given or without it. */
const SERVER_PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'].flatMap(
  (path) => [path, path + RESOURCE_PATH],
);

/** Where clients find out how to get a token. There is no document for /mcp, which takes none. */
export function mountDiscovery(config: Pick<MarketConfig, 'baseUrl'>): Mount[] {
  const resource = JSON.stringify(resourceDocument(config));
  const server = JSON.stringify(serverDocument(config));
  return [
    mountDocument(`/.well-known/oauth-protected-resource${RESOURCE_PATH}`, resource),
    ...SERVER_PATHS.map((path) => mountDocument(path, server)),
  ];
}

function mountDocument(path: string, body: string): Mount {
  return {
    method: 'GET',
    path,
    answer: async ({ headers }) => {
      const answer = { status: 200, headers: { 'content-type': 'application/json' }, body };
      return cacheAnswer(answer, 'public', headers['if-none-match']);
    },
  };
}

/** RFC 9728. */
export function resourceDocument(config: Pick<MarketConfig, 'baseUrl'>) {
  return {
    resource: resourceOf(config),
    authorization_servers: [config.baseUrl],
    scopes_supported: TOKEN_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Openaisle',
    resource_documentation: resourceOf(config),
  };
}

/** RFC 8414, plus what OpenID Connect Discovery wants: some clients read only that, and check it against its own schema. */
export function serverDocument({ baseUrl }: Pick<MarketConfig, 'baseUrl'>) {
  return {
    issuer: baseUrl,
    authorization_endpoint: baseUrl + PATHS.authorization,
    token_endpoint: baseUrl + PATHS.token,
    registration_endpoint: baseUrl + PATHS.registration,
    revocation_endpoint: baseUrl + PATHS.revocation,
    jwks_uri: baseUrl + PATHS.jwks,
    // Here only: it asks for a refresh token, and the resource has no such scope.
    scopes_supported: [...TOKEN_SCOPES, 'offline_access'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'],
    revocation_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    revocation_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'],
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}
