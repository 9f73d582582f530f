import { cityEndpoints } from '../../contract/city/endpoints.ts';
import { describeOpenApi } from '../../contract/openapi.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { SUMMARY } from './front-page.ts';

/** The contract does not change while a process runs, so the document is made once. */
export function createOpenApiPage(serverUrl: string): () => PageAnswer {
  let body: string | null = null;
  return () => {
    body ??= JSON.stringify(
      describeOpenApi({ endpoints: cityEndpoints, title: 'Openaisle city', description: SUMMARY, serverUrl }),
    );
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  };
}
