import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../support/source/open-sources.ts';
import { readRecipes } from './read-recipes.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const recipes = readRecipes(root);
const plays = listFiles(resolve(root, 'test/recipes')).filter((path) => path.endsWith('.recipe.ts'));

test('each recipe counts the files that it names, and they exist unless it adds them', () => {
  expect(recipes.size).toBeGreaterThan(8);
  for (const [name, { count, files, tests }] of recipes) {
    expect([name, files.length]).toEqual([name, count]);
    expect([name, tests.length > 0]).toEqual([name, true]);
    const lost = [...files, ...tests].filter((path) => !path.includes('<') && !existsSync(resolve(root, path)));
    expect([name, lost]).toEqual([name, []]);
  }
});

test('each recipe is carried out by npm run recipes, and no other', () => {
  const carried = plays.flatMap((path) => [...read(`test/recipes/${path}`).matchAll(/= recipe\('([^']+)'/gm)]);
  expect(carried.map(([, name]) => name).toSorted()).toEqual([...recipes.keys()].toSorted());
});

test('the variables that CONTRIBUTING names are read by a test', () => {
  const named = new Set(read('CONTRIBUTING.md').match(/\bOPENAISLE_[A-Z_]+/g));
  const tests = listFiles(root).filter((path) => path.endsWith('.ts') && /^test\/|\.test\.ts$/.test(path));
  const said = tests.map(read).join('\n');
  expect(named.size).toBeGreaterThan(8);
  expect([...named].filter((name) => !new RegExp(`\\b${name}\\b`).test(said))).toEqual([]);
});

test('the commands that CONTRIBUTING names are scripts', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...read('CONTRIBUTING.md').matchAll(/\bnpm run ([a-z:]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});
