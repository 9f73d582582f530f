import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { type Block, type GuideFacts, guide, SUMMARY } from './guide.ts';
import { CONNECT_PATH, MCP_PATH } from './mcp-server.ts';

/** Returns the guide as data, with the addresses of further documents. */
export function readHelp(facts: GuideFacts) {
  const { baseUrl } = facts;
  return {
    summary: SUMMARY,
    topics: topicsOf(guide(facts)),
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
  /** Steps in order, or a list of facts. */
  steps: string[];
}

/** Groups blocks by heading into topics. Drops blocks before the first heading. */
export function topicsOf(blocks: readonly Block[]): Topic[] {
  const topics: Topic[] = [];
  for (const block of blocks) {
    if (block.kind === 'heading') {
      topics.push({ name: block.text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'), title: block.text, steps: [] });
    } else topics.at(-1)?.steps.push(...(block.kind === 'text' ? [block.text] : block.items));
  }
  return topics;
}

/** Returns the guide by topic, for clients that want it as data or through a tool. */
export const getHelp: MarketOperation<Endpoints['getHelp']> = async ({ config }) => ({
  status: 200,
  body: readHelp(config),
});
