import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { importsOf } from '../support/source/imports-of.ts';
import { openSources } from '../support/source/open-sources.ts';
import { PARTS } from './rotation.ts';
import { rotatedFiles } from './touched-files.ts';

// Lists the tests of all files with rotated cases as each part of the rotation runs them, and compares the union of the parts with all
// tests.

const root = resolve(import.meta.dirname, '../..');
const imports = openSources(root)
  .flatMap(importsOf)
  .filter(({ inside }) => inside);
const files = [...rotatedFiles(imports).keys()].filter((path) =>
  /\.(?:heavy|heavy\.test|browser|hostile|recipe)\.ts$/.test(path),
);
const vitest = resolve(root, 'node_modules/vitest/vitest.mjs');

async function listTests(rotation: string): Promise<Set<string>> {
  const given = ['list', '--json', '--no-static-parse', '--project=!quick', ...files];
  const child = spawn(process.execPath, [vitest, ...given], {
    cwd: root,
    env: { ...process.env, OPENAISLE_ROTATION: rotation },
    stdio: ['ignore', 'pipe', 'inherit'],
    // The run gets its own process group, because some files start servers while loading, and no test stops them.
    detached: true,
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child, 'exit');
  endGroup(child.pid);
  const tests = JSON.parse(said.slice(said.indexOf('['))) as { name: string; file: string }[];
  // Names of random games contain seeds and numbers of rounds, which differ between builds.
  return new Set(tests.map(({ name, file }) => `${file.slice(root.length + 1)} > ${name.replaceAll(/\d+/g, '#')}`));
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group is already empty.
  }
}

const all = await listTests('all');
const parts: Set<string>[] = [];
for (let part = 0; part < PARTS; part += 1) parts.push(await listTests(String(part)));
for (const [part, played] of parts.entries())
  process.stdout.write(`part ${part}: ${played.size} of ${all.size} tests\n`);
const always = [...all].filter((test) => parts.every((played) => played.has(test)));
const missing = [...all].filter((test) => !parts.some((played) => played.has(test)));
process.stdout.write(`${all.size - always.length} take turns; no part plays ${missing.length}\n`);
for (const test of missing) process.stdout.write(`  ${test}\n`);
process.exitCode = missing.length === 0 ? 0 : 1;
