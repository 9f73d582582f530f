import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';
import { openDatabase } from './open-database.ts';

const WRITER = fileURLToPath(new URL('../../../test/support/embedded-writer.ts', import.meta.url));

let dataDir: string;
let started: EmbeddedPostgres[];
let children: ChildProcess[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'openaisle-embedded-'));
  started = [];
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const postgres of started) await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedPostgres & { lines: string[] }> {
  const lines: string[] = [];
  const postgres = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
  started.push(postgres);
  return { ...postgres, lines };
}

/** Starts the writer and kills it after that many acknowledged rows. Returns the last acknowledged number. */
async function writeAndKill(rows: number): Promise<bigint> {
  const child = spawn(process.execPath, [WRITER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const ended = once(child, 'exit');
  let last = 0n;
  for await (const line of createInterface({ input: child.stdout })) {
    last = BigInt(line);
    if (last === BigInt(rows)) child.kill('SIGKILL');
  }
  expect(await ended).toEqual([null, 'SIGKILL']);
  return last;
}

const postmasterPid = async () =>
  Number((await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0]);

test('a started server is durable, speaks UTF-8 and UTC, and is reachable by its private socket alone', async () => {
  const postgres = await start();
  const database = await openDatabase({ url: postgres.url });
  expect(
    await database.one(sql`select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      current_setting('full_page_writes') as pages, current_setting('data_checksums') as checksums,
      current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
      current_database() as name, upper('ä') as upper, inet_server_addr() as address`),
  ).toEqual({
    fsync: 'on',
    commit: 'on',
    pages: 'on',
    checksums: 'on',
    addresses: '',
    encoding: 'UTF8',
    name: 'openaisle',
    upper: 'Ä',
    address: null,
  });
  await database.close();
  const socketFolder = new URL(postgres.url).searchParams.get('host') ?? '';
  expect((await stat(socketFolder)).mode & 0o777).toBe(0o700);
  expect(await findEmbeddedPostgres(dataDir)).toBe(postgres.url);

  await postgres.stop();
  await postgres.exited;
  expect(await findEmbeddedPostgres(dataDir)).toBeNull();
  await expect(access(socketFolder)).rejects.toThrow('ENOENT');
});

test('the server runs without root rights, in a process group of its own', async () => {
  await start();
  const pid = await postmasterPid();
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  expect(status).not.toMatch(/^Uid:\t0\t/m);
  expect(status).toMatch(new RegExp(`^NSpgid:.*\\b${pid}$`, 'm'));
  if (process.getuid?.() === 0) expect(status).toMatch(/^Groups:\s*$/m);
});

test('rows survive a clean stop, and the data folder closed in between', async () => {
  const first = await start();
  const before = await openDatabase({ url: first.url });
  await before.run(sql`create table kept as select 7 as n`);
  await before.close();
  await first.stop();
  await chmod(dataDir, 0o700);
  const second = await start();
  const after = await openDatabase({ url: second.url });
  expect(await after.rows(sql`select n from kept`)).toEqual([{ n: 7 }]);
  await after.close();
});

test('after kill -9 of the owner every acknowledged row is there, and the server left behind is taken over', async () => {
  const acknowledged = await writeAndKill(200);
  const orphan = await postmasterPid();
  const orphanSockets = (await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[4];
  expect(() => process.kill(orphan, 0)).not.toThrow();
  const postgres = await start();
  expect(postgres.lines.join('\n')).toContain(`process ${orphan}) that an earlier run left behind`);
  const database = await openDatabase({ url: postgres.url });
  const { n, last } = await database.one<{ n: bigint; last: bigint }>(
    sql`select count(*) as n, max(n) as last from written`,
  );
  // At most one row was not acknowledged when the owner died.
  expect(n).toBe(last);
  expect([acknowledged, acknowledged + 1n]).toContain(last);
  await database.close();
  await expect(access(orphanSockets ?? '')).rejects.toThrow('ENOENT');
});

test('after kill -9 of owner and server every acknowledged row is there', async () => {
  const acknowledged = await writeAndKill(200);
  process.kill(await postmasterPid(), 'SIGKILL');
  const database = await openDatabase({ url: (await start()).url });
  const { n } = await database.one<{ n: bigint }>(sql`select count(*) as n from written`);
  expect([acknowledged, acknowledged + 1n]).toContain(n);
  await database.close();
});

test('a process id that another program got since the crash does not prevent a start', async () => {
  const first = await start();
  await first.stop();
  const stale = [process.pid, join(dataDir, 'postgres', 'cluster'), 0, 5432, '/nowhere', '', '', 'ready'].join('\n');
  await writeFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), stale);
  await start();
  expect(await postmasterPid()).not.toBe(process.pid);
});

test('a second opener of the folder is refused, with the folder and the process, also through another path', async () => {
  await start();
  const refusal = `${dataDir} is in use by process ${process.pid}`;
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(refusal);
  await expect(startEmbeddedPostgres({ dataDir: join(dataDir, '.') })).rejects.toThrow(refusal);
});

test('of many starters at once exactly one gets the folder', async () => {
  const starts = await Promise.allSettled(Array.from({ length: 5 }, () => start()));
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a first start that was cut off is repeated from the beginning', async () => {
  const partial = join(dataDir, 'postgres', 'cluster-partial-cutoff');
  await mkdir(partial, { recursive: true });
  await chmod(join(dataDir, 'postgres'), 0o711);
  await start();
  expect(await readdir(join(dataDir, 'postgres'))).not.toContain('cluster-partial-cutoff');
});

test('data of another major version is refused, not replaced', async () => {
  await (await start()).stop();
  await writeFile(join(dataDir, 'postgres', 'cluster', 'PG_VERSION'), '13\n');
  await expect(start()).rejects.toThrow('format of PostgreSQL 13');
});
