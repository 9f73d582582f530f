import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ERRORS, REASONS } from '../../contract/errors.ts';
import { DEFAULT_LIMITS, DEFAULT_NETWORK, IDENTITY_ENDPOINTS } from '../../contract/vocabulary.ts';
import type { GuideFacts } from '../guide/guide.ts';
import { heading, list, text } from '../guide/guide.ts';
import { renderMarkdown } from './answer-document.ts';
import { factsOf, openApiText } from './documents/api-reference.ts';
import { serverJson } from './documents/discovery.ts';
import { skillText } from './documents/skill.ts';

const EXAMPLE_HOST = 'https://market.example';
/** A market with default settings. */
const EXAMPLE: GuideFacts = {
  baseUrl: EXAMPLE_HOST,
  network: DEFAULT_NETWORK,
  treasury: `0x${'11'.repeat(20)}`,
  limits: DEFAULT_LIMITS,
  cityUrl: 'https://city.example',
  openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS),
  keyPrefix: 'aisle',
};

/** Renders the files of docs/reference by name: documents that a running market serves, for readers of the repository. */
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
    ['openapi.json', pretty(JSON.parse(openApiText({ baseUrl: EXAMPLE_HOST, network: DEFAULT_NETWORK })))],
    ['server.json', pretty(serverJson({ baseUrl: EXAMPLE_HOST, sourceUrl: null }))],
    ['skill.md', skillText(EXAMPLE)],
  ]);
}

// Writes docs/reference. With --check it writes nothing, and fails if a file is out of date.
const folder = new URL('../../../docs/reference/', import.meta.url);
const check = process.argv.includes('--check');

async function writeReference(): Promise<void> {
  for (const [name, content] of referenceFiles()) {
    const file = new URL(name, folder);
    const present = await readFile(file, 'utf8').catch(() => null);
    if (present === content) continue;
    if (check) {
      console.error(`${fileURLToPath(file)} is out of date: run npm run docs`);
      process.exitCode = 1;
    } else {
      await mkdir(folder, { recursive: true });
      await writeFile(file, content);
    }
  }
}

// Writes nothing when a test imports this file.
if (import.meta.main) await writeReference();
