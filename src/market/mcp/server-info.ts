import { API_VERSION } from '../../contract/vocabulary.ts';

/** What this server calls itself in the protocol. */
export function serverInfo(baseUrl: string) {
  return { name: 'openaisle', title: 'Openaisle', version: API_VERSION, websiteUrl: baseUrl };
}
