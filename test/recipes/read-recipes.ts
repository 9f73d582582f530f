import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** How to add something, as CONTRIBUTING tells it. */
export interface Recipe {
  /** How many files are changed by hand: tests, migrations and what a command writes apart. */
  count: number;
  /** Which; `<name>` stands for what is added. */
  files: readonly string[];
  /** The tests that look at it; `<name>` as before. */
  tests: readonly string[];
}

const HEADING = /^### (.+): (\d+) files?$/;

/** By heading, such as `An aisle`. */
export function readRecipes(root: string): ReadonlyMap<string, Recipe> {
  const text = readFileSync(resolve(root, 'CONTRIBUTING.md'), 'utf8');
  const sections = text.split(/^(?=##+ )/m).map((section) => section.split('\n'));
  return new Map(
    sections.flatMap(([heading = '', ...lines]): [string, Recipe][] => {
      const [, name, count] = HEADING.exec(heading) ?? [];
      if (name === undefined) return [];
      const files = lines.flatMap((line) => /^\d+\. `([^`]+)`/.exec(line)?.[1] ?? []);
      const tests = lines.flatMap((line) =>
        line.startsWith('Tests: ') ? [...line.matchAll(/`((?:src|test)\/[^`]+)`/g)].map(([, path = '']) => path) : [],
      );
      return [[name, { count: Number(count), files, tests }]];
    }),
  );
}

/** The path as a pattern, with `<name>` and the like open. */
export function patternOf(path: string): RegExp {
  const parts = path.split(/<[a-z-]+>/).map((part) => part.replaceAll(/[.+*?^$()[\]{}|\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[a-z0-9-]+')}$`);
}
