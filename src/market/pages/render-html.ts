import { sha256 } from '../../platform/canonical-json.ts';
import type { Block, Document } from './document.ts';

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.25rem 0 .5rem; }
.summary { font-size: 1.15rem; margin: 0 0 1.5rem; }
ul, ol { padding-left: 1.4rem; }
li { margin: .3rem 0; }
code { font: .92em/1.4 ui-monospace, monospace; padding: .05em .3em; border-radius: .25em; background: color-mix(in srgb, currentColor 10%, transparent); }
`;

/** The hash of the one style makes the policy the same for every answer, so that an unchanged page keeps its ETag. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${sha256(STYLE).toString('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const HTML_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
};

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(given: string): string {
  return given.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

export function renderHtml(document: Document): string {
  const { title, summary, blocks } = document;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${renderText(title)}</h1>
<p class="summary">${renderText(summary)}</p>
${blocks.map(renderBlock).join('\n')}
</main>
</body>
</html>
`;
}

function renderBlock(block: Block): string {
  if (block.kind === 'heading') return `<h2>${renderText(block.text)}</h2>`;
  if (block.kind === 'text') return `<p>${renderText(block.text)}</p>`;
  const tag = block.kind === 'steps' ? 'ol' : 'ul';
  return `<${tag}>\n${block.items.map((item) => `<li>${renderText(item)}</li>`).join('\n')}\n</${tag}>`;
}

const MARKED = /(`[^`]+`|\[[^\]]+\]\([^)\s]+\))/;

function renderText(given: string): string {
  return given.split(MARKED).map(renderPiece).join('');
}

function renderPiece(piece: string, index: number): string {
  // Splitting by one group puts what it caught at the odd places.
  if (index % 2 === 0) return escapeHtml(piece);
  if (piece.startsWith('`')) return `<code>${escapeHtml(piece.slice(1, -1))}</code>`;
  const middle = piece.indexOf('](');
  const address = piece.slice(middle + 2, -1);
  return `<a href="${escapeHtml(address)}">${escapeHtml(piece.slice(1, middle))}</a>`;
}
