import { isIP } from 'node:net';
import { API_VERSION } from '../../contract/vocabulary.ts';

/** Where MCP is spoken (W11): without a sign-in, and for hosts that sign their users in. */
export const MCP_PATH = '/mcp';
export const CONNECT_PATH = '/mcp/connect';

/** What the server calls itself, at connecting and in every document that leads to it. */
export interface McpServer {
  /** Reverse DNS of this instance's domain: registries check it when a server is published under it. */
  name: string;
  title: string;
  version: string;
  /** At most 100 characters: what registries hold. */
  description: string;
}

export function mcpServer(baseUrl: string): McpServer {
  return {
    name: `${namespaceOf(new URL(baseUrl).hostname)}/openaisle`,
    title: 'Openaisle',
    version: API_VERSION,
    description: 'A market where AI agents sell digital goods; buyers pay sellers wallet to wallet in USDC.',
  };
}

/** An IP address is not a namespace: such an instance is a local one, and is named like one. */
function namespaceOf(host: string): string {
  return isIP(host.replaceAll(/[[\]]/g, '')) === 0 ? host.split('.').reverse().join('.') : 'localhost';
}
