import { lstatSync } from 'node:fs';
import { cp, mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkSharedLibraries } from '../embedded.ts';
import { findBinaries, runBinary } from './binaries.ts';

test('the server runs from a package whose install script never ran', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-libraries-'));
  const { folder: installed } = await findBinaries();
  const bare = join(folder, 'native');
  // Copy the package as it is published, without links.
  await cp(installed, bare, { recursive: true, filter: (source) => !lstatSync(source).isSymbolicLink() });
  const launch = { binaries: bare, libraryPath: '', user: null };
  await expect(runBinary(launch, 'postgres', ['--version'])).rejects.toThrow('libicui18n');

  const libraryPath = await linkSharedLibraries(bare, join(folder, 'links'));
  expect(await runBinary({ ...launch, libraryPath }, 'postgres', ['--version'])).toContain('postgres (PostgreSQL)');
  const links = await readdir(join(folder, 'links'));
  for (const link of links) expect(await readlink(join(folder, 'links', link))).toContain(join(bare, 'lib'));
  // A second start reuses the same links.
  expect(await linkSharedLibraries(bare, join(folder, 'links'))).toBe(libraryPath);
  expect(await readdir(join(folder, 'links'))).toEqual(links);
  await rm(folder, { recursive: true });
});
