import { html } from 'ghtml';
import { preferredType } from '../../platform/http/caller-headers.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { Block, Document } from '../guide/guide.ts';
import { DOCUMENT_POLICY, renderShell } from './shell/render-shell.ts';

/** Answers with HTML, JSON or text, depending on `accept`. */
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

/** Constant, so that an unchanged page keeps its ETag. */
export const HTML_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': DOCUMENT_POLICY,
};

export function renderHtml(document: Document, path?: string): string {
  const { title, summary, blocks } = document;
  return renderShell({
    title,
    ...(path === undefined ? {} : { path }),
    main: html`<h1>!${renderText(title)}</h1>
<p class="summary">!${renderText(summary)}</p>
!${blocks.map(renderHtmlBlock).join('\n')}`,
  });
}

function renderHtmlBlock(block: Block): string {
  if (block.kind === 'heading') return html`<h2>!${renderText(block.text)}</h2>`;
  if (block.kind === 'text') return html`<p>!${renderText(block.text)}</p>`;
  const items = block.items.map((item) => html`<li>!${renderText(item)}</li>`).join('\n');
  const tag = block.kind === 'steps' ? 'ol' : 'ul';
  return html`<${tag}>
!${items}
</${tag}>`;
}

const INLINE_MARKUP = /(`[^`]+`|\[[^\]]+\]\([^)\s]+\))/;

/** Renders the inline markup of documents, `code` and [links](/), as HTML. */
export function renderText(marked: string): string {
  return marked.split(INLINE_MARKUP).map(renderPiece).join('');
}

function renderPiece(piece: string, index: number): string {
  // `split` with one capture group puts the captured pieces at odd indexes.
  if (index % 2 === 0) return html`${piece}`;
  if (piece.startsWith('`')) return html`<code>${piece.slice(1, -1)}</code>`;
  const middle = piece.indexOf('](');
  return html`<a href="${piece.slice(middle + 2, -1)}">${piece.slice(1, middle)}</a>`;
}

const FORMS = ['text/html', 'application/json', 'text/markdown'] as const;

/** Picks HTML or JSON only if `accept` names it, so programs that accept anything get text. */
export function chooseForm(accept: string | undefined): 'html' | 'json' | 'text' {
  const acceptedForms = FORMS.filter((form) => accept?.toLowerCase().includes(form));
  const form = preferredType(accept, [...acceptedForms, 'text/plain']);
  if (form === 'text/html') return 'html';
  return form === 'application/json' ? 'json' : 'text';
}

export function renderMarkdown(document: Document): string {
  const parts = [`# ${document.title}`, `> ${document.summary}`, ...document.blocks.map(renderMarkdownBlock)];
  return `${parts.join('\n\n')}\n`;
}

function renderMarkdownBlock(block: Block): string {
  if (block.kind === 'heading') return `## ${block.text}`;
  if (block.kind === 'text') return block.text;
  return block.items.map((item, index) => `${block.kind === 'steps' ? `${index + 1}.` : '-'} ${item}`).join('\n');
}
