import { preferredType } from '../../platform/http/accept.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { City } from '../context.ts';
import { answerHtml, type HtmlPage } from './answer-html.ts';

/** HTML for browsers, which name it; JSON for programs, which take anything. */
export function answerBoth(
  city: Pick<City, 'config'>,
  accept: string | undefined,
  content: { page: HtmlPage; json: unknown },
): PageAnswer {
  const named = accept?.toLowerCase().includes('text/html') === true;
  if (named && preferredType(accept, ['text/html', 'application/json']) === 'text/html') {
    const answer = answerHtml(city, content.page);
    return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', vary: 'accept' },
    body: JSON.stringify(content.json),
  };
}
