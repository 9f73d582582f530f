import { createECDH } from 'node:crypto';
import Provider, {
  type AdapterFactory,
  type Configuration,
  errors,
  type JWK,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { TOKEN_SCOPES } from '../../contract/connections.ts';
import { takeQuota } from '../../platform/database/quota.ts';
import type { Market, Pepper } from '../context.ts';
import { limitFor } from '../limits/network-limits.ts';
import { takeNetworkQuota } from '../limits/quotas.ts';
import { type Documents, hostOfClient, normalizeDocument } from './client-metadata.ts';
import { PATHS, resourceOf } from './interaction.ts';

const MINUTE = 60;
const DAY = 86_400;
/** Lifetimes in seconds. */
const TTL = {
  AccessToken: 60 * MINUTE,
  AuthorizationCode: MINUTE,
  // After a year the user has to authorize a client again.
  Grant: 365 * DAY,
  IdToken: 60 * MINUTE,
  Interaction: 15 * MINUTE,
  RefreshToken: 30 * DAY,
  RegistrationAccessToken: 90 * DAY,
  Session: MINUTE,
};
const DOCUMENT_BYTES = 65_536;
const CLIENT_DOCUMENTS = 'draft-02';
const DISABLED = { enabled: false };
const CLIENTS_LIMIT = 'oauth_clients_per_ip_hour';
/** Multiplies the limit for configured hosts, which have many documents and few addresses to call from. */
const TIMES_FOR_HOSTS = 10;

/** Two cookies bind an authorization to its browser and are sent only to its addresses. The session cookie is never sent. */
export const COOKIE_NAMES = {
  interaction: 'openaisle-connect',
  resume: 'openaisle-connect-resume',
  session: 'openaisle-connect-session',
};

/** Configures oidc-provider and turns off everything that the hosted connector does not need. */
export function createProvider(market: Market, adapter: AdapterFactory, documents: Documents): Provider {
  const { config, pepper } = market;
  const configuration: Configuration = {
    adapter,
    clientAuthMethods: ['none', 'private_key_jwt'],
    clientBasedCORS: () => false,
    clientDefaults: {
      grant_types: ['authorization_code'],
      id_token_signed_response_alg: 'ES256',
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    cookies: {
      names: COOKIE_NAMES,
      long: { httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
      keys: cookieKeys(pepper),
    },
    expiresWithSession: () => false,
    features: featuresOf(market, documents),
    fetch: (address) => fetchForProvider(documents, String(address)),
    fetchResponseBodyLimits: { 'client_id metadata document': DOCUMENT_BYTES, jwks_uri: DOCUMENT_BYTES },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_ctx, { uid }) => `${config.baseUrl}${PATHS.interaction}/${uid}` },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    jwks: { keys: [signingKey(pepper)] },
    loadExistingGrant,
    pkce: { required: () => true },
    renderError: (ctx, out) => {
      // Answer in JSON, because the route renders the page.
      ctx.type = 'json';
      ctx.body = out;
    },
    responseTypes: ['code'],
    // Revoking any token of a client ends its connection.
    revokeGrantPolicy: () => true,
    rotateRefreshToken: () => true,
    routes: {
      authorization: PATHS.authorization,
      jwks: PATHS.jwks,
      registration: PATHS.registration,
      revocation: PATHS.revocation,
      token: PATHS.token,
    },
    scopes: [],
    ttl: TTL,
  };
  const provider = new Provider(config.baseUrl, configuration);
  // Trust the forwarded headers, which call-provider.ts sets from the configuration. Clients' headers never get there.
  provider.proxy = true;
  return provider;
}

function featuresOf(market: Market, documents: Documents): NonNullable<Configuration['features']> {
  const resource = resourceOf(market.config);
  return {
    clientIdMetadataDocument: {
      enabled: true,
      // Pin the draft, so that an update to another one fails at the start.
      ack: CLIENT_DOCUMENTS,
      allowFetch: (ctx, clientId) => mayFetch(market, documents, ctx, clientId),
      // We cache documents ourselves.
      cacheDuration: { min: 1, max: 1 },
    },
    devInteractions: DISABLED,
    dPoP: DISABLED,
    pushedAuthorizationRequests: DISABLED,
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      getResourceServerInfo: (_ctx, indicator) => {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return { scope: TOKEN_SCOPES.join(' '), audience: resource, accessTokenFormat: 'opaque' };
      },
      useGrantedResource: () => true,
    },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    rpInitiatedLogout: DISABLED,
    userinfo: DISABLED,
  };
}

/** Loads only the grant that was just made on the page, because each authorization asks the user again. */
async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { grantId } = ctx.oidc.result?.consent ?? {};
  if (grantId === undefined) return undefined;
  const grant = await ctx.oidc.provider.Grant.find(grantId);
  // The grant was revoked between the page and this step.
  if (grant === undefined) throw new errors.AccessDenied();
  return grant;
}

async function fetchForProvider(documents: Documents, address: string): Promise<Response> {
  const value = await documents.read(address);
  const isOfClient = isRecord(value) && value['client_id'] === address;
  return Response.json(isOfClient ? normalizeDocument(value) : value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counts the fetch of an uncached client document against a quota, as a registration is counted. */
async function mayFetch(
  market: Market,
  documents: Documents,
  ctx: KoaContextWithOIDC | undefined,
  clientId: string,
): Promise<boolean> {
  const host = hostOfClient(clientId);
  const isConfigured = host !== null && market.config.hostedHosts.includes(host);
  // Our own pages have no context. They look up a client that the authorization has already fetched.
  if (ctx === undefined || documents.isCached(clientId)) return true;
  const network = ctx.get('x-forwarded-for');
  await (isConfigured ? takeHostQuota(market, network, host) : takeClientQuota(market, network));
  return true;
}

/** Counts per network and host, so that nobody can make us flood a host with requests. */
async function takeHostQuota(market: Market, clientNetwork: string, host: string): Promise<void> {
  const { limits, clientNetworkLimits } = market.config;
  const limit = limitFor(clientNetworkLimits, CLIENTS_LIMIT, clientNetwork, limits) * TIMES_FOR_HOSTS;
  await takeQuota(market, { name: CLIENTS_LIMIT, subject: `${clientNetwork} ${host}`, limit, windowSeconds: 3_600 });
}

export async function takeClientQuota(market: Market, clientNetwork: string): Promise<void> {
  await takeNetworkQuota(market, CLIENTS_LIMIT, clientNetwork);
}

/** Derives cookie keys from all peppers, so that processes share them and neither a restart nor a new pepper interrupts authorizations. */
export function cookieKeys(pepper: Pepper): string[] {
  return pepper.hashes('openaisle oauth cookies').map(({ hash }) => hash.toString('base64url'));
}

const MAX_TRIES = 8;

/** Derives a key for the key set that discovery requires. The key signs nothing, because tokens are opaque. */
export function signingKey(pepper: Pepper): JWK {
  for (let nth = 1; nth <= MAX_TRIES; nth += 1) {
    const jwk = p256Key(pepper.hash(`openaisle oauth es256 ${nth}`));
    if (jwk !== null) return jwk;
  }
  throw new Error('no hash is a key of the curve');
}

/** Returns null if the number is outside the curve's order, which happens once in about four billion. */
export function p256Key(scalar: Uint8Array): JWK | null {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(scalar);
  } catch {
    return null;
  }
  // The point is 0x04 followed by both coordinates.
  const point = curve.getPublicKey();
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
  return {
    ...{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' },
    ...{ x: text(point.subarray(1, 33)), y: text(point.subarray(33)), d: text(scalar) },
  };
}
