import { CONNECT_PATH, MCP_PATH, mcpServer } from '../../guide/mcp-server.ts';
import { SKILL_PATH, SKILLS_PATH } from './skills-index.ts';

export const API_CATALOG_PATH = '/.well-known/api-catalog';
export const AI_CATALOG_PATH = '/.well-known/ai-catalog.json';
export const SERVER_JSON_PATH = '/server.json';
/** Where the draft wants a card, and where those look who read an earlier one. */
export const CARD_PATH = `${MCP_PATH}/server-card`;
export const OLD_CARD_PATH = '/.well-known/mcp/server-card.json';

export const CARD_TYPE = 'application/mcp-server-card+json';
export const API_CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
export const AI_CATALOG_TYPE = 'application/ai-catalog+json';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain';

/** Every interface of this host with what describes it (RFC 9727). */
export function apiCatalog(baseUrl: string) {
  const link = (path: string, type: string) => ({ href: `${baseUrl}${path}`, type });
  const guide = [link('/llms.txt', TEXT_TYPE), link('/help', 'text/html'), link(SKILL_PATH, 'text/markdown')];
  const card = [link(CARD_PATH, CARD_TYPE), link(SERVER_JSON_PATH, JSON_TYPE)];
  return {
    linkset: [
      {
        anchor: `${baseUrl}/`,
        'service-desc': [link('/openapi.json', JSON_TYPE)],
        'service-doc': [...guide, link('/docs', 'text/html')],
        'terms-of-service': [link('/terms', 'text/html')],
        'privacy-policy': [link('/privacy', 'text/html')],
        'service-meta': [link('/api/official', JSON_TYPE), link(SKILLS_PATH, JSON_TYPE)],
        status: [link('/readyz', JSON_TYPE)],
      },
      { anchor: `${baseUrl}${MCP_PATH}`, 'service-desc': card, 'service-doc': guide },
      {
        anchor: `${baseUrl}${CONNECT_PATH}`,
        'service-desc': card,
        'service-doc': [link(CONNECT_PATH, 'text/html'), ...guide],
      },
    ],
  };
}

/**
 * What of this host is for agents. Provisional like the cards it leads to: one draft calls an entry's media type `type`, the other
 * `mediaType`.
 */
export function aiCatalog(baseUrl: string) {
  const { name, title } = mcpServer(baseUrl);
  const publisher = new URL(baseUrl).hostname;
  const [, own = name] = name.split('/');
  return {
    specVersion: '1.0',
    entries: [
      {
        identifier: `urn:air:${publisher}:mcp:${own}`,
        displayName: title,
        type: CARD_TYPE,
        mediaType: CARD_TYPE,
        url: `${baseUrl}${CARD_PATH}`,
      },
    ],
  };
}
