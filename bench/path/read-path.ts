import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}

/** Coverage in V8's format. A function's first range is the function, and the later ones are blocks inside it. */
export interface ScriptCoverage {
  url: string;
  functions: { functionName: string; ranges: Range[] }[];
}

/** A file in which at least one function ran. */
export interface PassedFile {
  /** Path relative to the root of the checkout. */
  path: string;
  lines: number;
  /** Number of lines with code in a block that ran. */
  executed: number;
}

const COMMENT = /^\s*(?:\/\/|\/\*|\*)/;

/** Returns the files under `src` whose functions ran. Code that runs on import does not count. */
export function readPath(coverage: readonly ScriptCoverage[], root: string): PassedFile[] {
  const home = pathToFileURL(`${root}/`).href;
  return coverage
    .filter(({ url }) => url.startsWith(`${home}src/`))
    .flatMap(({ url, functions }) => {
      const text = readFileSync(fileURLToPath(url), 'utf8');
      const inside = functions.filter(
        ({ ranges: [whole] }) => !(whole?.startOffset === 0 && whole.endOffset >= text.length),
      );
      if (!inside.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0)) return [];
      const path = fileURLToPath(url).slice(fileURLToPath(home).length);
      return [{ path, lines: text.split('\n').length - 1, executed: executedLines(text, inside) }];
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

export function foldersOf(files: readonly PassedFile[]): Map<string, PassedFile[]> {
  return Map.groupBy(files, ({ path }) => posix.dirname(path));
}

function executedLines(text: string, functions: ScriptCoverage['functions']): number {
  const ran = new Uint8Array(text.length);
  for (const { startOffset, endOffset, count } of functions.toSorted(outerFirst).flatMap(({ ranges }) => ranges)) {
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  let executed = 0;
  let at = 0;
  for (const line of text.split('\n')) {
    const isCode = !COMMENT.test(line);
    if (isCode && [...line].some((letter, index) => letter.trim() !== '' && ran[at + index] === 1)) executed += 1;
    at += line.length + 1;
  }
  return executed;
}

/** Sorts outer functions first. Types are blanked before a file runs, so positions equal those of the source. */
function outerFirst(one: ScriptCoverage['functions'][number], other: ScriptCoverage['functions'][number]): number {
  const [a, b] = [one.ranges[0], other.ranges[0]];
  if (a === undefined || b === undefined) return 0;
  return a.startOffset - b.startOffset || b.endOffset - a.endOffset;
}
