import {
  chmod,
  chown,
  cp,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lockDataFolder, nullIfMissing } from '../data-folder.ts';
import { readSecret, SUPERUSER, secureCluster } from './embedded/authentication.ts';
import { type Binaries, findBinaries, type Launch, runBinary } from './embedded/binaries.ts';
import { isServerOf, readPostmaster, stopOrphan } from './embedded/postmaster.ts';
import { type Home, makeSocketFolder, prepareHome, removeSocketFolder } from './embedded/prepare-home.ts';
import { socketUrl, startServer } from './embedded/server-process.ts';
import { blockingFolder, type ServerUser } from './embedded/server-user.ts';

export interface EmbeddedOptions {
  dataDir: string;
  log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  /** Contains the password. */
  url: string;
  /** Resolves when the server has exited, for whatever reason. */
  exited: Promise<void>;
  /** Stops the server cleanly and unlocks the folder. Close all pools first, because open transactions are rolled back. */
  stop(): Promise<void>;
}

/**
 * Runs a private PostgreSQL in `<dataDir>/postgres`. It is reachable only through its private Unix socket, with a password that only this
 * process's user can read. The server outlives a killed process; the next start on this folder stops it and reuses its data. The caller
 * handles signals.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  const binaries = await findBinaries();
  const home = await prepareHome(options.dataDir, log);
  const lock = await lockDataFolder(home.folder, options.dataDir);
  let socketFolder: string | null = null;
  try {
    await stopOrphan(home.cluster, log);
    await takeOwnership(home, log);
    const launch = await prepareLaunch(binaries, home, log);
    await initCluster(home, launch, binaries.version.split('.')[0] ?? '');
    const secret = await secureCluster(home, launch, log);
    const sockets = await makeSocketFolder(home.user);
    socketFolder = sockets;
    const access = { folder: sockets, secret };
    const server = await startServer(home, launch, access);
    const runsAs = home.user === null ? '' : `, as ${home.user.name}`;
    log(`PostgreSQL ${binaries.version} runs on ${home.cluster} (process ${server.pid}${runsAs})`);
    let stopped: Promise<void> | null = null;
    void server.exited.then(() => {
      if (stopped === null) log(`PostgreSQL (process ${server.pid}) ended by itself: see server.log in ${home.folder}`);
    });
    const stop = async (): Promise<void> => {
      await server.stop();
      await removeSocketFolder(sockets);
      await lock.release();
    };
    return {
      url: socketUrl(access),
      exited: server.exited,
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    if (socketFolder !== null) await removeSocketFolder(socketFolder);
    await lock.release();
    throw error;
  }
}

/** Returns the URL of the server that another process is running on this data folder, or null. */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const cluster = await realpath(join(dataDir, 'postgres', 'cluster')).catch(() => null);
  if (cluster === null) return null;
  const running = await readPostmaster(cluster);
  if (running === null || !running.ready || !(await isServerOf(cluster, running.pid))) return null;
  return socketUrl({ folder: running.socketFolder, secret: await readSecret(dirname(cluster)) });
}

async function prepareLaunch(binaries: Binaries, home: Home, log: (line: string) => void): Promise<Launch> {
  const folder = await placeBinaries(binaries, home.folder, home.user, log);
  const libraryPath = await linkSharedLibraries(folder, join(home.folder, `libraries-${binaries.version}`));
  const launch = { binaries: folder, libraryPath, user: home.user };
  try {
    await runBinary(launch, 'postgres', ['--version']);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `the embedded PostgreSQL for ${process.platform}-${process.arch} does not run on this machine: set DATABASE_URL (${why})`,
      { cause },
    );
  }
  return launch;
}

/** Creates links for the short library names, because install scripts may be disabled. Returns the value for LD_LIBRARY_PATH. */
export async function linkSharedLibraries(binaries: string, folder: string): Promise<string> {
  const lib = join(binaries, 'lib');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const links = await readFile(join(binaries, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    // The server needs only the links of libraries.
    if (source.startsWith('native/lib/')) await symlink(join(lib, basename(source)), join(folder, basename(target)));
  }
  return `${folder}:${lib}`;
}

/**
 * Makes the server's own user the owner of data that belonged to a shared user in an earlier version. No server may be running on the data.
 * Root owns the folder meanwhile, so that programs of the earlier owner cannot enter. If a start is interrupted here, the next one begins
 * again.
 */
async function takeOwnership({ cluster, user }: Home, log: (line: string) => void): Promise<void> {
  if (user === null) return;
  const owner = await lstat(cluster).catch(nullIfMissing);
  if (owner === null || owner.uid === user.uid) return;
  log(`the database in ${cluster} belongs to user id ${owner.uid} and is given to ${user.name} (${user.uid})`);
  await lchown(cluster, 0, 0);
  await chownContents(cluster, user);
  await lchown(cluster, user.uid, user.gid);
}

async function chownContents(folder: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const { nlink } = await lstat(path);
    // PostgreSQL makes no hard links. A hard link may point to another program's file, whose owner must not change.
    if (!entry.isDirectory() && nlink > 1)
      throw new Error(`${path} has several hard links, so it is not a file of PostgreSQL: remove it and start again`);
    // Changes the owner of a link itself, not of its target.
    await lchown(path, user.uid, user.gid);
    if (entry.isDirectory()) await chownContents(path, user);
  }
}

/** Creates the cluster on the first start. Deletes the incomplete clusters of interrupted starts. */
async function initCluster(home: Home, launch: Launch, major: string): Promise<void> {
  const format = await readFile(join(home.cluster, 'PG_VERSION'), 'utf8').catch(nullIfMissing);
  if (format !== null) {
    if (format.trim() === major) return;
    throw new Error(
      `the database in ${home.cluster} has the format of PostgreSQL ${format.trim()}, but version ${major} is installed: ` +
        'install the packages it was made with, or move the data with a dump',
    );
  }
  for (const name of await readdir(home.folder))
    if (name.startsWith('cluster-partial-')) await rm(join(home.folder, name), { recursive: true, force: true });
  const partial = await mkdtemp(join(home.folder, 'cluster-partial-'));
  await chmod(partial, 0o700);
  if (home.user !== null) await chown(partial, home.user.uid, home.user.gid);
  await runBinary(launch, 'initdb', [
    `--pgdata=${partial}`,
    `--username=${SUPERUSER}`,
    // Reject all connections until `secureCluster` has set the password.
    '--auth-local=reject',
    '--auth-host=reject',
    '--encoding=UTF8',
    // The builtin provider sorts and folds case the same way on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
    '--no-instructions',
  ]);
  await rename(partial, home.cluster);
  // Sync the folder. Otherwise a power failure could undo the rename after rows were acknowledged, and the next start would see no cluster.
  const folder = await open(home.folder);
  await folder.sync();
  await folder.close();
}

/** Returns a folder whose binaries the server's user can run: the package's own, or a copy made once per version. */
export async function placeBinaries(
  binaries: Binaries,
  home: string,
  user: ServerUser | null,
  log: (line: string) => void,
): Promise<string> {
  if (user === null || (await canRunIn(binaries.folder, user))) return binaries.folder;
  const copy = join(home, `binaries-${binaries.version}`);
  if (await exists(copy)) return copy;
  log(`copying the PostgreSQL binaries to ${copy}: ${user.name} may not read ${binaries.folder}`);
  const partial = `${copy}.partial`;
  await rm(partial, { recursive: true, force: true });
  await cp(binaries.folder, partial, { recursive: true, verbatimSymlinks: true });
  await makeReadable(partial);
  await rename(partial, copy);
  return copy;
}

async function canRunIn(folder: string, user: ServerUser): Promise<boolean> {
  const { mode } = await stat(join(folder, 'bin', 'postgres'));
  return (mode & 0o005) === 0o005 && (await blockingFolder(join(folder, 'lib'), user)) === null;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Lets everybody read and enter the folder, whatever the umask was when the packages were installed. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
