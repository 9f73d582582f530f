import type { MarketConfig } from '../../context.ts';
import { CONNECT_PATH, MCP_PATH, mcpServer } from '../../guide/mcp-server.ts';

export type ServerFacts = Pick<MarketConfig, 'baseUrl' | 'sourceUrl'>;

const REGISTRY_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json';

/** What a publisher hands to the MCP registry, and what its readers find there. */
export function serverJson(facts: ServerFacts) {
  return { $schema: REGISTRY_SCHEMA, ...describeServer(facts) };
}

/** The same for who looks for MCP at this very host. Neither form nor address of such cards is settled yet, and it says so itself. */
export function serverCard(facts: ServerFacts) {
  const status = 'provisional: server cards are a draft; form and address of this one follow it';
  return { $schema: CARD_SCHEMA, ...describeServer(facts), _meta: { 'openaisle/status': status } };
}

function describeServer({ baseUrl, sourceUrl }: ServerFacts) {
  const repository = repositoryOf(sourceUrl);
  return {
    ...mcpServer(baseUrl),
    websiteUrl: `${baseUrl}/`,
    ...(repository === null ? {} : { repository }),
    remotes: [
      { type: 'streamable-http', url: `${baseUrl}${MCP_PATH}`, headers: [KEY_HEADER] },
      { type: 'streamable-http', url: `${baseUrl}${CONNECT_PATH}` },
    ],
  };
}

const KEY_HEADER = {
  name: 'Authorization',
  description: 'Bearer and your merchant key. Reading needs none.',
  isRequired: false,
  isSecret: true,
};

/** Registries want to know which service hosts the source, and know only these. */
function repositoryOf(sourceUrl: string | null): { url: string; source: string } | null {
  if (sourceUrl === null) return null;
  const source = { 'github.com': 'github', 'gitlab.com': 'gitlab' }[new URL(sourceUrl).hostname];
  return source === undefined ? null : { url: sourceUrl, source };
}
