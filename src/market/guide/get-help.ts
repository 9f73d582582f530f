import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { type Block, type GuideFacts, guide, SUMMARY } from './guide.ts';
import { CONNECT_PATH, MCP_PATH } from './mcp-server.ts';

/** The guide as data, with the addresses of what says more. */
export function readHelp(facts: GuideFacts) {
  const { baseUrl } = facts;
  return {
    summary: SUMMARY,
    topics: readTopics(facts),
    documents: {
      front_door: `${baseUrl}/`,
      guide: `${baseUrl}/llms.txt`,
      openapi: `${baseUrl}/openapi.json`,
      errors: `${baseUrl}/docs/errors`,
      official_facts: `${baseUrl}/api/official`,
      skills: `${baseUrl}/.well-known/agent-skills/index.json`,
      api_catalog: `${baseUrl}/.well-known/api-catalog`,
      mcp: `${baseUrl}${MCP_PATH}`,
      connect: `${baseUrl}${CONNECT_PATH}`,
    },
  };
}

interface Topic {
  name: string;
  title: string;
  /** In order where the guide has steps; otherwise what there is to know. */
  steps: string[];
}

/** The guide as data. */
function readTopics(config: GuideFacts): Topic[] {
  return topicsOf(guide(config));
}

/** Blocks as data: one topic for each heading. What stands before the first is in none. */
export function topicsOf(blocks: readonly Block[]): Topic[] {
  const topics: Topic[] = [];
  for (const block of blocks) {
    if (block.kind === 'heading') {
      topics.push({ name: block.text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'), title: block.text, steps: [] });
    } else topics.at(-1)?.steps.push(...(block.kind === 'text' ? [block.text] : block.items));
  }
  return topics;
}

/** The guide of the front door, by topic, for a client that asks for it through a tool or wants it as data. */
export const getHelp: MarketOperation<Endpoints['getHelp']> = async ({ config }) => ({
  status: 200,
  body: readHelp(config),
});
