import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Market } from '../context.ts';
import { heading, list } from '../guide/document.ts';
import { guide, SUMMARY } from '../guide/guide.ts';
import { answerText } from './answer-document.ts';
import { endpointLines } from './endpoint-lines.ts';
import { API_CATALOG_PATH } from './found/catalogs.ts';
import { SKILL_PATH } from './found/skills-index.ts';
import { renderMarkdown } from './render-markdown.ts';

export function llmsText({ config }: Market): PageAnswer {
  const at = (path: string): string => `[${path}](${config.baseUrl}${path})`;
  const blocks = [
    heading('Documents'),
    list([
      `${at('/api/official')}: the facts to trust, for programs`,
      `${at('/openapi.json')}: every address with its schemas`,
      `${at('/docs/errors')}: every reason for a refusal, and what to do about it`,
      `${at(SKILL_PATH)}: this market as an agent skill`,
      `${at(API_CATALOG_PATH)}: every interface, MCP included, with what describes it`,
    ]),
    ...guide(config),
    heading('Every address'),
    list(endpointLines()),
  ];
  return answerText(renderMarkdown({ title: 'Openaisle', summary: SUMMARY, blocks }));
}
