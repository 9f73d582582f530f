import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { rotated } from '../suite/rotation.ts';
import { listFiles } from '../support/source/open-sources.ts';
import { patternOf, readRecipes } from './read-recipes.ts';

// Carries out a recipe of CONTRIBUTING in a copy of the checkout. The types and the recipe's tests must pass, exactly the named files may
// change by hand, and the addition must appear in an answer.

const run = promisify(execFile);
const SAMPLES = join(import.meta.dirname, 'samples');
/** Output limit of a script in bytes. It prints all texts, including the API description. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Matches files that a command writes or that are not counted. */
const NOT_BY_HAND =
  /^(?:docs\/reference\/|docs\/world-states\.md$|src\/market\/pages\/shell\/files\/wallet-flow\.js$|migrations\/|test\/|.*\.test\.ts$|.*tsconfig\.recipe\.json$|recipe\.tsbuildinfo$)/;

type Step = (copy: Copy) => Promise<void>;

export interface Play {
  /** Largest number of files that change by hand. */
  most: number;
  steps: readonly Step[];
  /** Step that is left out at first. It is done once the compiler or a test has reported that it is missing. */
  forgotten: { step: Step; by: 'types' | string; error: RegExp };
  /** Looks for the addition in an answer of the copy. A test named by the recipe may do this instead. */
  shows?: Step;
}

export interface Copy {
  /** Replaces every occurrence. Throws if there is none. */
  replace(path: string, ...pairs: readonly [found: string | RegExp, put: string][]): Promise<void>;
  /** Adds a file from test/recipes/samples. */
  add(path: string, sample: string): Promise<void>;
  migrate(name: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  node(...given: string[]): Promise<string>;
  /** Returns all texts of a default market. */
  say(): Promise<string>;
}

/** Runs `npm run docs` and `npm run bundle`. */
export const writeGenerated: Step = async ({ node }) => {
  for (const script of [
    'src/market/pages/write-reference.ts',
    'src/local/write-states.ts',
    'src/wallet/write-bundle.ts',
  ])
    await node(script);
};

/** Checks that a default market contains these texts. Prints only the missing ones, because together they are long. */
export const expectTexts =
  (...wanted: readonly string[]): Step =>
  async ({ say }) => {
    const said = await say();
    expect(wanted.filter((one) => !said.includes(one))).toEqual([]);
  };

export type Recipe = Play & { name: string };

export const recipe = (name: string, play: Play): Recipe => ({ name, ...play });

/** Defines a test for each recipe of a file that this build runs. */
export function carryOut(file: string, recipes: readonly Recipe[]): void {
  for (const played of rotated(file, recipes)) testRecipe(played);
}

function testRecipe({ name, most, steps, forgotten, shows }: Recipe): void {
  const folder = name.toLowerCase().replaceAll(/[^a-z]+/g, '-');
  it(`${name}, of at most ${most} by hand`, async () => {
    const base = join(inject('recipeCopies'), 'base');
    const root = join(inject('recipeCopies'), folder);
    await cp(base, root, { recursive: true, verbatimSymlinks: true });
    const recipe = readRecipes(root).get(name);
    if (recipe === undefined) throw new Error(`CONTRIBUTING has no recipe of the name ${name}`);
    const copy = openCopy(root);
    for (const step of steps) await step(copy);
    const noticed = forgotten.by === 'types' ? await compile(root) : await failuresOf(root, [forgotten.by]);
    expect(noticed).toMatch(forgotten.error);
    await forgotten.step(copy);
    await writeGenerated(copy);

    const changed = await changedIn(root, base);
    const byHand = changed.filter((path) => !NOT_BY_HAND.test(path));
    expect(byHand.length).toBeLessThanOrEqual(most);
    expect(compareChanges(byHand, recipe.files)).toEqual({ unnamed: [], unchanged: [] });
    expect(recipe.count).toBe(byHand.length);

    expect(await compile(root)).toBe('');
    const tests = recipe.tests.flatMap((path) =>
      path.includes('<') ? changed.filter((one) => patternOf(path).test(one)) : [path],
    );
    expect(tests.length).toBeGreaterThanOrEqual(recipe.tests.length);
    expect(await failuresOf(root, [...tests, 'test/reference.test.ts', 'src/wallet/make-bundle.test.ts'])).toBe('');
    await shows?.(copy);
    await rm(root, { recursive: true });
  });
}

/** Returns changed files that the recipe does not name, and named files that are unchanged. */
function compareChanges(
  changed: readonly string[],
  named: readonly string[],
): { unnamed: string[]; unchanged: string[] } {
  const patterns = named.map(patternOf);
  return {
    unnamed: changed.filter((path) => !patterns.some((pattern) => pattern.test(path))),
    unchanged: named.filter((_path, at) => !changed.some((path) => patterns[at]?.test(path))),
  };
}

async function changedIn(root: string, base: string): Promise<string[]> {
  const changed: string[] = [];
  for (const path of listFiles(root)) {
    const [now, before] = await Promise.all([readFile(join(root, path)), readFile(join(base, path)).catch(() => null)]);
    if (before === null || !now.equals(before)) changed.push(path);
  }
  return changed;
}

/** Returns the compiler's errors for the servers and for the purchase page. */
async function compile(root: string): Promise<string> {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const said = async (...given: string[]): Promise<string> =>
    (await run(tsc, given, { cwd: root }).catch((error: { stdout: string }) => error)).stdout;
  const wallet = { extends: './tsconfig.json', exclude: ['**/*.test.ts'] };
  await writeFile(join(root, 'src/wallet/tsconfig.recipe.json'), JSON.stringify(wallet));
  const objections = await said('-p', 'tsconfig.recipe.json');
  return objections === '' ? await said('--noEmit', '-p', 'src/wallet/tsconfig.recipe.json') : objections;
}

/** Returns the output of failing tests. Empty if all pass. The tests share the running database server. */
async function failuresOf(root: string, tests: readonly string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: '1', DATABASE_URL: inject('testPostgres').adminUrl };
  const given = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--project=quick',
    '--reporter=dot',
    '--maxWorkers=1',
    ...tests,
  ];
  const options = { cwd: root, env, maxBuffer: MAX_BYTES };
  const ran = await run(nodeOf(root), given, options).then(
    () => null,
    (error: { stdout: string; stderr: string }) => error,
  );
  return ran === null ? '' : `${ran.stdout}\n${ran.stderr}`;
}

const nodeOf = (root: string): string => join(root, 'node_modules/node/bin/node');

function openCopy(root: string): Copy {
  const read = async (path: string): Promise<string> => await readFile(join(root, path), 'utf8');
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const node = async (...given: string[]): Promise<string> =>
    (await run(nodeOf(root), given, { cwd: root, maxBuffer: MAX_BYTES })).stdout;
  return {
    read,
    node,
    say: () => node('test/recipes/say-everything.ts'),
    add: async (path, sample) => await write(path, await readFile(join(SAMPLES, sample), 'utf8')),
    replace: async (path, ...pairs) => {
      let text = await read(path);
      for (const [found, put] of pairs) {
        const after = text.replaceAll(typeof found === 'string' ? found : new RegExp(found, 'g'), () => put);
        expect([path, found, after === text]).toEqual([path, found, false]);
        text = after;
      }
      await write(path, text);
    },
    migrate: async (name, text) => {
      const numbers = (await readdir(join(root, 'migrations/market'))).map((file) => Number.parseInt(file, 10));
      await write(`migrations/market/${String(Math.max(...numbers) + 1).padStart(4, '0')}-${name}.sql`, text);
    },
  };
}
