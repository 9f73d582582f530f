import { DEFAULT_TOKEN_SCOPES } from '../../src/contract/connections.ts';
import { readJson, type ServerFacts } from './oauth-client.ts';

/** What a client knows that was given an address and nothing else. */
export interface Found {
  server: ServerFacts;
  /** As the challenge names it; null: the client did not ask for one. */
  scope: string | null;
}

const REVISION = '2025-11-25';

/** As the specification has it, and Claude, Claude Code, Cursor and VS Code do it: from the refusal to its resource to its server. */
export async function findByChallenge(address: string): Promise<Found> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'client', version: '1' } },
    }),
  });
  await response.body?.cancel();
  if (response.status !== 401) throw new Error(`no challenge: ${response.status}`);
  const challenge = readChallenge(response.headers);
  const resource = await readJson(challenge['resource_metadata'] ?? '');
  // The address that its user typed, path included, or the document belongs to another resource.
  if (resource['resource'] !== address) throw new Error('the document is of another resource');
  const [issuer = ''] = resource['authorization_servers'] as string[];
  const server = await readServer(issuer, ['oauth-authorization-server', 'openid-configuration']);
  return { server: { ...server, resource: address }, scope: challenge['scope'] ?? null };
}

/** As ChatGPT may do it: no refusal is waited for; both addresses on the host of the connector have to say the same. */
export async function findBySite(address: string): Promise<Found> {
  const { origin, pathname } = new URL(address);
  const server = await readServer(origin, ['oauth-authorization-server']);
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    const other = await readJson(`${origin}/.well-known/${name}${pathname}`);
    if (JSON.stringify(other) !== JSON.stringify(server)) throw new Error(`${name} says something else`);
  }
  return { server: { ...server, resource: address }, scope: null };
}

/** The first of those documents that is there, and what clients insist on in it. */
async function readServer(issuer: string, names: readonly string[]): Promise<ServerFacts> {
  for (const name of names) {
    const response = await fetch(`${issuer}/.well-known/${name}`, { headers: { 'mcp-protocol-version': REVISION } });
    if (response.status === 404) continue;
    const server = (await response.json()) as Record<string, unknown>;
    const has = (member: string, value: string): boolean =>
      (server[member] as string[] | undefined)?.includes(value) ?? false;
    if (server['issuer'] !== issuer) throw new Error('the document is of another server');
    if (!has('code_challenge_methods_supported', 'S256')) throw new Error('no PKCE');
    if (!has('token_endpoint_auth_methods_supported', 'none')) throw new Error('no public clients');
    if (server['client_id_metadata_document_supported'] !== true) throw new Error('no metadata documents');
    return server as unknown as ServerFacts;
  }
  throw new Error('no authorization server');
}

/** The parameters of a Bearer challenge. */
export function readChallenge(headers: Headers): Record<string, string> {
  const text = headers.get('www-authenticate') ?? '';
  if (!text.startsWith('Bearer ')) throw new Error(`no challenge: ${text}`);
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
}

/** What is asked for where the challenge, and the server's list, lead to it. */
export function scopeToAsk({ server, scope }: Found): string {
  const offline = server.scopes_supported.includes('offline_access') ? ['offline_access'] : [];
  return [scope ?? DEFAULT_TOKEN_SCOPES.join(' '), ...offline].join(' ');
}
