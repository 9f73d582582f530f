import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lockDataFolder } from '../data-folder-lock.ts';
import { readSecret, secureCluster } from './embedded/authentication.ts';
import { type Binaries, findBinaries } from './embedded/find-binaries.ts';
import { initCluster } from './embedded/init-cluster.ts';
import { placeBinaries } from './embedded/place-binaries.ts';
import { isServerOf, readPostmaster, stopOrphan } from './embedded/postmaster.ts';
import { type Home, prepareHome } from './embedded/prepare-home.ts';
import { type Launch, runBinary } from './embedded/run-binary.ts';
import { socketUrl, startServer } from './embedded/server-process.ts';
import { linkSharedLibraries } from './embedded/shared-libraries.ts';
import { makeSocketFolder, removeSocketFolder } from './embedded/socket-folder.ts';
import { takeOver } from './embedded/take-over.ts';

export interface EmbeddedOptions {
  dataDir: string;
  log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  /** With the password in it. */
  url: string;
  /** Resolves when the server has ended, by `stop` or by itself. */
  exited: Promise<void>;
  /** Ends the server cleanly and gives the folder free. Close databases first: open transactions are rolled back. */
  stop(): Promise<void>;
}

/**
 * Runs a PostgreSQL of this process's own in `<dataDir>/postgres`, reachable by a private Unix socket alone, and with a
 * password that this process's user alone can read. It outlives
 * a killed process; the next start on the same folder ends it and goes on with its data. Signals are left to the caller.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  const binaries = await findBinaries();
  const home = await prepareHome(options.dataDir, log);
  const lock = await lockDataFolder(home.folder, options.dataDir);
  let socketFolder: string | null = null;
  try {
    await stopOrphan(home.cluster, log);
    await takeOver(home, log);
    const launch = await prepareLaunch(binaries, home, log);
    await initCluster(home, launch, binaries.version.split('.')[0] ?? '');
    const secret = await secureCluster(home, launch, log);
    const sockets = await makeSocketFolder(home.user);
    socketFolder = sockets;
    const entrance = { folder: sockets, secret };
    const server = await startServer(home, launch, entrance);
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
      url: socketUrl(entrance),
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

/** The URL of the server that another process now runs on this data folder, for a tool that runs at the same time; else null. */
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
