import { type Page, type PageAnswer, page } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import { CONNECT_PATH, MCP_PATH, mcpServer } from '../../guide/mcp-server.ts';
import { SKILL_PATH, SKILLS_PATH, skillsIndex, skillText } from './skill.ts';

export const API_CATALOG_PATH = '/.well-known/api-catalog';
const AI_CATALOG_PATH = '/.well-known/ai-catalog.json';
export const SERVER_JSON_PATH = '/server.json';
/** Path of the server card in the current draft. OLD_CARD_PATH is from an earlier draft. */
const CARD_PATH = `${MCP_PATH}/server-card`;
const OLD_CARD_PATH = '/.well-known/mcp/server-card.json';

const CARD_TYPE = 'application/mcp-server-card+json';
const API_CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
const AI_CATALOG_TYPE = 'application/ai-catalog+json';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain';

/** Lists every interface of this host with its descriptions (RFC 9727). */
function apiCatalog(baseUrl: string) {
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

/** Lists what this host offers to agents. The format is provisional: one draft names an entry's media type `type`, another `mediaType`. */
function aiCatalog(baseUrl: string) {
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

const JSON_UTF8_TYPE = 'application/json; charset=utf-8';

/** Link header that leads agents, registries and scanners to the interfaces. The front page sends it, because they look there first. */
export const DISCOVERY_LINKS = `<${API_CATALOG_PATH}>; rel="api-catalog", </openapi.json>; rel="service-desc", </llms.txt>; rel="service-doc"`;

/** Creates the discovery documents at their well-known paths. They never change while a process runs. */
export function createDiscoveryPages(config: MarketConfig): Page[] {
  const { baseUrl } = config;
  const skill = skillText(config);
  const json = (path: string, content: unknown, type: string = JSON_UTF8_TYPE): Page =>
    fixedPage(path, JSON.stringify(content), { 'content-type': type });
  const card = serverCard(config);
  return [
    json(SERVER_JSON_PATH, serverJson(config)),
    json(CARD_PATH, card, CARD_TYPE),
    json(OLD_CARD_PATH, card),
    json(AI_CATALOG_PATH, aiCatalog(baseUrl), AI_CATALOG_TYPE),
    // HEAD requests must find this relation too (RFC 9727).
    fixedPage(API_CATALOG_PATH, JSON.stringify(apiCatalog(baseUrl)), {
      'content-type': API_CATALOG_TYPE,
      link: `<${API_CATALOG_PATH}>; rel="api-catalog"`,
    }),
    json(SKILLS_PATH, skillsIndex(baseUrl, skill)),
    fixedPage(SKILL_PATH, skill, { 'content-type': 'text/markdown; charset=utf-8' }),
  ];
}

function fixedPage(path: string, body: string, headers: Readonly<Record<string, string>>): Page {
  const answer: PageAnswer = { status: 200, headers, body };
  return page({ method: 'GET', path, handler: () => answer });
}

type ServerFacts = Pick<MarketConfig, 'baseUrl' | 'sourceUrl'>;

const REGISTRY_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json';

/** Builds the record for the MCP registry. */
export function serverJson(facts: ServerFacts) {
  return { $schema: REGISTRY_SCHEMA, ...describeServer(facts) };
}

/** Builds the server card for clients that look for MCP at this host. Its format and path are still drafts, as the card says. */
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

/** Returns the repository and its hosting service, which registries require. They know only GitHub and GitLab. */
function repositoryOf(sourceUrl: string | null): { url: string; source: string } | null {
  if (sourceUrl === null) return null;
  const source = { 'github.com': 'github', 'gitlab.com': 'gitlab' }[new URL(sourceUrl).hostname];
  return source === undefined ? null : { url: sourceUrl, source };
}
