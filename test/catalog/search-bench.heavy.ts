import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { measureSearch } from '../../bench/search/measure-search.ts';
import { reportText } from '../../bench/search/report.ts';

const SKILLS = [
  [
    'Ann/tools/lamp-repair',
    '---\nname: lamp-repair\ndescription: Mends broken lights\ntags: [light]\n---\nReplace the bulb.',
  ],
  ['Ann/tools/table-building', '# Table building\n\nSaws and joins planks of oak.'],
  ['Bob/notes/writing-letters', '---\nname: writing-letters\ndescription: >\n  Drafts polite\n  mail\n---\n'],
  ['Bob/notes/jq', '# jq'],
] as const;
const NEEDS = [
  { q: 'please mend my light', right: ['Ann/tools:lamp-repair'], best: ['Ann/tools:lamp-repair'] },
  { q: `oak ${'and so on '.repeat(20)}`, right: ['Ann/tools:table-building'] },
];

it('the benchmark of the search lists skills on a market, and asks it and two other engines', async () => {
  await using begun = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  const corpus = join(folder, 'skills');
  for (const [path, text] of SKILLS) {
    await mkdir(join(corpus, path), { recursive: true });
    await writeFile(join(corpus, path, 'SKILL.md'), text);
  }
  const needs = join(folder, 'needs.json');
  await writeFile(needs, JSON.stringify({ needs: NEEDS }));
  const options = { corpus, needs, titles: 2, seed: 5, json: true, details: true };
  const running = { begun, signal: new AbortController().signal, tell: () => {} };
  const outcome = await measureSearch(options, running);
  expect(outcome).toMatchObject({
    listings: 3,
    merchants: 2,
    needs: 2,
    cut_needs: 1,
    unknown_ids: [],
    titles: 2,
    seed: 5,
  });
  expect(outcome.refused).toEqual([{ id: 'Bob/notes:jq', why: 'has no title of 3 characters' }]);
  expect(outcome.engines.map(({ engine }) => engine)).toEqual(['market', 'BM25', 'PostgreSQL']);
  const all = { recall_10: 1, recall_3: 1, mrr_10: 1, best_10: 1, none: 0 };
  for (const { engine, needs: scores, titles, details } of outcome.engines) {
    expect(titles?.exact, engine).toEqual({ first: 2, in_ten: 2, none: 0 });
    expect(
      details?.needs.map(({ q }) => q),
      engine,
    ).toEqual(NEEDS.map(({ q }) => q.trim()));
    if (engine !== 'market') expect(scores, engine).toEqual(all);
  }
  expect(reportText(outcome)).toMatch(/BM25 +1\.000 +1\.000 +1\.000 +1\.000 +0\.000\n/);
});
