import type { GuideFacts } from './guide.ts';
import { SUMMARY } from './guide.ts';
import { CONNECT_PATH, MCP_PATH } from './mcp-server.ts';
import { readTopics } from './read-topics.ts';

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
