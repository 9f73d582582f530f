import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../../../../package.json' with { type: 'json' };
import { sha256 } from '../../../../platform/canonical-json.ts';
import { FORMAT } from './facts.ts';

/** Sources that decide what a text becomes in the index, and how the index becomes a file. */
const SOURCES = [
  ...['../tokenize.ts', '../tokens.ts', '../stem.ts', '../abbreviations.ts', '../name-finder.ts', '../term-levels.ts'],
  ...['../title-table.ts', './blocks.ts', './facts.ts', './write-index.ts', './read-index.ts'],
];

/** Hash of the sources at each format, without comments and layout. */
const KNOWN: Readonly<Record<number, string>> = {
  1: '711b02a096cb38d447981c6f1fc0dbcf6a32e167f9caff84c4c62ef7d519cf5c',
};

test('the format of the saved index is raised with what decides it', () => {
  const code = SOURCES.map((path) => {
    const text = readFileSync(resolve(import.meta.dirname, path), 'utf8');
    return text
      .replace(/^ *(?:\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm, '')
      .replace(/FORMAT = \d+/, 'FORMAT')
      .replace(/\s/g, '');
  });
  const hash = sha256(code.join('\n'), manifest.dependencies.stemmer).toString('hex');
  expect(
    KNOWN[FORMAT],
    `a saved index may not fit these sources any more: raise FORMAT in facts.ts and set its hash here to ${hash}`,
  ).toBe(hash);
});
