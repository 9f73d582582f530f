import { ERRORS, REASONS } from '../../contract/errors.ts';
import { DEFAULT_LIMITS, DEFAULT_NETWORK, IDENTITY_DOORS } from '../../contract/vocabulary.ts';
import { heading, list, text } from '../guide/document.ts';
import type { GuideFacts } from '../guide/guide.ts';
import { factsOf } from './error-docs.ts';
import { serverJson } from './found/server-documents.ts';
import { skillText } from './found/skill.ts';
import { openApiText } from './openapi-page.ts';
import { renderMarkdown } from './render-markdown.ts';

const EXAMPLE_HOST = 'https://market.example';
/** An instance as it comes out of the box, without an operator's settings. */
const EXAMPLE: GuideFacts = {
  baseUrl: EXAMPLE_HOST,
  network: DEFAULT_NETWORK,
  treasury: `0x${'11'.repeat(20)}`,
  limits: DEFAULT_LIMITS,
  cityUrl: 'https://city.example',
  openDoors: new Set(IDENTITY_DOORS),
  keyPrefix: 'aisle',
};

/** The generated reference, by file name: what a running market shows, for those who read the repository. */
export function referenceFiles(): ReadonlyMap<string, string> {
  const errors = renderMarkdown({
    title: 'Refusals',
    summary:
      'Generated from `src/contract/errors.ts` by `npm run docs`. A running market shows each under `/docs/errors/<reason>`.',
    blocks: REASONS.flatMap((reason) => [heading(reason), text(`${ERRORS[reason].title}.`), list(factsOf(reason))]),
  });
  const pretty = (content: unknown): string => `${JSON.stringify(content, null, 2)}\n`;
  return new Map([
    ['errors.md', errors],
    ['openapi.json', pretty(JSON.parse(openApiText(EXAMPLE_HOST)))],
    ['server.json', pretty(serverJson({ baseUrl: EXAMPLE_HOST, sourceUrl: null }))],
    ['skill.md', skillText(EXAMPLE)],
  ]);
}
