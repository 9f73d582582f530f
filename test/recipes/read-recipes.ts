import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface Recipe {
  /** Number of files changed by hand, without tests, migrations and generated files. */
  count: number;
  /** Paths of these files. `<name>` stands for the addition. */
  files: readonly string[];
  /** Tests of the recipe. `<name>` stands for the addition. */
  tests: readonly string[];
}

const HEADING = /^### (.+): (\d+) files?$/;

/** Reads the recipes by heading, such as `An aisle`. */
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

/** Turns a path into a pattern in which `<name>` and the like match anything. */
export function patternOf(path: string): RegExp {
  const parts = path.split(/<[a-z-]+>/).map((part) => part.replaceAll(/[.+*?^$()[\]{}|\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[a-z0-9-]+')}$`);
}
