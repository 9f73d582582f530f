import { endpoints } from '../../contract/index.ts';
import { describeOpenApi } from '../../contract/openapi.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { STREAM_PATH } from '../events/stream/mount-event-stream.ts';
import { SUMMARY } from '../guide/guide.ts';
import { CONNECT_PATH, MCP_PATH } from '../guide/mcp-server.ts';

/** No endpoint of the contract: its answer has no end, and no schema. */
const STREAM = {
  get: {
    operationId: 'streamEvents',
    summary:
      'The public log as server-sent events; kind or scope as for /api/events, resumed by Last-Event-ID or last_event_id.',
    security: [],
    responses: {
      200: {
        description: 'Goes on for as long as the client listens.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
    },
  },
};

/** The contract does not change while a process runs, so the document is made once. */
export function createOpenApiPage(baseUrl: string): () => PageAnswer {
  let body: string | null = null;
  return () => {
    body ??= openApiText(baseUrl);
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  };
}

export function openApiText(baseUrl: string): string {
  const tools = `The same as tools over MCP: ${baseUrl}${MCP_PATH}, and ${baseUrl}${CONNECT_PATH} for hosts that sign in by OAuth.`;
  const description = `${SUMMARY} ${tools}`;
  const document = describeOpenApi({ endpoints, title: 'Openaisle', description, serverUrl: baseUrl });
  return JSON.stringify({ ...document, paths: { ...document.paths, [STREAM_PATH]: STREAM } });
}
