import type { Block, Document } from '../guide/document.ts';

export function renderMarkdown(document: Document): string {
  const parts = [`# ${document.title}`, `> ${document.summary}`, ...document.blocks.map(renderBlock)];
  return `${parts.join('\n\n')}\n`;
}

function renderBlock(block: Block): string {
  if (block.kind === 'heading') return `## ${block.text}`;
  if (block.kind === 'text') return block.text;
  return block.items.map((item, index) => `${block.kind === 'steps' ? `${index + 1}.` : '-'} ${item}`).join('\n');
}
