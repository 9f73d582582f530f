import { createMcpHandler } from '@modelcontextprotocol/server';
import { DEFAULT_TOKEN_SCOPES, type TokenScope } from '../../contract/connections.ts';
import { scopeOf } from '../../contract/tools.ts';
import { BEARER, headerValues } from '../../platform/http/caller-headers.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Connector } from '../connect/connector.ts';
import type { HostedCaller } from '../connect/interaction.ts';
import type { Market, Merchant } from '../context.ts';
import { CONNECT_PATH, MCP_PATH } from '../guide/mcp-server.ts';
import { authenticate } from '../identity/authenticate.ts';
import type { ToolContext } from './call-tool.ts';
import { createProtocolServer } from './create-protocol-server.ts';
import type { Message } from './messages.ts';
import { mountMcp, type ToolRequest } from './mount-mcp.ts';
import { findTool } from './tool-catalog.ts';

const MAX_SUBSCRIPTIONS = 32;

/** Mounts the market's tools at two addresses: /mcp for everybody, and /mcp/connect for hosted clients, which never hold a key. */
export function createMcp(market: Market, connector: Connector, inside: InternalRequests<Merchant>): ExtraRoute[] {
  const { baseUrl } = market.config;
  const tools: ToolContext = {
    market,
    inside,
    markProven: async ({ hosted }) => {
      if (hosted !== null && !hosted.proven) await connector.markProven(hosted);
    },
    isMaintainer: (toolRequest) => isMaintainer(market, toolRequest),
  };
  const handler = createMcpHandler(() => createProtocolServer(tools), {
    // A small cap suffices, because there is nothing to subscribe to.
    maxSubscriptions: MAX_SUBSCRIPTIONS,
    // The library reports malformed messages here and answers their senders.
    onerror: (error) => market.log.info('mcp_message_refused', { error }),
  });
  const shared = { baseUrl, guard: inside.guard, handle: handler.fetch };
  return [
    ...mountMcp({ ...shared, path: MCP_PATH }),
    ...mountMcp({
      ...shared,
      path: CONNECT_PATH,
      admit: (incoming, message) => admitHosted(connector, baseUrl, incoming, message),
    }),
  ];
}

/** Returns whether the caller is the maintainer. False without a valid key, or if the key cannot be checked now. */
async function isMaintainer(market: Market, { incoming, hosted }: ToolRequest): Promise<boolean> {
  if (hosted !== null) return hosted.merchant.maintainer;
  const key = bearerOf(incoming);
  if (key === undefined) return false;
  try {
    return (await authenticate(market, key))?.maintainer === true;
  } catch (error) {
    market.log.info('tool_list_degraded', { error });
    return false;
  }
}

/** Returns the bearer token of Authorization. Undefined if there is none, or if there are several headers. */
function bearerOf({ rawHeaders }: Incoming): string | undefined {
  const [header, another] = headerValues(rawHeaders, 'authorization');
  return another === undefined ? BEARER.exec(header?.trim() ?? '')?.[1] : undefined;
}

/**
 * Returns the hosted caller of a message. Refuses without a valid token, or if the token lacks the tool's scope. WWW-Authenticate then says
 * where to get a token.
 */
async function admitHosted(
  connector: Pick<Connector, 'authenticate'>,
  baseUrl: string,
  incoming: Incoming,
  message: Message,
): Promise<HostedCaller> {
  const token = bearerOf(incoming);
  const hosted = token === undefined ? null : await connector.authenticate(token);
  if (hosted === null) {
    const fault = incoming.headers.authorization === undefined ? {} : { error: 'invalid_token' };
    throw new Refusal('token_required', {
      headers: challengeHeaders(baseUrl, { ...fault, scope: DEFAULT_TOKEN_SCOPES.join(' ') }),
    });
  }
  incoming.notes['merchant_id'] = hosted.merchant.id;
  requireScope(hosted, message, baseUrl);
  return hosted;
}

/**
 * Refuses a token without the called tool's scope. Lets a call pass that the tool will refuse because the connection is unproven, so that
 * the client reads `me` first.
 */
function requireScope({ scopes, proven }: HostedCaller, { method, params }: Message, baseUrl: string): void {
  if (method !== 'tools/call') return;
  const { name } = (params ?? {}) as { name?: unknown };
  const tool = typeof name === 'string' ? findTool(name) : undefined;
  if (tool === undefined || scopes.has(scopeOf(tool))) return;
  if (!proven && tool.kind !== 'public' && tool.name !== 'me') return;
  const needed: TokenScope[] = [...new Set([...scopes, scopeOf(tool)])];
  throw new Refusal('insufficient_scope', {
    headers: challengeHeaders(baseUrl, { error: 'insufficient_scope', scope: needed.join(' ') }),
    fields: { scope: needed.join(' ') },
  });
}

function challengeHeaders(baseUrl: string, fields: Readonly<Record<string, string>>): Record<string, string> {
  const all = { ...fields, resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource${CONNECT_PATH}` };
  const pairs = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { 'www-authenticate': `Bearer ${pairs.join(', ')}` };
}
