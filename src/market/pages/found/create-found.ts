import { type Page, type PageAnswer, page } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import {
  AI_CATALOG_PATH,
  AI_CATALOG_TYPE,
  API_CATALOG_PATH,
  API_CATALOG_TYPE,
  aiCatalog,
  apiCatalog,
  CARD_PATH,
  CARD_TYPE,
  OLD_CARD_PATH,
  SERVER_JSON_PATH,
} from './catalogs.ts';
import { serverCard, serverJson } from './server-documents.ts';
import { skillText } from './skill.ts';
import { SKILL_PATH, SKILLS_PATH, skillsIndex } from './skills-index.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** For who comes to a host without knowing it: leads to every page where agents, registries and scanners look first. */
export const FOUND_LINKS = `<${API_CATALOG_PATH}>; rel="api-catalog", </openapi.json>; rel="service-desc", </llms.txt>; rel="service-doc"`;

/** The documents by which agents find this market, each at the address where they look. Nothing in them changes while a process runs. */
export function createFound(config: MarketConfig): Page[] {
  const { baseUrl } = config;
  const skill = skillText(config);
  const json = (path: string, content: unknown, type: string = JSON_TYPE): Page =>
    fixed(path, JSON.stringify(content), { 'content-type': type });
  const card = serverCard(config);
  return [
    json(SERVER_JSON_PATH, serverJson(config)),
    json(CARD_PATH, card, CARD_TYPE),
    json(OLD_CARD_PATH, card),
    json(AI_CATALOG_PATH, aiCatalog(baseUrl), AI_CATALOG_TYPE),
    // Who only asks for the head is to find the relation there.
    fixed(API_CATALOG_PATH, JSON.stringify(apiCatalog(baseUrl)), {
      'content-type': API_CATALOG_TYPE,
      link: `<${API_CATALOG_PATH}>; rel="api-catalog"`,
    }),
    json(SKILLS_PATH, skillsIndex(baseUrl, skill)),
    fixed(SKILL_PATH, skill, { 'content-type': 'text/markdown; charset=utf-8' }),
  ];
}

function fixed(path: string, body: string, headers: Readonly<Record<string, string>>): Page {
  const answer: PageAnswer = { status: 200, headers, body };
  return page({ method: 'GET', path, handler: () => answer });
}
