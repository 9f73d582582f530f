import { endpoints } from '../../contract/index.ts';
import { describeOpenApi } from '../../contract/openapi.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { SUMMARY } from '../guide/guide.ts';
import { CONNECT_PATH, MCP_PATH } from '../guide/mcp-server.ts';

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
  return JSON.stringify(describeOpenApi({ endpoints, title: 'Openaisle', description, serverUrl: baseUrl }));
}
