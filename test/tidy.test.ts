import { existsSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../src/contract/index.ts';
import { partOf } from './support/source/architecture-rules.ts';
import { importsOf } from './support/source/imports-of.ts';
import { listFiles, openSources, openTexts } from './support/source/open-sources.ts';
import {
  declaredNames,
  longParameterLists,
  oneWordFunctions,
  relativeComments,
  ruleNumbers,
} from './support/source/plain-uses.ts';
import { exportedValues, functionLines, isBarrel, untidyUses } from './support/source/tidy-uses.ts';

const FILE_LINES = 400;
const FUNCTION_LINES = 70;
const ARCHITECTURE_LINES = 120;
/** A folder with fewer files needs a reason in ARCHITECTURE.md. */
const FOLDER_FILES = 4;
/** Nine of ten files have at most so many lines. */
const USUAL_LINES = 260;
/** How many of all files may have one importer only, and that in the same folder. */
const LONE_SHARE = 0.12;

/** Files that are longer, and how long they may be. A number only ever falls; an entry that is not needed fails the test. */
const LONG_FILES: Readonly<Record<string, number>> = {
  // One row per error, and each row is a line or two of prose: a table cannot be cut where the reader would look.
};

/** Functions that are longer, by file and name; kept like the files. */
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {};

/** These limits only fall. */
const MAX_RELATIVE_COMMENTS = 60;
const MAX_LONG_LISTS = 15;
const MAX_ONE_WORD_NAMES = 70;

/** Words that code may use in one meaning only, and where that meaning lives. Names of the wire and of the database keep theirs. */
const ONE_MEANING: Readonly<Record<string, { pattern: RegExp; places: RegExp }>> = {
  'settle: what a facilitator does': {
    pattern: /^(?:re)?settle[A-Z]|^settle[sr]?$|[a-z]Settle(?:[A-Z]|$)/,
    places: /^src\/(?:facilitator|contract|wallet)\/|\/x402\/|^src\/platform\/chain\//,
  },
  'lapse: what an offer of a city does': { pattern: /^lapse|[a-z]Lapse/, places: /^src\/city\// },
  'ceremony: say key page': { pattern: /ceremon/i, places: /^$/ },
  'tally: say counter, or request cost': { pattern: /tally/i, places: /^$/ },
  'purse: say wallet session': { pattern: /purse/i, places: /^$/ },
};

/** The start of an absolute path that only exists where somebody works. */
const PLACES = /(?<![\w.~$}-])\/(?:work|home|root|Users)\/[\w.]/;

/** Control characters but tab and line feed; marks without width, marks of direction, byte order marks. */
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}]/u;

const root = resolve(import.meta.dirname, '..');
const sources = openSources(root);
const files = listFiles(root);
/** Written by `npm run bundle` out of sources that are looked at, and of packages. */
const MADE = 'src/market/pages/shell/files/wallet-flow.js';
const texts = files.filter(
  (path) => path !== 'LICENSE' && path !== MADE && !readFileSync(resolve(root, path)).includes(0),
);
const shipped = sources.filter(({ path }) => partOf(path) !== 'test');
/** The compiler's project leaves out what a browser runs. */
const rooms = files.filter((path) => /^src\/.*(?<!\.test)\.ts$/.test(path));

function read(path: string): string {
  return readFileSync(resolve(root, path), 'utf8');
}

/** Entry files of a package, from its tsconfig. */
function entriesOf(name: string): string[] {
  return [...read(`packages/${name}/tsconfig.json`).matchAll(/"\.\.\/\.\.\/(src\/[^"]+\.ts)"/g)].map(
    ([, path = '']) => path,
  );
}

/** Occurrences of a pattern, as `path:line text`. */
function occurrences(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim().slice(0, 120)}`] : [])),
  );
}

/** Names that are too long, and excuses that are no longer needed. */
function overLimit(
  sizes: readonly { name: string; lines: number }[],
  limit: number,
  excused: Readonly<Record<string, number>>,
): string[] {
  const faults = sizes.filter(({ name, lines }) => lines > (excused[name] ?? limit));
  const idle = Object.keys(excused).filter((name) => !sizes.some((one) => one.name === name && one.lines > limit));
  return [
    ...faults.map(({ name, lines }) => `${name} has ${lines} lines`),
    ...idle.map((name) => `${name} needs no excuse any more`),
  ];
}

describe('sizes', () => {
  test('files stay short', () => {
    const sizes = files
      .filter((path) => /\.(?:ts|sql)$/.test(path))
      .map((name) => ({ name, lines: read(name).split('\n').length - 1 }));
    expect(overLimit(sizes, FILE_LINES, LONG_FILES)).toEqual([]);
  });

  test('files are rooms: of a size to look for, and few that only a neighbour enters', () => {
    const sizes = rooms.map((path) => read(path).split('\n').length - 1).toSorted((a, b) => a - b);
    expect(sizes[Math.floor(sizes.length * 0.9)]).toBeLessThanOrEqual(USUAL_LINES);
    const edges = shipped.flatMap(importsOf).filter(({ inside, from, to }) => inside && from !== to);
    const importers = Map.groupBy(edges, ({ to }) => to);
    const lone = shipped.filter(({ path }) => {
      const from = new Set(importers.get(path)?.map((edge) => edge.from));
      const [only = ''] = from;
      return from.size === 1 && posix.dirname(only) === posix.dirname(path);
    });
    expect(lone.length / shipped.length).toBeLessThanOrEqual(LONE_SHARE);
  });

  test('functions stay short', () => {
    const sizes = sources.flatMap((source) =>
      functionLines(source).map(({ name, line, lines }) => ({
        name: name === '(unnamed)' ? `${source.path}:${line}` : `${source.path} ${name}`,
        lines,
      })),
    );
    expect(sizes.length).toBeGreaterThan(sources.length);
    expect(overLimit(sizes, FUNCTION_LINES, LONG_FUNCTIONS)).toEqual([]);
  });

  test('an excuse holds for what it names, up to the size it names, and must be needed', () => {
    const sizes = [
      { name: 'a', lines: 12 },
      { name: 'b', lines: 9 },
    ];
    expect(overLimit(sizes, 10, {})).toEqual(['a has 12 lines']);
    expect(overLimit(sizes, 10, { a: 12 })).toEqual([]);
    expect(overLimit(sizes, 10, { a: 11 })).toEqual(['a has 12 lines']);
    expect(overLimit(sizes, 10, { a: 12, b: 10 })).toEqual(['b needs no excuse any more']);
    expect(overLimit(sizes, 10, { a: 12, c: 20 })).toEqual(['c needs no excuse any more']);
  });
});

describe('names', () => {
  const named = files.filter((path) => /^(?:src|test|bench|migrations|docs|deploy|packages)\//.test(path));

  test('files and folders are in kebab-case', () => {
    const faults = named.filter((path) => {
      const parts = path.replace(/\.(?:test|bench)(?=\.ts$)/, '').split('/');
      return !parts.every((part) =>
        /^(?:[a-z0-9]+(?:-[a-z0-9]+)*)(?:\.[a-z0-9]+)*$|^(?:Dockerfile|README\.md)$/.test(part),
      );
    });
    expect(faults).toEqual([]);
  });

  test('no name says only that something is in it', () => {
    const banned = /(?:^|[/-])(?:util|utils|helper|helpers|manager|service|services|common|misc)(?=[/.-])/;
    expect(named.filter((path) => banned.test(path))).toEqual([]);
  });

  test('only the contract and the SDK have a barrel', () => {
    const barrels = sources.filter((source) => isBarrel(source) || source.path.endsWith('/index.ts'));
    expect(barrels.map(({ path }) => path)).toEqual(['src/contract/index.ts', 'src/sdk/index.ts']);
  });

  test('each endpoint is answered in the one place that bears its name', () => {
    const market = shipped.filter(({ path }) => path.startsWith('src/market/'));
    const faults = Object.keys(endpoints).flatMap((name) => {
      const made = `make${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
      const found = market.filter((source) => exportedValues(source).some((value) => value === name || value === made));
      return found.length === 1 ? [] : [`${name}: ${found.map(({ path }) => path).join(', ') || 'nowhere'}`];
    });
    expect(faults).toEqual([]);
  });
});

describe('words', () => {
  const code = texts.filter((path) => /\.(?:ts|sql|js|sh)$/.test(path) || path === '.ci/run');
  // In two parts, so that this file does not find itself.
  const either = (...halves: [string, string][]): RegExp => new RegExp(halves.map((pair) => pair.join('')).join('|'));

  test('code has no any, no unchecked assertion, no stray printing, no test that is left out or runs alone', () => {
    expect(sources.flatMap(untidyUses)).toEqual([]);
  });

  test('nothing is put off in a comment', () => {
    expect(occurrences(code, either(['\\bTO', 'DO\\b'], ['\\bFIX', 'ME\\b'], ['\\bXX', 'X\\b']))).toEqual([]);
  });

  test('no check is switched off, or only with a reason', () => {
    expect(occurrences(code, either(['@ts-', 'ignore'], ['@ts-', 'nocheck'], ['eslint-', 'disable']))).toEqual([]);
    const bare = [/@ts-expect-error\s*$/, /biome-ignore(?:-all|-start)?\s+[\w/]+(?:\s*$|:\s*$|\s*:\s*<)/];
    expect(bare.flatMap((pattern) => occurrences(code, pattern))).toEqual([]);
  });

  test('no file names a place on somebody’s machine', () => {
    expect(occurrences(texts, PLACES)).toEqual([]);
  });

  test('no file names a host that packages come from', () => {
    const hosts = either(
      ['registry\\.', 'npmjs'],
      ['registry\\.', 'yarnpkg'],
      ['npm', 'mirror'],
      ['"resolved": "', 'http'],
    );
    expect(occurrences(texts, hosts)).toEqual([]);
  });

  test('no file speaks of how it was written', () => {
    const author = either(['AI-', 'generated'], ['\\b(?:by|with|from|:) +Cl', 'aude\\b'], ['\\bCL', 'AUDE\\.md']);
    expect(occurrences(texts, new RegExp(author, 'i'))).toEqual([]);
    // A program that connects has a name: as that it is spoken of where people are told how, and elsewhere as a host.
    const isOfClients = (path: string): boolean =>
      /^(?:docs\/(?:connect|mcp|mcp-local)\.md|src\/market\/pages\/connect\/|test\/(?:support|world)\/oauth-)/.test(
        path,
      );
    const others = texts.filter((path) => !isOfClients(path));
    const named = either(['\\bCl', 'aude\\b(?!\\.(?:ai|com)\\b|-code-client-metadata\\b)']);
    expect(occurrences(others, new RegExp(named, 'i'))).toEqual([]);
  });

  test('no text holds characters that make it read otherwise than it runs', () => {
    expect(occurrences(texts, UNSEEN)).toEqual([]);
    expect(UNSEEN.test(`a${String.fromCodePoint(0x202e)}b`)).toBe(true);
  });

  test('the words are found where they are', () => {
    expect(PLACES.test(`see /${'home'}/me/x`)).toBe(true);
    expect(PLACES.test('src/market/root/x')).toBe(false);
    expect(either(['\\bTO', 'DO\\b']).test(`// ${'TO'}DO later`)).toBe(true);
    expect(occurrences(['LICENSE'], /Version 2\.0, January 2004/)).toHaveLength(1);
  });
});

describe('plain English', () => {
  // Migrations that are applied keep their bytes.
  const written = texts.filter((path) => path !== 'test/tidy.test.ts' && !path.startsWith('migrations/'));
  const code = written.filter((path) => /\.(?:ts|js)$/.test(path));
  const program = shipped.filter(({ path }) => path.startsWith('src/'));
  const shown = (uses: readonly { path: string; line: number; what: string }[]): string[] =>
    uses.map(({ path, line, what }) => `${path}:${line} ${what}`);

  test('few comments open with a relative word', () => {
    const comments = code.flatMap((path) => relativeComments(path, read(path)));
    expect(comments.slice(MAX_RELATIVE_COMMENTS)).toEqual([]);
  });

  test('no rule is cited by a number of another text', () => {
    expect(written.flatMap((path) => ruleNumbers(path, read(path)))).toEqual([]);
  });

  test('few functions take more than four parameters, and few names of functions are one word', () => {
    expect(shown(program.flatMap((source) => longParameterLists(source, 4))).slice(MAX_LONG_LISTS)).toEqual([]);
    expect(shown(program.flatMap(oneWordFunctions)).slice(MAX_ONE_WORD_NAMES)).toEqual([]);
  });

  test('a word has one meaning', () => {
    for (const [word, { pattern, places }] of Object.entries(ONE_MEANING)) {
      const uses = program.filter(({ path }) => !places.test(path)).flatMap((source) => declaredNames(source, pattern));
      expect(shown(uses), word).toEqual([]);
    }
  });

  test('the limits see what they are meant to see', () => {
    expect(relativeComments('a.ts', '  // What is left.\n/** Of a seller. */\n/** Whatever is left. */')).toHaveLength(
      2,
    );
    expect(ruleNumbers('a.ts', '// as W7 has it; an ETag W/1, version v7.W8')).toHaveLength(1);
    const [source] = openTexts({
      'src/a.ts': 'function read(a, b, c, d, e) { const settled = a.settle(b); return settled; }',
    });
    if (source === undefined) throw new Error('not parsed');
    expect(longParameterLists(source, 4)).toHaveLength(1);
    expect(oneWordFunctions(source)).toHaveLength(1);
    expect(declaredNames(source, /^settle/).map(({ what }) => what)).toEqual(['settled']);
  });
});

describe('nothing lies about', () => {
  test('every shipped file is imported by another, started by a script, or published', () => {
    const manifest = read('package.json');
    const imported = new Set(shipped.flatMap(importsOf).map(({ to }) => to));
    const published = new Set(['sdk', 'cli'].flatMap(entriesOf));
    const isStarted = (path: string): boolean =>
      [path, path.replace(/^src\/(.*)\.ts$/, 'dist/$1.js')].some((name) => manifest.includes(` ${name}`));
    const dead = shipped.filter(({ path }) => !imported.has(path) && !published.has(path) && !isStarted(path));
    expect(dead.map(({ path }) => path)).toEqual([]);
  });

  test('scripts name files that exist', () => {
    const named = [...read('package.json').matchAll(/ ((?:src|bench|bin|dist|packages)\/[\w/.-]+\.[jt]s)/g)].map(
      ([, path = '']) => path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
  });
});

describe('documents', () => {
  const documents = files.filter((path) => path.endsWith('.md'));

  test('ARCHITECTURE.md can be read in one sitting', () => {
    expect(read('ARCHITECTURE.md').split('\n').length - 1).toBeLessThanOrEqual(ARCHITECTURE_LINES);
  });

  test('ARCHITECTURE.md says of each folder of src what it holds, and of a small one why it stays', () => {
    const text = read('ARCHITECTURE.md');
    const rows = [...text.matchAll(/^\| `(src\/[^`]+)` \|(.*)$/gm)];
    const told = rows.flatMap(([, folder = '', row = '']) => [
      folder,
      ...[...row.matchAll(/`([a-z0-9/-]+)\/`/g)].map(([, inner]) => `${folder}/${inner}`),
    ]);
    const folders = Map.groupBy(rooms, (path) => posix.dirname(path));
    expect(told.toSorted()).toEqual([...folders.keys()].toSorted());
    const [, reasons = ''] = /\nSmall folders([\s\S]*?)\n\n/.exec(text) ?? [];
    const small = [...folders].filter(([, inside]) => inside.length < FOLDER_FILES).map(([folder]) => folder);
    expect([...reasons.matchAll(/`(src\/[^`]+)`/g)].map(([, folder]) => folder).toSorted()).toEqual(small.toSorted());
  });

  test('what INVARIANTS.md names is in the migrations or in the code', () => {
    const text = files
      .filter((path) => /^(?:migrations|src|deploy)\/.*\.(?:sql|ts)$/.test(path))
      .map(read)
      .join('\n');
    const named = [...read('INVARIANTS.md').matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  test('links between documents lead somewhere', () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|mailto:|#|\/)([^)#\s]+)/g)]
        .map(([, link = '']) => posix.join(posix.dirname(path), link))
        .filter((link) => !existsSync(resolve(root, link)))
        .map((link) => `${path} -> ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('files that documents name exist', () => {
    const lost = documents.flatMap((path) =>
      [...read(path).matchAll(/`((?:src|test|migrations|bench|docs)\/[\w/.-]+\.\w+)`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !existsSync(resolve(root, name)))
        .map((name) => `${path}: ${name}`),
    );
    expect(lost).toEqual([]);
  });

  test('decisions are numbered without a gap, and say why and what follows', () => {
    const decisions = files.filter((path) => path.startsWith('docs/decisions/')).sort();
    expect(decisions.length).toBeGreaterThan(0);
    for (const [index, path] of decisions.entries()) {
      expect(path).toMatch(new RegExp(`/${(index + 1).toString().padStart(4, '0')}-[a-z0-9-]+\\.md$`));
      expect(read(path), path).toMatch(/^# .+\n[\s\S]*\n## Context\n[\s\S]*\n## Decision\n[\s\S]*\n## Consequences\n/);
    }
  });

  test('each dependency has its reason in writing, and no reason is left of one that is gone', () => {
    const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>;
    const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
    const declared = groups.flatMap((group) => Object.keys(manifest[group] ?? {}));
    const explained = [...read('docs/decisions/0002-dependencies.md').matchAll(/^\| `([^`]+)` \|/gm)].map(
      ([, name]) => name,
    );
    expect(explained.sort()).toEqual(declared.sort());
  });
});
