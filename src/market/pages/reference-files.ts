import { ERRORS, REASONS } from '../../contract/errors.ts';
import { heading, list, text } from '../guide/document.ts';
import { factsOf } from './error-docs.ts';
import { openApiText } from './openapi-page.ts';
import { renderMarkdown } from './render-markdown.ts';

const EXAMPLE_HOST = 'https://market.example';

/** The generated reference, by file name: what a running market shows, for those who read the repository. */
export function referenceFiles(): ReadonlyMap<string, string> {
  const errors = renderMarkdown({
    title: 'Refusals',
    summary:
      'Generated from `src/contract/errors.ts` by `npm run docs`. A running market shows each under `/docs/errors/<reason>`.',
    blocks: REASONS.flatMap((reason) => [heading(reason), text(`${ERRORS[reason].title}.`), list(factsOf(reason))]),
  });
  const openapi = `${JSON.stringify(JSON.parse(openApiText(EXAMPLE_HOST)), null, 2)}\n`;
  return new Map([
    ['errors.md', errors],
    ['openapi.json', openapi],
  ]);
}
