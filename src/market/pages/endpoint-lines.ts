import type { Auth, EndpointShape } from '../../contract/endpoint.ts';
import { endpoints } from '../../contract/index.ts';

export const KEY_USE: Readonly<Record<Auth, string>> = {
  audit: 'open, never reads a key',
  public: 'open',
  optional_key: 'open; with a key it is done in your name',
  staged_key: 'the door judges your key itself',
  key: 'needs your key',
  maintainer: 'the maintainer only',
};

/** Everything that the contract names, so that the list cannot fall behind. */
export const ENDPOINTS: readonly EndpointShape[] = Object.values(endpoints);

export function endpointLines(): string[] {
  return ENDPOINTS.map(({ method, path, summary, auth }) => `\`${method} ${path}\` ${summary} (${KEY_USE[auth]})`);
}
