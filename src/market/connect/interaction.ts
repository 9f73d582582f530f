import type { TokenScope } from '../../contract/connections.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { MarketConfig, Merchant } from '../context.ts';

/** An authorization in progress in a browser, as the pages show it. */
export interface Interaction {
  uid: string;
  client: {
    /** Chosen by the client, so it is untrusted text. */
    name: string | null;
    /** Host of the client's metadata document. Null if the client registered itself; its name then proves nothing. */
    host: string | null;
    redirectHost: string;
    /** True if every redirect stays on the user's own machine. */
    loopbackOnly: boolean;
  };
  scopes: readonly TokenScope[];
}

/** The merchant that proved, on the page, that the store is theirs. */
export interface SignInProof {
  merchantId: bigint;
  /** The merchant's key at that time. */
  keyId: bigint;
  provedBy: 'key' | 'pairing_code';
}

/** Steps of an authorization, for the pages. An interaction belongs to the browser whose cookie names it. */
export interface Interactions {
  /** Returns null if this browser has no open interaction with that uid. */
  find(incoming: Incoming, uid: string): Promise<Interaction | null>;
  /** Makes the grant and its row in hosted_grants. Returns the address to send the browser to. A second call is refused. */
  allow(incoming: Incoming, interaction: Interaction, proof: SignInProof): Promise<{ location: string }>;
  /** Tells the client that its user refused. */
  cancel(incoming: Incoming, interaction: Interaction): Promise<{ location: string }>;
}

/** The merchant for whom a hosted client acts, according to its access token. */
export interface HostedCaller {
  merchant: Merchant;
  /** Id of the row in hosted_grants. */
  grantId: string;
  scopes: ReadonlySet<TokenScope>;
  /** Host of the client's metadata document. Null if the client registered itself. */
  clientHost: string | null;
  /** True if a read of `me` was completed through this grant, or through any grant of the client's configured host. */
  proven: boolean;
}

/** Paths of the authorization server. Its own steps are below `authorization`, our pages below `interaction`. */
export const PATHS = {
  authorization: '/oauth/authorize',
  interaction: '/oauth/interaction',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
} as const;

export const RESOURCE_PATH = '/mcp/connect';

/** The only resource for which tokens are issued (RFC 8707). */
export function resourceOf({ baseUrl }: Pick<MarketConfig, 'baseUrl'>): string {
  return baseUrl + RESOURCE_PATH;
}
