import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Document } from '../guide/document.ts';
import { chooseForm } from './choose-form.ts';
import { HTML_HEADERS, renderHtml } from './render-html.ts';
import { renderMarkdown } from './render-markdown.ts';

/** The same content as HTML, as JSON, or as text. */
export function answerDocument(
  accept: string | undefined,
  content: { document: Document; json: unknown; path?: string },
): PageAnswer {
  const vary = { vary: 'accept' };
  const form = chooseForm(accept);
  if (form === 'html')
    return { status: 200, headers: { ...HTML_HEADERS, ...vary }, body: renderHtml(content.document, content.path) };
  if (form === 'json') {
    const headers = { 'content-type': 'application/json; charset=utf-8', ...vary };
    return { status: 200, headers, body: JSON.stringify(content.json) };
  }
  return answerText(renderMarkdown(content.document), vary);
}

export function answerText(body: string, headers: Readonly<Record<string, string>> = {}): PageAnswer {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body };
}
