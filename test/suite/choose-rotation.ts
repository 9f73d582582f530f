import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { importsOf } from '../support/source/imports-of.ts';
import { openSources } from '../support/source/open-sources.ts';
import { PARTS } from './rotation.ts';
import { touchedFiles } from './touched-files.ts';

// Prints the rotation of this build for OPENAISLE_ROTATION: `all` if git cannot count commits, otherwise the part and the files that the
// change affects. The change is the commits of the last four hours, or those since the commit in OPENAISLE_SINCE.

/** Longer than the work on one change, shorter than the time between two changes. */
const CHANGE_SECONDS = 4 * 3_600;

const root = resolve(import.meta.dirname, '../..');
const git = (...given: string[]): string => execFileSync('git', given, { cwd: root, encoding: 'utf8' }).trim();

function isCountable(): boolean {
  try {
    return git('rev-parse', '--is-shallow-repository') === 'false';
  } catch {
    // A source archive has no history.
    return false;
  }
}

function startOfChange(): string {
  const since = process.env['OPENAISLE_SINCE'];
  if (since !== undefined && since !== '') return since;
  const before = Number(git('log', '-1', '--format=%ct')) - CHANGE_SECONDS;
  // If the whole history is that young, the change begins at its first commit.
  return git('rev-list', '-1', `--before=${before}`, 'HEAD') || git('rev-list', '--max-parents=0', 'HEAD');
}

function chooseRotation(): string {
  if (!isCountable()) return 'all';
  const part = Number(git('rev-list', '--count', 'HEAD')) % PARTS;
  const changed = git('diff', '--name-only', startOfChange()).split('\n');
  const imports = openSources(root)
    .flatMap(importsOf)
    .filter(({ inside }) => inside);
  return [part, ...touchedFiles(imports, changed)].join(' ');
}

process.stdout.write(`${chooseRotation()}\n`);
