import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/platform/clock.ts';
import { findBinaries, type Launch, launchOptions, runBinary } from '../../src/platform/database/embedded/binaries.ts';
import { findUser, type ServerUser } from '../../src/platform/database/embedded/server-user.ts';
import { linkSharedLibraries, placeBinaries } from '../../src/platform/database/embedded.ts';
import { onServer } from './on-server.ts';

/** Whom the earlier versions ran PostgreSQL as. */
export async function sharedUser(): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;
  return (await findUser('nobody')) ?? { name: 'nobody', uid: 65_534, gid: 65_534 };
}

export interface TrustingCluster {
  cluster: string;
  /** As it was found by who could reach the socket. */
  url: string;
  stop(): Promise<void>;
}

/**
 * A data folder as versions up to commit 6569f5a made and ran it: the server trusts all who reach its socket, and when root started
 * it, it belongs to `nobody`. It runs, and holds the table `kept` with the number 7.
 */
export async function startTrustingCluster(dataDir: string): Promise<TrustingCluster> {
  const user = await sharedUser();
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  await mkdir(cluster, { recursive: true, mode: 0o711 });
  await chmod(dataDir, 0o711);
  if (user !== null) await chown(cluster, user.uid, user.gid);
  const binaries = await findBinaries();
  const placed = await placeBinaries(binaries, home, user, () => {});
  const libraryPath = await linkSharedLibraries(placed, join(home, `libraries-${binaries.version}`));
  const launch: Launch = { binaries: placed, libraryPath, user };
  await runBinary(launch, 'initdb', [
    ...[`--pgdata=${cluster}`, '--username=openaisle', '--auth-local=trust', '--auth-host=reject', '--encoding=UTF8'],
    ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--data-checksums', '--no-instructions'],
  ]);
  const sockets = await mkdtemp(join(tmpdir(), 'openaisle-'));
  if (user !== null) await chown(sockets, user.uid, user.gid);
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${sockets}`,
    'unix_socket_permissions=0700',
    'port=5432',
  ];
  const server = spawn(`${placed}/bin/postgres`, ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])], {
    ...launchOptions(launch),
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(server, 'exit');
  while (!(await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).includes('ready'))
    await systemClock.sleep(10);
  const url = (database: string): string =>
    `postgres://openaisle@localhost:5432/${database}?host=${encodeURIComponent(sockets)}&sslmode=disable`;
  await onServer(url('postgres'), 'create database openaisle');
  await onServer(url('openaisle'), 'create table kept as select 7 as n');
  return {
    cluster,
    url: url('openaisle'),
    stop: async () => {
      server.kill('SIGINT');
      await ended;
      await rm(sockets, { recursive: true, force: true });
    },
  };
}
