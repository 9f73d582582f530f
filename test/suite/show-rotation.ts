import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { PARTS } from './rotation.ts';

// Lists the tests of all suites as each part of the rotation plays them, and compares their union with the list of all tests.

const root = resolve(import.meta.dirname, '../..');
const vitest = resolve(root, 'node_modules/vitest/vitest.mjs');

function listTests(rotation: string): Set<string> {
  const said = execFileSync(process.execPath, [vitest, 'list', '--json', '--no-static-parse', '--project=!quick'], {
    cwd: root,
    env: { ...process.env, OPENAISLE_ROTATION: rotation },
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  const tests = JSON.parse(said.slice(said.indexOf('['))) as { name: string; file: string }[];
  // Names of random games hold seeds and numbers of rounds, which differ from build to build.
  return new Set(tests.map(({ name, file }) => `${file.slice(root.length + 1)} > ${name.replaceAll(/\d+/g, '#')}`));
}

const all = listTests('all');
const parts = Array.from({ length: PARTS }, (_, part) => listTests(String(part)));
for (const [part, played] of parts.entries())
  process.stdout.write(`part ${part}: ${played.size} of ${all.size} tests\n`);
const always = [...all].filter((test) => parts.every((played) => played.has(test)));
const missing = [...all].filter((test) => !parts.some((played) => played.has(test)));
process.stdout.write(`${all.size - always.length} take turns; no part plays ${missing.length}\n`);
for (const test of missing) process.stdout.write(`  ${test}\n`);
process.exitCode = missing.length === 0 ? 0 : 1;
