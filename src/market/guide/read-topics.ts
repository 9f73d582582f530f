import type { Block } from './document.ts';
import { type GuideFacts, guide } from './guide.ts';

export interface Topic {
  name: string;
  title: string;
  /** In order where the guide has steps; otherwise what there is to know. */
  steps: string[];
}

/** The guide as data. */
export function readTopics(config: GuideFacts): Topic[] {
  return topicsOf(guide(config));
}

/** Blocks as data: one topic for each heading. What stands before the first is in none. */
export function topicsOf(blocks: readonly Block[]): Topic[] {
  const topics: Topic[] = [];
  for (const block of blocks) {
    if (block.kind === 'heading') {
      topics.push({ name: block.text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'), title: block.text, steps: [] });
    } else topics.at(-1)?.steps.push(...(block.kind === 'text' ? [block.text] : block.items));
  }
  return topics;
}
