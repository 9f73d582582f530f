import { createMcpHandler } from '@modelcontextprotocol/server';
import { DEFAULT_TOKEN_SCOPES, type TokenScope } from '../../contract/connections.ts';
import { scopeOf } from '../../contract/tools.ts';
import { BEARER, headerValues } from '../../platform/http/caller-headers.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Connector } from '../connect/connector.ts';
import type { Visitor } from '../connect/interaction.ts';
import type { Market, Merchant } from '../context.ts';
import { CONNECT_PATH, MCP_PATH } from '../guide/mcp-server.ts';
import { authenticate } from '../identity/authenticate.ts';
import type { Caller } from './call-tool.ts';
import { createProtocolServer } from './create-protocol-server.ts';
import type { Message } from './messages.ts';
import { type McpMountOptions, mountMcp, type Visit } from './mount-mcp.ts';
import { findTool } from './tool-catalog.ts';

const MOST_LISTENERS = 32;

/** The market as tools, at two addresses over one factory: open to everybody, and for hosted clients, which never hold a key (W11). */
export function createMcp(market: Market, connector: Connector, inside: InternalRequests<Merchant>): ExtraRoute[] {
  const { baseUrl } = market.config;
  const by: Caller = {
    market,
    inside,
    noteProven: async ({ visitor }) => {
      if (visitor !== null && !visitor.proven) await connector.noteProven(visitor);
    },
    isMaintainer: (visit) => isMaintainer(market, visit),
  };
  const handler = createMcpHandler(() => createProtocolServer(by), {
    // Nothing here changes while a client listens, so few may.
    maxSubscriptions: MOST_LISTENERS,
    // What it reports are malformed messages, which their senders are told about.
    onerror: (error) => market.log.info('mcp_message_refused', { error }),
  });
  const shared: Omit<McpMountOptions, 'path' | 'admit'> = {
    baseUrl,
    guard: inside.guard,
    handle: handler.fetch,
  };
  return [
    ...mountMcp({ ...shared, path: MCP_PATH }),
    ...mountMcp({
      ...shared,
      path: CONNECT_PATH,
      admit: (incoming, message) => admitHosted(connector, baseUrl, incoming, message),
    }),
  ];
}

/** A list is shown to everybody: who has no key, or one that is not in force, gets that of a stranger. */
async function isMaintainer(market: Market, { incoming, visitor }: Visit): Promise<boolean> {
  if (visitor !== null) return visitor.merchant.maintainer;
  const [header, another] = headerValues(incoming.rawHeaders, 'authorization');
  const key = another === undefined ? BEARER.exec(header?.trim() ?? '')?.[1] : undefined;
  if (key === undefined) return false;
  try {
    return (await authenticate(market, key))?.maintainer === true;
  } catch (error) {
    market.log.info('tool_list_degraded', { error });
    return false;
  }
}

/** Whom a message to the hosted connector is for. Without a token that holds here the answer says where to get one. */
async function admitHosted(
  connector: Pick<Connector, 'authenticate'>,
  baseUrl: string,
  incoming: Incoming,
  message: Message,
): Promise<Visitor> {
  const [header, another] = headerValues(incoming.rawHeaders, 'authorization');
  const token = another === undefined ? BEARER.exec(header?.trim() ?? '')?.[1] : undefined;
  const visitor = token === undefined ? null : await connector.authenticate(token);
  if (visitor === null) {
    const fault = header === undefined ? {} : { error: 'invalid_token' };
    throw new Refusal('token_required', {
      headers: challenge(baseUrl, { ...fault, scope: DEFAULT_TOKEN_SCOPES.join(' ') }),
    });
  }
  incoming.notes['merchant_id'] = visitor.merchant.id;
  mustCover(visitor, message, baseUrl);
  return visitor;
}

/** Whether the token covers the tool. A connection that is not proven yet is told so first, by the tool itself. */
function mustCover({ scopes, proven }: Visitor, { method, params }: Message, baseUrl: string): void {
  if (method !== 'tools/call') return;
  const { name } = (params ?? {}) as { name?: unknown };
  const tool = typeof name === 'string' ? findTool(name) : undefined;
  if (tool === undefined || scopes.has(scopeOf(tool))) return;
  if (!proven && tool.kind !== 'public' && tool.name !== 'me') return;
  const needed: TokenScope[] = [...new Set([...scopes, scopeOf(tool)])];
  throw new Refusal('insufficient_scope', {
    headers: challenge(baseUrl, { error: 'insufficient_scope', scope: needed.join(' ') }),
    fields: { scope: needed.join(' ') },
  });
}

function challenge(baseUrl: string, fields: Readonly<Record<string, string>>): Record<string, string> {
  const all = { ...fields, resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource${CONNECT_PATH}` };
  const words = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { 'www-authenticate': `Bearer ${words.join(', ')}` };
}
