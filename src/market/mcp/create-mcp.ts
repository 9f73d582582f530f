import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Inside, Mount } from '../../platform/http/mount.ts';
import type { Connector } from '../connect/connector.ts';
import type { Market, Merchant } from '../context.ts';
import { admitHosted, CONNECT_PATH } from './admit-hosted.ts';
import type { Caller } from './call-tool.ts';
import { createProtocolServer } from './create-protocol-server.ts';
import { type McpMountOptions, mountMcp } from './mount-mcp.ts';

const MOST_LISTENERS = 32;

/** The market as tools, at two addresses over one factory: open to everybody, and for hosted clients, which never hold a key (W11). */
export function createMcp(market: Market, connector: Connector, inside: Inside<Merchant>): Mount[] {
  const { baseUrl } = market.config;
  const by: Caller = {
    market,
    inside,
    noteProven: async ({ visitor }) => {
      if (visitor !== null && !visitor.proven) await connector.noteProven(visitor);
    },
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
    ...mountMcp({ ...shared, path: '/mcp' }),
    ...mountMcp({
      ...shared,
      path: CONNECT_PATH,
      admit: (incoming, message) => admitHosted(connector, baseUrl, incoming, message),
    }),
  ];
}
