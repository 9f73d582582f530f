import { html } from 'ghtml';
import type { Block, Document } from '../guide/document.ts';
import { DOCUMENT_POLICY } from './shell/policy.ts';
import { renderShell } from './shell/render-shell.ts';

/** The same for every answer, so that an unchanged page keeps its ETag. */
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
!${blocks.map(renderBlock).join('\n')}`,
  });
}

function renderBlock(block: Block): string {
  if (block.kind === 'heading') return html`<h2>!${renderText(block.text)}</h2>`;
  if (block.kind === 'text') return html`<p>!${renderText(block.text)}</p>`;
  const items = block.items.map((item) => html`<li>!${renderText(item)}</li>`).join('\n');
  const tag = block.kind === 'steps' ? 'ol' : 'ul';
  return html`<${tag}>
!${items}
</${tag}>`;
}

const MARKED = /(`[^`]+`|\[[^\]]+\]\([^)\s]+\))/;

function renderText(given: string): string {
  return given.split(MARKED).map(renderPiece).join('');
}

function renderPiece(piece: string, index: number): string {
  // Splitting by one group puts what it caught at the odd places.
  if (index % 2 === 0) return html`${piece}`;
  if (piece.startsWith('`')) return html`<code>${piece.slice(1, -1)}</code>`;
  const middle = piece.indexOf('](');
  return html`<a href="${piece.slice(middle + 2, -1)}">${piece.slice(1, middle)}</a>`;
}
