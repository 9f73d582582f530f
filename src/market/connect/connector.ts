import { TOKEN_SCOPES } from '../../contract/connections.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { cacheAnswer } from '../../platform/http/cache-answer.ts';
import { guardBody } from '../../platform/http/guard-request.ts';
import { type Incoming, type Outgoing, readBody } from '../../platform/http/message.ts';
import { fetchPublic, type PublicFetch } from '../../platform/http/outbound-requests.ts';
import type { ExtraRoute, InternalRequests } from '../../platform/http/server-options.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { Market, MarketConfig, Merchant } from '../context.ts';
import { createProviderCalls, type ProviderCalls } from './call-provider.ts';
import { ClientFault, createDocuments, type Metadata, normalizeRegistration } from './client-metadata.ts';
import { createArtifacts, idHash } from './create-adapter.ts';
import { createInteractions } from './create-interactions.ts';
import { createProvider, takeClientQuota } from './create-provider.ts';
import { type HostedCaller, type Interactions, PATHS, RESOURCE_PATH, resourceOf } from './interaction.ts';
import { mountAuthorization, mountToken, OAUTH_BODY_BYTES } from './mount-oauth.ts';
import { answerProgram, oauthError, type ShowFault, showPlainText } from './show-fault.ts';
import { findHostedCaller, markGrantProven, markHostProven } from './store.ts';

/** Fetches a client's metadata document. Tests replace it. */
export type FetchDocument = PublicFetch;

/** The authorization server behind /mcp/connect. */
export interface Connector {
  /** The authorization server's routes and the discovery documents. */
  routes(inside: InternalRequests<Merchant>): ExtraRoute[];
  interactions: Interactions;
  /** Returns the token's caller. Null if the token is unknown, no longer valid or for another resource. */
  authenticate(token: string): Promise<HostedCaller | null>;
  /** Records that a read of `me` was completed through this grant. */
  markProven(hosted: HostedCaller): Promise<void>;
}

export interface ConnectorOptions {
  fetchDocument?: FetchDocument;
  /** Renders a page that tells a person why a program cannot be connected. Default: plain text. */
  showFault?: ShowFault;
}

export function createConnector(market: Market, options: ConnectorOptions): Connector {
  const { config } = market;
  const artifacts = createArtifacts(market);
  const documents = createDocuments(market, options.fetchDocument ?? fetchPublic);
  const provider = createProvider(market, artifacts.adapter, documents);
  const calls = createProviderCalls(provider, config);
  return {
    routes: ({ guard }) => [
      ...mountAuthorization(market, calls, options.showFault ?? showPlainText),
      ...mountToken(market, calls, guard),
      ...mountRegistration(market, calls, guard),
      ...mountDiscovery(config),
    ],
    interactions: createInteractions({ market, provider, calls, artifacts }),
    authenticate: (token) => authenticateHosted(market, token),
    markProven: (hosted) => markProven(market, hosted),
  };
}

/** Form of the authorization server's tokens (256 bits). Other texts need no query. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Looks the token up without a cache, so that a revoked one stops working at once in every process. */
async function authenticateHosted(market: Market, token: string): Promise<HostedCaller | null> {
  if (!TOKEN.test(token)) return null;
  const { clock, config, database } = market;
  const row = await findHostedCaller(database, idHash(token), new Date(clock.now()));
  if (row === null || row.aud !== resourceOf(config)) return null;
  const { merchant_id: id, handle, key_id: keyId, client_host: clientHost } = row;
  const tokenScopes = row.scope?.split(' ') ?? [];
  const isOfHosts = clientHost !== null && config.hostedHosts.includes(clientHost);
  return {
    merchant: { id, handle, maintainer: id === BigInt(MAINTAINER_MERCHANT_ID), keyId },
    grantId: row.grant_id,
    scopes: new Set(TOKEN_SCOPES.filter((scope) => tokenScopes.includes(scope) && row.granted.includes(scope))),
    clientHost,
    proven: row.is_grant_proven || (isOfHosts && row.is_host_proven),
  };
}

/** Marks the grant as proven. Marks its host too, but only a configured one, because anybody can run a host. */
async function markProven({ clock, config, database }: Market, hosted: HostedCaller): Promise<void> {
  const at = new Date(clock.now());
  const { grantId, clientHost } = hosted;
  await markGrantProven(database, grantId, at);
  if (clientHost !== null && config.hostedHosts.includes(clientHost)) await markHostProven(database, clientHost, at);
}

/** Lets clients register themselves and read their registration (RFC 7591). */
function mountRegistration(market: Market, calls: ProviderCalls, guard: SecretGuard): ExtraRoute[] {
  return [
    {
      method: 'POST',
      path: PATHS.registration,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => {
        await takeClientQuota(market, incoming.clientNetwork);
        return await registerClient(calls, readMetadata(guard, incoming), incoming);
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

/** Checks for secrets before it refuses a malformed body, so that a secret is refused as such. */
function readMetadata(guard: SecretGuard, { body, headers }: Incoming): Metadata {
  guardBody(guard, body, undefined);
  const metadata = readBody(body, headers);
  guardBody(guard, metadata, undefined);
  return metadata;
}

async function registerClient(calls: ProviderCalls, metadata: Metadata, incoming: Incoming): Promise<Outgoing> {
  try {
    const body = JSON.stringify(normalizeRegistration(metadata));
    const headers = { 'content-type': 'application/json' };
    const { answer, fault } = await calls.ask({ method: 'POST', path: PATHS.registration, headers, body }, incoming);
    return fault === null ? answer : answerProgram(answer, fault, incoming);
  } catch (error) {
    if (!(error instanceof ClientFault)) throw error;
    incoming.notes['reason'] = error.code;
    return oauthError({ status: 400, error: error.code, text: error.message });
  }
}

/** Hosts look for the authorization server with and without the resource's path. */
const SERVER_PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'].flatMap(
  (path) => [path, path + RESOURCE_PATH],
);

/** Serves the documents that tell clients how to get a token. There is none for /mcp, which takes no tokens. */
function mountDiscovery(config: Pick<MarketConfig, 'baseUrl'>): ExtraRoute[] {
  const resource = JSON.stringify(resourceDocument(config));
  const server = JSON.stringify(serverDocument(config));
  return [
    mountDocument(`/.well-known/oauth-protected-resource${RESOURCE_PATH}`, resource),
    ...SERVER_PATHS.map((path) => mountDocument(path, server)),
  ];
}

function mountDocument(path: string, body: string): ExtraRoute {
  return {
    method: 'GET',
    path,
    answer: async ({ headers }) => {
      const answer = { status: 200, headers: { 'content-type': 'application/json' }, body };
      return cacheAnswer(answer, 'public', headers['if-none-match']);
    },
  };
}

/** The protected resource metadata of RFC 9728. */
function resourceDocument(config: Pick<MarketConfig, 'baseUrl'>) {
  return {
    resource: resourceOf(config),
    authorization_servers: [config.baseUrl],
    scopes_supported: TOKEN_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Openaisle',
    resource_documentation: resourceOf(config),
  };
}

/** The server metadata of RFC 8414, plus the fields of OpenID Connect Discovery, which some clients read instead and validate. */
function serverDocument({ baseUrl }: Pick<MarketConfig, 'baseUrl'>) {
  return {
    issuer: baseUrl,
    authorization_endpoint: baseUrl + PATHS.authorization,
    token_endpoint: baseUrl + PATHS.token,
    registration_endpoint: baseUrl + PATHS.registration,
    revocation_endpoint: baseUrl + PATHS.revocation,
    jwks_uri: baseUrl + PATHS.jwks,
    // offline_access requests a refresh token. It is not a scope of the resource, so it is listed only here.
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
