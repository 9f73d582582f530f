import type { World } from './market-world.ts';
import { askMcp, type Era } from './mcp-ask.ts';
import { authorizeClient, type Connected, learnClientId, type ServerFacts } from './oauth-client.ts';
import { type Found, readChallenge, scopeToAsk } from './oauth-discovery.ts';
import { allowOnPage, type ShownProof } from './oauth-person.ts';
import type { ClientShape } from './oauth-shapes.ts';

/** How a client goes about it. */
export interface Manner {
  shape: ClientShape;
  era: Era;
  find(address: string): Promise<Found>;
  /** What it asks for; null: it names no scopes. */
  scopeOf(found: Found): string | null;
}

export interface HostedAnswer {
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
  /** Everything it was ever given, and its user showed or was given, that must stand nowhere. */
  secrets: Set<string>;
  call(tool: string, given?: object, meta?: Readonly<Record<string, unknown>>): Promise<HostedAnswer>;
  /** Where the answer names a wider scope, asks for it and goes on with that token; says which scope that was. */
  stepUp(answer: HostedAnswer): Promise<string>;
}

/** A client of the hosted connector of a whole market, from the address that its user pasted to its first token. */
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
