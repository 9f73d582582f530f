import { isIP } from 'node:net';
import { API_VERSION } from '../../contract/vocabulary.ts';

/** MCP_PATH works without a sign-in. CONNECT_PATH is for hosts that sign their users in. */
export const MCP_PATH = '/mcp';
export const CONNECT_PATH = '/mcp/connect';

/** Description of the MCP server, sent on connecting and in all discovery documents. */
export interface McpServer {
  /** Name under the reversed domain of this instance, which registries verify on publishing. */
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

/** Returns the reversed domain. An instance with an IP address is local, so it is named `localhost`. */
function namespaceOf(host: string): string {
  return isIP(host.replaceAll(/[[\]]/g, '')) === 0 ? host.split('.').reverse().join('.') : 'localhost';
}
