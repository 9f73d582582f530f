import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '../../src/platform/clock.ts';
import { findBinaries, type Launch, runBinary } from '../../src/platform/database/embedded/binaries.ts';
import { serverUser } from '../../src/platform/database/embedded/server-user.ts';
import { linkSharedLibraries, placeBinaries } from '../../src/platform/database/embedded.ts';
import { copyCluster, killServer, makeOwn, onServer, type RunningPostgres, runPostgres } from './run-postgres.ts';

const PASSWORD = 'of-a-test';
const POLL_MS = 10;

/** A PostgreSQL with its own data folder that can run as a primary, a restored copy or a standby. */
export interface PostgresServer {
  /** URL of the database `openaisle`, as superuser over its Unix socket. It stays the same across restarts. */
  readonly url: string;
  readonly cluster: string;
  /** Returns its log since the last start. */
  readLog(): Promise<string>;
  /** Starts the server with its folder as it is: a primary, a standby, or a fresh copy as a restored server on the backup's timeline. */
  start(): Promise<void>;
  /** Starts a fresh copy the way a point-in-time recovery ends: on a new timeline. */
  startOnNewTimeline(): Promise<void>;
  /** Follows `primary` and resolves once it accepts read connections. `name` identifies it for `makeSynchronous`. */
  startAsStandbyOf(primary: PostgresServer, name: string): Promise<void>;
  /** Makes a base backup under load. Returns a server, not yet started, with the state at the end of the copy. */
  copyWhileRunning(): Promise<PostgresServer>;
  /** Makes commits wait until that standby has them on disk. Null makes them wait for none. Returns once this is in effect. */
  makeSynchronous(standby: string | null): Promise<void>;
  /** Stops receiving. Later commits are lost if this standby is promoted. */
  pauseStreaming(): Promise<void>;
  resumeStreaming(): Promise<void>;
  /** Receives log without applying it. Nothing is lost, because a promotion applies everything. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Waits until the standby has applied all commits of `primary` so far. */
  waitForReplay(primary: PostgresServer): Promise<void>;
  /** Returns once the standby is a primary. */
  promote(): Promise<void>;
  /** Runs one statement on its own connection; also works on a standby, to which the platform never connects. */
  ask<T extends object>(text: string): Promise<T[]>;
  /** Kills all processes of the server with SIGKILL. `start` continues from its files. */
  kill(): Promise<void>;
  /** Kills remaining processes and starts the server, as a supervisor would. */
  restart(): Promise<void>;
  /** Stops cleanly, after standbys received everything. */
  stop(): Promise<void>;
}

export interface PrimaryOptions {
  settings?: Readonly<Record<string, string>>;
  /** Empty folder for the data, for example on a separate disk. */
  cluster?: string;
  /** Empty folder for the write-ahead log. */
  wal?: string;
}

export interface PostgresGround {
  /** Folder of all servers without a folder of their own. */
  folder: string;
  /** Starts a new server with the market's durability settings and an empty database `openaisle`. */
  startPrimary(options?: PrimaryOptions): Promise<PostgresServer>;
  drop(): Promise<void>;
}

/** Creates servers of the embedded version that can fail, follow and replace each other. */
export async function openPostgresGround(): Promise<PostgresGround> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-ground-'));
  await chmod(folder, 0o711);
  const binaries = await findBinaries();
  const user = await serverUser(join(folder, 'none'), () => {});
  const placed = await placeBinaries(binaries, folder, user, () => {});
  const launch = { binaries: placed, libraryPath: await linkSharedLibraries(placed, join(folder, 'libraries')), user };
  const servers: PostgresServer[] = [];
  const makeServer = (cluster: string): PostgresServer => {
    const server = createServer(folder, cluster, launch, async () =>
      makeServer(join(folder, `cluster-${servers.length}`)),
    );
    servers.push(server);
    return server;
  };
  return {
    folder,
    startPrimary: async ({ settings = {}, cluster = join(folder, `cluster-${servers.length}`), wal } = {}) => {
      await initialize(launch, folder, cluster, wal, settings);
      const server = makeServer(cluster);
      await server.start();
      const postgres = new URL(server.url);
      postgres.pathname = '/postgres';
      await onServer(postgres.href, 'create database openaisle');
      return server;
    },
    drop: async () => {
      // Stop standbys before the servers they follow, because a server waits for its standbys when it stops. Standbys were created later.
      for (const server of servers.toReversed()) await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function initialize(
  launch: Launch,
  folder: string,
  cluster: string,
  wal: string | undefined,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const password = join(folder, 'password');
  await writeFile(password, PASSWORD, { mode: 0o600 });
  await makeOwn(launch.user, cluster);
  if (wal !== undefined) await makeOwn(launch.user, wal);
  if (launch.user !== null) await chown(password, launch.user.uid, launch.user.gid);
  await runBinary(launch, 'initdb', [
    ...[`--pgdata=${cluster}`, '--username=openaisle', `--pwfile=${password}`, '--encoding=UTF8', '--data-checksums'],
    ...['--auth-local=scram-sha-256', '--auth-host=reject', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ...['--locale=C', '--no-instructions', ...(wal === undefined ? [] : [`--waldir=${wal}`])],
    // Keep enough log for a standby that resumes streaming, and for a base backup.
    ...Object.entries({ wal_keep_size: '1GB', ...settings }).map(([name, value]) => `--set=${name}=${value}`),
  ]);
}

interface Desk {
  ask: PostgresServer['ask'];
  until(condition: string): Promise<void>;
  /** Changes a setting. New connections see it at once, existing processes soon. */
  configure(name: string, value: string): Promise<void>;
}

function createDesk(url: string): Desk {
  const ask = async <T extends object>(text: string): Promise<T[]> => {
    // The platform's own connections refuse standbys.
    const client = new Client({ connectionString: url });
    // Without a handler, the end of the server would crash this process.
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const until = async (condition: string): Promise<void> => {
    while ((await ask<{ met: boolean }>(`select (${condition}) as met`))[0]?.met !== true)
      await systemClock.sleep(POLL_MS);
  };
  return {
    ask,
    until,
    configure: async (name, value) => {
      await ask(`alter system set ${name} = '${value}'`);
      await ask('select pg_reload_conf()');
      await until(`current_setting('${name}') = '${value}'`);
    },
  };
}

type Acts = 'makeSynchronous' | 'pauseReplay' | 'resumeReplay' | 'waitForReplay' | 'promote';

function createActs({ ask, until, configure }: Desk): Pick<PostgresServer, Acts> {
  return {
    makeSynchronous: async (standby) => {
      await configure('synchronous_standby_names', standby ?? '');
      // The checkpointer announces the new setting. By the end of a later checkpoint it has certainly done so.
      await ask('checkpoint');
      if (standby === null) return;
      const isSynchronous = `application_name = '${standby}' and sync_state = 'sync'`;
      await until(`exists (select from pg_stat_replication where ${isSynchronous})`);
    },
    pauseReplay: async () => {
      await ask('select pg_wal_replay_pause()');
      // The state is `pause requested` until the replay process has noticed.
      await until("pg_get_wal_replay_pause_state() = 'paused'");
    },
    resumeReplay: async () => void (await ask('select pg_wal_replay_resume()')),
    waitForReplay: async (primary) => {
      const [at] = await primary.ask<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
      await until(`pg_last_wal_replay_lsn() >= '${at?.lsn}'::pg_lsn`);
    },
    promote: async () => {
      const [answer] = await ask<{ promoted: boolean }>('select pg_promote() as promoted');
      if (answer?.promoted !== true) throw new Error('the standby could not be promoted');
    },
  };
}

function createServer(
  folder: string,
  cluster: string,
  launch: Launch,
  makeCopy: () => Promise<PostgresServer>,
): PostgresServer {
  const sockets = cluster.replace(/.*\//, join(folder, 's-'));
  const urlOf = (database: string): string =>
    `postgres://openaisle:${PASSWORD}@localhost:5432/${database}?host=${encodeURIComponent(sockets)}&sslmode=disable`;
  const url = urlOf('openaisle');
  let running: RunningPostgres | null = null;
  let follows = '';

  const desk = createDesk(urlOf('postgres'));
  const put = async (name: string, text: string): Promise<void> => {
    await writeFile(join(cluster, name), text, { mode: 0o600 });
    if (launch.user !== null) await chown(join(cluster, name), launch.user.uid, launch.user.gid);
  };
  const start = async (): Promise<void> => {
    await makeOwn(launch.user, sockets);
    running = await runPostgres({ launch, cluster, sockets, url: urlOf('postgres') });
  };

  return {
    ...createActs(desk),
    url,
    cluster,
    readLog: async () => (await running?.readLog()) ?? '',
    start,
    startOnNewTimeline: async () => {
      await put('recovery.signal', '');
      await put('postgresql.auto.conf', "restore_command = 'false'\n");
      await start();
      await desk.until('not pg_is_in_recovery()');
    },
    startAsStandbyOf: async (primary, name) => {
      const { searchParams } = new URL(primary.url);
      follows = `host=${searchParams.get('host')} port=5432 user=openaisle password=${PASSWORD} application_name=${name}`;
      await put('standby.signal', '');
      await put('postgresql.auto.conf', `primary_conninfo = '${follows}'\n`);
      await start();
    },
    copyWhileRunning: async () => {
      const copy = await makeCopy();
      await copyCluster(urlOf('postgres'), cluster, copy.cluster, launch.user);
      return copy;
    },
    pauseStreaming: async () => {
      await desk.configure('primary_conninfo', '');
      await desk.until('not exists (select from pg_stat_wal_receiver)');
    },
    resumeStreaming: () => desk.configure('primary_conninfo', follows),
    ask: desk.ask,
    kill: async () => {
      await killServer(cluster);
      await running?.exited;
    },
    restart: async () => {
      // The server may exit on its own at the same time.
      if (running?.isRunning()) await killServer(cluster).catch(() => {});
      await running?.exited;
      await start();
    },
    stop: async () => running?.stop(),
  };
}
