import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { listFiles } from '../support/source/open-sources.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of all copies. Its subfolder `base` is the compiled checkout, unchanged. */
    recipeCopies: string;
  }
}

const root = resolve(import.meta.dirname, '../..');

/** Compiler options without tests, because a recipe runs the tests that it changes. Copies reuse the files compiled here. */
const PROJECT = {
  extends: './tsconfig.json',
  compilerOptions: { incremental: true, tsBuildInfoFile: './recipe.tsbuildinfo' },
  include: ['src', 'test/support'],
  exclude: ['src/wallet', '**/*.test.ts'],
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const copies = await mkdtemp(join(tmpdir(), 'openaisle-recipes-'));
  const base = join(copies, 'base');
  for (const path of listFiles(root)) {
    await mkdir(dirname(join(base, path)), { recursive: true });
    await cp(join(root, path), join(base, path));
  }
  await symlink(join(root, 'node_modules'), join(base, 'node_modules'));
  await writeFile(join(base, 'tsconfig.recipe.json'), JSON.stringify(PROJECT));
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.recipe.json'], { cwd: base });
  project.provide('recipeCopies', copies);
  return async () => await rm(copies, { recursive: true, force: true });
}
