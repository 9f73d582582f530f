import { chmod, cp, lstat, mkdir, mkdtemp, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linkSharedLibraries, placeBinaries } from '../embedded.ts';
import { findBinaries, runBinary } from './binaries.ts';
import { prepareHome } from './prepare-home.ts';
import { blockingFolder } from './server-user.ts';

const isRoot = process.getuid?.() === 0;

let top: string;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'openaisle-home-'));
});

afterEach(async () => {
  await rm(top, { recursive: true });
});

test.runIf(!isRoot)('without root rights the home is a private folder of this user', async () => {
  const home = await prepareHome(join(top, 'data'), () => {});
  expect(home.user).toBeNull();
  expect((await stat(home.folder)).mode & 0o777).toBe(0o700);
});

describe.runIf(isRoot)('as root', () => {
  test('the server gets another user, who may come to its folder', async () => {
    await chmod(top, 0o711);
    const home = await prepareHome(join(top, 'data'), () => {});
    expect(home.user?.uid).toBeGreaterThan(0);
    expect(home.folder).toBe(join(top, 'data', 'postgres'));
    if (home.user !== null) expect(await blockingFolder(home.folder, home.user)).toBeNull();
  });

  test('a private data folder is opened for passing through, and for no more', async () => {
    await chmod(top, 0o711);
    await mkdir(join(top, 'data'), { mode: 0o700 });
    const lines: string[] = [];
    await prepareHome(join(top, 'data'), (line) => lines.push(line));
    expect((await stat(join(top, 'data'))).mode & 0o777).toBe(0o711);
    expect(lines.join('\n')).toContain('pass through');
  });

  test('below a private folder the data goes where the server may come, once', async () => {
    const open = await mkdtemp(join(tmpdir(), 'openaisle-common-'));
    const lines: string[] = [];
    const first = await prepareHome(join(top, 'data'), (line) => lines.push(line), open);
    const link = join(top, 'data', 'postgres');
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(first.folder).toBe(await readlink(link));
    expect(lines.join('\n')).toContain(`may not enter ${top}`);
    expect((await prepareHome(join(top, 'data'), () => {}, open)).folder).toBe(first.folder);
    await rm(open, { recursive: true });
    // A start must not create an empty database instead.
    await expect(prepareHome(join(top, 'data'), () => {}, open)).rejects.toThrow('points to a folder that is gone');
  });

  test('where no folder is open to the server, the error names the closed one and the ways out', async () => {
    const failing = prepareHome(join(top, 'data'), () => {}, join(top, 'common'));
    await expect(failing).rejects.toThrow(new RegExp(`may not enter ${top}\\..*DATABASE_URL`));
  });

  test('binaries in a private folder are copied to where the server can run them', async () => {
    await chmod(top, 0o711);
    const home = await prepareHome(join(top, 'data'), () => {});
    const { folder, version } = await findBinaries();
    const hidden = join(top, 'private');
    await mkdir(hidden, { mode: 0o700 });
    await cp(folder, join(hidden, 'native'), { recursive: true, verbatimSymlinks: true });
    const binaries = { folder: join(hidden, 'native'), version };
    const copy = await placeBinaries(binaries, home.folder, home.user, () => {});
    expect(copy).toBe(join(home.folder, `binaries-${version}`));
    const libraryPath = await linkSharedLibraries(copy, join(home.folder, 'libraries'));
    const launch = { binaries: copy, libraryPath, user: home.user };
    expect(await runBinary(launch, 'postgres', ['--version'])).toContain('PostgreSQL');
    await rm(hidden, { recursive: true });
    const again = await placeBinaries({ folder, version }, home.folder, home.user, () => {});
    expect(await runBinary({ ...launch, binaries: again }, 'postgres', ['--version'])).toContain('PostgreSQL');
  });
});
