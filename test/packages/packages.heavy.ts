import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Manifest, type PackageFolder, stagePackage } from '../../packages/pack.ts';
import { importsOf } from '../support/source/imports-of.ts';
import { openSources } from '../support/source/open-sources.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ENTRIES: Record<PackageFolder, string[]> = {
  sdk: ['src/sdk/index.ts', 'src/sdk/wallet.ts'],
  cli: ['src/cli/main.ts'],
};
/** Longest README, which is one screen. Nobody reads more before the first run. */
const README_LINES = 36;

const sources = new Map(openSources(ROOT).map((source) => [source.path, source]));
const root: Manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-staged-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Returns the source files reachable from the entries, by the compiler's own resolution and independent of the pack script. */
function reachedFrom(entries: readonly string[]): { files: Set<string>; outside: Set<string> } {
  const [files, outside] = [new Set(entries), new Set<string>()];
  for (const path of files) {
    const source = sources.get(path);
    if (source === undefined) throw new Error(`there is no ${path}`);
    for (const { inside, to } of importsOf(source)) (inside ? files : outside).add(to);
  }
  return { files, outside };
}

function packagesOf(outside: Set<string>): string[] {
  const names = [...outside].filter((to) => !to.startsWith('node:'));
  return [...new Set(names.map((to) => /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to))].toSorted();
}

describe.each(['sdk', 'cli'] as const)('the package of packages/%s', (name) => {
  let manifest: Manifest;
  let names: string[];
  beforeAll(async () => {
    manifest = stagePackage(name, join(folder, name));
    names = await readdir(join(folder, name), { recursive: true });
  });

  test('depends on exactly what its sources import, in the versions that are tested here', () => {
    const used = packagesOf(reachedFrom(ENTRIES[name]).outside);
    expect(used.length).toBeGreaterThan(0);
    expect(manifest.dependencies).toEqual(Object.fromEntries(used.map((one) => [one, root.dependencies[one]])));
  });

  test('holds what is reached from its entries, and neither sources nor tests', () => {
    const { files } = reachedFrom(ENTRIES[name]);
    const built = names
      .filter((path) => path.endsWith('.js'))
      .map((path) => path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'));
    expect(built.filter((path) => !files.has(path))).toEqual([]);
    expect(built).toEqual(expect.arrayContaining(ENTRIES[name]));
    expect(names.filter((path) => /\.test\.|(?<!\.d)\.ts$|^src|^test/.test(path))).toEqual([]);
  });

  test('has the version and the changes of the repository, and a README that is read', async () => {
    expect(manifest.version).toBe(root.version);
    expect(manifest).not.toHaveProperty('private');
    for (const text of ['CHANGELOG.md', 'LICENSE'])
      expect(await readFile(join(folder, name, text), 'utf8')).toBe(await readFile(join(ROOT, text), 'utf8'));
    const readme = await readFile(join(folder, name, 'README.md'), 'utf8');
    expect(readme.split('\n').length).toBeLessThanOrEqual(README_LINES);
  });
});

test('the SDK gives everything that is declared to throw, and every way to buy and to list', async () => {
  const { files } = reachedFrom(ENTRIES.sdk);
  const texts = [...files].filter((path) => path.startsWith('src/sdk/')).map((path) => sources.get(path)?.text ?? '');
  const thrown = texts.flatMap((text) =>
    [...text.matchAll(/^export class (\w+) extends Error/gm)].map(([, one]) => one),
  );
  expect(thrown.length).toBeGreaterThan(10);
  const given = Object.keys(await import('../../src/sdk/index.ts'));
  const ways = ['buy', 'buyByTransfer', 'buyThing', 'listGoods', 'listByTransfer', 'listThing'];
  expect(given).toEqual(expect.arrayContaining([...thrown, ...ways]));
});
