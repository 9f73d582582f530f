import sql, { raw } from 'sql-template-tag';
import { DEFAULT_TOKEN_SCOPES } from '../../src/contract/connections.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { watchText } from '../support/canary.ts';
import type { World } from '../support/market-world.ts';
import { askMcp, type Era } from '../support/mcp-ask.ts';
import {
  authorizeClient,
  type Connected,
  type ConsentPage,
  learnClientId,
  readJson,
  type ServerFacts,
} from '../support/oauth-client.ts';
import type { ClientShape } from '../support/oauth-shapes.ts';

/** Server and scope that a client learns from an address alone. */
export interface Found {
  server: ServerFacts;
  /** Scope named in the challenge. Null if the client did not ask for a challenge. */
  scope: string | null;
}

const REVISION = '2025-11-25';

/**
 * Discovers the server by the specification, as Claude, Claude Code, Cursor and VS Code do: from the refusal to the resource document to
 * the server.
 */
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
  // The document must name exactly the address that the user entered, path included.
  if (resource['resource'] !== address) throw new Error('the document is of another resource');
  const [issuer = ''] = resource['authorization_servers'] as string[];
  const server = await readServer(issuer, ['oauth-authorization-server', 'openid-configuration']);
  return { server: { ...server, resource: address }, scope: challenge['scope'] ?? null };
}

/** Discovers the server as ChatGPT may: without waiting for a refusal. Both documents on the connector's host must agree. */
export async function findBySite(address: string): Promise<Found> {
  const { origin, pathname } = new URL(address);
  const server = await readServer(origin, ['oauth-authorization-server']);
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    const other = await readJson(`${origin}/.well-known/${name}${pathname}`);
    if (JSON.stringify(other) !== JSON.stringify(server)) throw new Error(`${name} says something else`);
  }
  return { server: { ...server, resource: address }, scope: null };
}

/** Reads the first of those documents that exists and checks the fields that clients require. */
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

export function readChallenge(headers: Headers): Record<string, string> {
  const text = headers.get('www-authenticate') ?? '';
  if (!text.startsWith('Bearer ')) throw new Error(`no challenge: ${text}`);
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
}

/** Returns the scope to request: the challenge's, or else the server's list. */
export function scopeToAsk({ server, scope }: Found): string {
  const offline = server.scopes_supported.includes('offline_access') ? ['offline_access'] : [];
  return [scope ?? DEFAULT_TOKEN_SCOPES.join(' '), ...offline].join(' ');
}

/** Proof of ownership that a person enters on the page. */
type ShownProof = { key: string } | { pairingCode: string };

/** Acts as the person on the page: proves ownership of the store, agrees, and returns the redirect URL. */
export async function allowOnPage(page: ConsentPage, proof: ShownProof): Promise<string> {
  const [headers, body] =
    'key' in proof ? [{ authorization: `Bearer ${proof.key}` }, {}] : [{}, { pairing_code: proof.pairingCode }];
  await step(page, 'prove', body, headers);
  const { location } = await step(page, 'decide', { decision: 'allow' });
  return String(location);
}

async function step(
  { browser, url }: ConsentPage,
  name: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      cookie: browser.cookiesFor(url),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  watchText(`the answer to ${name}`, text);
  if (response.status !== 200) throw new Error(`${name} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Returns every row of every table as text, by table. Bytes appear in hex. */
export async function dumpTables(database: Database): Promise<Map<string, string[]>> {
  const tables = await database.rows<{ name: string }>(sql`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p', 'm') and c.relnamespace::regnamespace::text !~ '^(?:pg_|information_schema$)'`);
  const dump = new Map<string, string[]>();
  for (const { name } of tables) {
    const rows = await database.rows<{ text: string }>(sql`select t::text as text from ${raw(name)} t`);
    dump.set(
      name,
      rows.map(({ text }) => text),
    );
  }
  return dump;
}

/** Returns the tables that hold one of these secrets in any encoding. */
export function tablesThatHold(dump: ReadonlyMap<string, readonly string[]>, secrets: readonly string[]): string[] {
  const spelled = secrets.flatMap(spellings);
  return [...dump].flatMap(([name, rows]) =>
    rows.some((row) => spelled.some((secret) => row.includes(secret))) ? [name] : [],
  );
}

export function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
}

export interface Manner {
  shape: ClientShape;
  era: Era;
  find(address: string): Promise<Found>;
  /** Returns the scope to request. Null requests none. */
  scopeOf(found: Found): string | null;
}

interface HostedAnswer {
  status: number;
  headers: Headers;
  isError: boolean;
  body: Record<string, unknown>;
  meta: Record<string, unknown>;
}

export interface HostedClient {
  server: ServerFacts;
  clientId: string;
  connected: Connected;
  /** All secrets that the client received or its user entered. None may be stored anywhere. */
  secrets: Set<string>;
  call(tool: string, given?: object, meta?: Readonly<Record<string, unknown>>): Promise<HostedAnswer>;
  /** Requests the wider scope that the answer names and continues with the new token. Returns that scope. */
  stepUp(answer: HostedAnswer): Promise<string>;
}

/** Connects a client to the hosted connector, from the address that its user pasted to its first token. */
export async function openHosted(
  world: World,
  manner: Manner,
  proof: () => Promise<ShownProof>,
): Promise<HostedClient> {
  const { shape, era } = manner;
  const address = `${world.url}/mcp/connect`;
  const found = await manner.find(address);
  const { server } = found;
  const clientId = await learnClientId(server, shape);
  const secrets = new Set<string>();
  const authorize = async (scope: string | null): Promise<Connected> => {
    const shown = await proof();
    const decide = async (page: Parameters<typeof allowOnPage>[0]): Promise<string> => {
      secrets.add(page.uid);
      return await allowOnPage(page, shown);
    };
    const made = await authorizeClient(server, { clientId, shape }, decide, { scope });
    const { browser, code, tokens, begun } = made;
    const given = [...browser.seen, code, tokens.access_token, tokens.refresh_token ?? '', begun.verifier];
    for (const secret of [...given, ...Object.values(shown)]) secrets.add(secret);
    return made;
  };
  const client: HostedClient = {
    server,
    clientId,
    secrets,
    connected: await authorize(manner.scopeOf(found)),
    call: async (name, given = {}, meta = {}) => {
      const headers = { authorization: `Bearer ${client.connected.tokens.access_token}` };
      const asked = { path: '/mcp/connect', era, headers, meta };
      const answer = await askMcp(world, 'tools/call', { name, arguments: given }, asked);
      const result = answer.message.result ?? {};
      return {
        status: answer.status,
        headers: answer.headers,
        isError: result['isError'] === true,
        body: (result['structuredContent'] ?? answer.message) as Record<string, unknown>,
        meta: (result['_meta'] ?? {}) as Record<string, unknown>,
      };
    },
    stepUp: async ({ status, headers }) => {
      const { error, scope } = readChallenge(headers);
      if (status !== 403 || error !== 'insufficient_scope') throw new Error(`no wider scope is asked for: ${status}`);
      client.connected = await authorize(scopeToAsk({ server, scope: scope ?? null }));
      return scope ?? '';
    },
  };
  return client;
}
