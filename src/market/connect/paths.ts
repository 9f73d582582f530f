import type { MarketConfig } from '../context.ts';

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
