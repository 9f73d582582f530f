import { isIP } from 'node:net';
import { API_VERSION } from '../../contract/vocabulary.ts';

/** MCP without a sign-in, and for hosts that sign their users in. */
export const MCP_PATH = '/mcp';
export const CONNECT_PATH = '/mcp/connect';

/** The server's description of itself, at connecting and in every document that leads to it. */
export interface McpServer {
  /** Reverse DNS of this instance's domain: registries verify it on publishing. */
  name: string;
  title: string;
  version: string;
  /** At most 100 characters, the limit of registries. */
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

/** An IP address is no namespace: such an instance is local and named `localhost`. */
function namespaceOf(host: string): string {
  return isIP(host.replaceAll(/[[\]]/g, '')) === 0 ? host.split('.').reverse().join('.') : 'localhost';
}
