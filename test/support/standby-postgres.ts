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

/** One PostgreSQL with a data folder of its own, as a primary, a restored copy or a standby, whichever it is started as. */
export interface PostgresServer {
  /** Of the database `openaisle`, as superuser, by its Unix socket. It stays over restarts. */
  readonly url: string;
  /** Its data folder, as it stands on disk. */
  readonly cluster: string;
  /** What it has written into its log since it was started. */
  said(): Promise<string>;
  /** Goes on with the folder as it was left: a primary, a standby, or a fresh copy as what was restored, on the timeline of the backup. */
  start(): Promise<void>;
  /** The same for a fresh copy, as a recovery to a point in time ends: on a timeline of its own. */
  startOnNewTimeline(): Promise<void>;
  /** Follows `primary` from now on, and is ready once it takes reading connections. `name` is what `makeSynchronous` knows it by. */
  startAsStandbyOf(primary: PostgresServer, name: string): Promise<void>;
  /** A base backup, taken while everybody works: a server that has not been started, and is as this one was at the end of the copy. */
  copyWhileRunning(): Promise<PostgresServer>;
  /** Commits wait from now on until that standby has them on disk; null: they wait for no standby. Returns once it is in force. */
  makeSynchronous(standby: string | null): Promise<void>;
  /** The standby receives nothing more. What was committed meanwhile is lost when it is promoted. */
  pauseStreaming(): Promise<void>;
  resumeStreaming(): Promise<void>;
  /** The standby receives and does not show. A promotion shows all of it, so nothing is lost by it. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Waits until the standby shows all that `primary` has committed up to now. */
  waitForReplay(primary: PostgresServer): Promise<void>;
  /** The standby is a primary when this returns. */
  promote(): Promise<void>;
  /** One statement, on a connection of its own: also of a standby, to which the platform does not connect. */
  ask<T extends object>(text: string): Promise<T[]>;
  /** Kill -9 of all its processes. `start` goes on from there. */
  kill(): Promise<void>;
  /** What a supervisor does: what still runs of it is killed, and it is started. */
  restart(): Promise<void>;
  /** A clean end: its standbys get everything first. */
  stop(): Promise<void>;
}

export interface PrimaryOptions {
  /** Settings of postgresql.conf. */
  settings?: Readonly<Record<string, string>>;
  /** An empty folder for the data, for example on a disk of its own. */
  cluster?: string;
  /** An empty folder for the write-ahead log. */
  wal?: string;
}

export interface PostgresGround {
  /** Where the servers are, unless they were given other folders. */
  folder: string;
  /** A new server, as safe as the market's own, that runs and has the empty database `openaisle`. */
  startPrimary(options?: PrimaryOptions): Promise<PostgresServer>;
  /** Ends every server and removes everything. */
  drop(): Promise<void>;
}

/** Where servers of the embedded version are made that lose, follow and replace one another. */
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
      // Standbys were made later than what they follow, which would wait for them.
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
    // A standby that streams again after a while finds what it missed, and a copy the log of its own time.
    ...Object.entries({ wal_keep_size: '1GB', ...settings }).map(([name, value]) => `--set=${name}=${value}`),
  ]);
}

interface Desk {
  ask: PostgresServer['ask'];
  until(condition: string): Promise<void>;
  /** In force for connections to come; processes that are there learn of it soon. */
  configure(name: string, value: string): Promise<void>;
}

function createDesk(url: string): Desk {
  const ask = async <T extends object>(text: string): Promise<T[]> => {
    // The platform's own connections are to no standby.
    const client = new Client({ connectionString: url });
    // Without it a server that ends would end this process.
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
      // It is the checkpointer who tells all others of the change: it has, once it has done what it was asked after it.
      await ask('checkpoint');
      if (standby === null) return;
      const isSynchronous = `application_name = '${standby}' and sync_state = 'sync'`;
      await until(`exists (select from pg_stat_replication where ${isSynchronous})`);
    },
    pauseReplay: async () => {
      await ask('select pg_wal_replay_pause()');
      // The state is `pause requested` until the process that replays has seen it.
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
    said: async () => (await running?.said()) ?? '',
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
      // It may end by itself at the same time.
      if (running?.isRunning()) await killServer(cluster).catch(() => {});
      await running?.exited;
      await start();
    },
    stop: async () => running?.stop(),
  };
}
