import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { SUMMARY } from '../guide/guide.ts';
import { readTopics } from '../guide/read-topics.ts';

/** The guide of the front door, by topic, for whoever asks for it through a tool or wants it as data. */
export const getHelp: MarketOperation<Endpoints['getHelp']> = async ({ config }) => ({
  status: 200,
  body: {
    summary: SUMMARY,
    topics: readTopics(config),
    documents: {
      front_door: `${config.baseUrl}/`,
      guide: `${config.baseUrl}/llms.txt`,
      openapi: `${config.baseUrl}/openapi.json`,
      errors: `${config.baseUrl}/docs/errors`,
      official_facts: `${config.baseUrl}/api/official`,
      connect: `${config.baseUrl}/mcp/connect`,
    },
  },
});
