import type { TokenScope } from '../../contract/connections.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { MarketConfig, Merchant } from '../context.ts';

/** An authorization under way in a browser, as the pages see it. */
export interface Interaction {
  uid: string;
  client: {
    /** What it calls itself: a stranger's text. */
    name: string | null;
    /** Of its metadata document; null: it registered itself, and its name proves nothing. */
    host: string | null;
    redirectHost: string;
    /** Every redirect it has leads to the user's own machine. */
    loopbackOnly: boolean;
  };
  scopes: readonly TokenScope[];
}

/** Who proved, on the page, that the store is theirs to connect. */
export interface SignInProof {
  merchantId: bigint;
  /** The key in force at that time. */
  keyId: bigint;
  provedBy: 'key' | 'pairing_code';
}

/** The steps of the authorization server that the pages take. An interaction belongs to the browser whose cookie names it. */
export interface Interactions {
  /** Null: there is none in this browser under that uid, or not any more. */
  find(incoming: Incoming, uid: string): Promise<Interaction | null>;
  /**
   * Makes the grant, its row in hosted_grants included, and gives the address to send the browser to. Once: a second call finds no
   * interaction.
   */
  allow(incoming: Incoming, interaction: Interaction, proof: SignInProof): Promise<{ location: string }>;
  /** Tells the client that its user said no. */
  cancel(incoming: Incoming, interaction: Interaction): Promise<{ location: string }>;
}

/** For whom a hosted client acts, as its access token says. */
export interface HostedCaller {
  merchant: Merchant;
  /** hosted_grants.id */
  grantId: string;
  scopes: ReadonlySet<TokenScope>;
  /** Of the client's metadata document; null: it registered itself. */
  clientHost: string | null;
  /** This grant, or a configured host of its client, has completed a read of `me` (W11). */
  proven: boolean;
}

/** Addresses of the authorization server. Below `authorization` its own steps follow, below `interaction` the pages. */
export const PATHS = {
  authorization: '/oauth/authorize',
  interaction: '/oauth/interaction',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
} as const;

export const RESOURCE_PATH = '/mcp/connect';

/** The one thing that tokens are good for (RFC 8707). */
export function resourceOf({ baseUrl }: Pick<MarketConfig, 'baseUrl'>): string {
  return baseUrl + RESOURCE_PATH;
}
