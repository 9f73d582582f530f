import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ListingText } from '../../src/market/catalog/text/text-index.ts';

const folder = resolve(import.meta.dirname, 'listings');

/** Reads the corpus: per listing a heading, a line of facts (seller, tags, keywords), the description, and the preview. */
export function readListings(): ListingText[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => readFileSync(resolve(folder, file), 'utf8').trim().split('\n\n').map(parseListing));
}

function parseListing(block: string): ListingText {
  const [heading = '', facts = '', description = '', preview = ''] = block.split('\n');
  const [, merchant = '', tags = '', keywords = ''] = /^by (\S+); tags: (.+?); keywords: (.+)$/.exec(facts) ?? [];
  if (!heading.startsWith('# ') || merchant === '' || preview === '') throw new Error(`Not a listing: ${heading}`);
  return {
    title: heading.slice(2),
    merchant,
    tags: tags.split(', '),
    keywords: keywords.split(', '),
    description,
    preview,
  };
}
