import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '../../src/platform/clock.ts';
import { isUnavailable } from '../../src/platform/database/database-error.ts';
import { type Launch, launchOptions } from '../../src/platform/database/embedded/binaries.ts';

export interface PostgresRun {
  launch: Launch;
  cluster: string;
  /** Folder of its socket. */
  sockets: string;
  /** Of a database that is there from the beginning. */
  url: string;
}

export interface RunningPostgres {
  exited: Promise<void>;
  isRunning(): boolean;
  /** What it has said since this start. */
  said(): Promise<string>;
  /** Fast and clean: open transactions are rolled back. */
  stop(): Promise<void>;
}

/** Said when processes of a killed server still end. They notice soon. */
const STILL_IN_USE = 'pre-existing shared memory block';

/** Starts a server with the settings of its folder and waits until it takes connections: as a standby, reading ones. */
export async function runPostgres(run: PostgresRun): Promise<RunningPostgres> {
  const logFile = join(run.sockets, '..', `${run.cluster.replace(/.*\//, '')}.log`);
  for (;;) {
    await rm(logFile, { force: true });
    const log = openSync(logFile, 'a', 0o600);
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${run.sockets}`,
      'unix_socket_permissions=0700',
      'port=5432',
    ];
    const child = spawn(
      `${run.launch.binaries}/bin/postgres`,
      ['-D', run.cluster, ...settings.flatMap((setting) => ['-c', setting])],
      { ...launchOptions(run.launch), stdio: ['ignore', log, log] },
    );
    closeSync(log);
    const exited = once(child, 'exit').then(() => {});
    let hasEnded = false;
    void exited.then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !(await answers(run.url))) await systemClock.sleep(10);
    if (!hasEnded)
      return {
        exited,
        isRunning: () => !hasEnded,
        said: () => readFile(logFile, 'utf8'),
        stop: async () => {
          child.kill('SIGINT');
          await exited;
        },
      };
    const said = await readFile(logFile, 'utf8');
    if (!said.includes(STILL_IN_USE)) throw new Error(`PostgreSQL did not start; it says: ${said}`);
    await systemClock.sleep(100);
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  // Without it a server that ends would end this process.
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  } finally {
    await client.end();
  }
}
