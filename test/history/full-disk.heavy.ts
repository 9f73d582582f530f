import { execFile } from 'node:child_process';
import { chmod, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { endLoad, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import type { Answer } from '../support/market-world.ts';
import {
  openPostgresGround,
  type PostgresGround,
  type PostgresServer,
  type PrimaryOptions,
} from '../support/standby-postgres.ts';

interface SmallDisk {
  folder: string;
  /** Fills all free space, down to the last block. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  /** Unmounts the disk. Call this once no process has a file open there. */
  remove(): Promise<void>;
}

const CHUNKS = [1_048_576, 65_536, 4_096];

/** Mounts a disk in memory. */
async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-disk-'));
  await promisify(execFile)('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${megabytes}m,mode=0711`,
    'openaisle-test',
    folder,
  ]).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true });
    throw new Error(
      'this test fills a small disk, and may not mount one (mount -t tmpfs): run it as root, in a container with the capability SYS_ADMIN',
      { cause },
    );
  });
  await chmod(folder, 0o711);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, 'a');
      for (const bytes of CHUNKS) while (await takes(file.appendFile(Buffer.alloc(bytes))));
      await file.close();
    },
    empty: () => rm(ballast, { force: true }),
    remove: async () => {
      await promisify(execFile)('umount', [folder]);
      await rm(folder, { recursive: true });
    },
  };
}

async function takes(write: Promise<void>): Promise<boolean> {
  return write.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
      throw error;
    },
  );
}

const OPENING_MS = 600_000;
const BACK_MS = 120_000;
const patiently = { timeout: BACK_MS, interval: 50 };
const ROUNDS = 2;
/** Number of refusals to wait for in each round. `ACKNOWLEDGED` is the number to wait for once there is space again. */
const REFUSED = 30;
const ACKNOWLEDGED = 20;

interface Stage {
  disk: SmallDisk;
  postgres: PostgresServer;
  scene: KillWorld;
  close(): Promise<void>;
}

/** Starts a market under load whose database is on a small disk. */
async function openStage(
  megabytes: number,
  options: (disk: SmallDisk, ground: PostgresGround) => PrimaryOptions,
): Promise<Stage> {
  await using begun = new AsyncDisposableStack();
  const disk = begun.adopt(await mountSmallDisk(megabytes), (one) => one.remove());
  const ground: PostgresGround = begun.adopt(await openPostgresGround(), (one) => one.drop());
  const postgres = await ground.startPrimary(options(disk, ground));
  await migrate(postgres.url, MIGRATIONS);
  const database = begun.adopt(await openDatabase({ url: postgres.url }), (one) => one.close());
  const drop = async (): Promise<void> => {};
  const scene = await openKillWorld({ openDatabase: async () => ({ url: postgres.url, database, drop }) });
  begun.defer(() => scene.stop());
  const all = begun.move();
  return { disk, postgres, scene, close: () => all.disposeAsync() };
}

const readyz = ({ scene }: Stage): Promise<Answer> => scene.market.ask('GET', '/readyz');
const isReady = async (stage: Stage): Promise<unknown> => (await readyz(stage)).body['status'];
const isRefused = ({ status }: Answer): boolean => status === 503;

/** Checks that every refusal has a Retry-After and none is an internal error. */
function checkAnswers({ scene: { answers } }: Stage): void {
  expect(answers.filter(({ status }) => status >= 500 && status !== 503)).toEqual([]);
  for (const { status, headers, body } of answers) {
    if (status !== 503) continue;
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(['unavailable', 'read_unavailable', 'payment_pending', 'settlement_unknown']).toContain(body['reason']);
  }
}

function tell({ scene }: Stage, errands: number): void {
  const statuses = Object.entries(Object.groupBy(scene.answers, ({ status }) => status));
  const counts = statuses.map(([status, all = []]) => `${all.length} times ${status}`).join(', ');
  process.stdout.write(`full disk: ${errands} errands, ${scene.acks.size()} acknowledged; ${counts}\n`);
}

describe('the disk of the tables fills and empties under load', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(160, (disk, ground) => ({
      cluster: `${disk.folder}/cluster`,
      // A full disk stops the server when the log needs another file or a checkpoint is due, which the other test covers.
      wal: `${ground.folder}/wal`,
      settings: { checkpoint_timeout: '1h', max_wal_size: '2GB' },
    }));
  }, OPENING_MS);
  afterAll(() => stage?.close());

  test(
    'writes are refused with a 503, nothing that was acknowledged is lost, and it is ready again by itself',
    async () => {
      expect(await isReady(stage)).toBe('ready');
      const load = await startLoad(stage.scene, 7);
      for (let round = 0; round < ROUNDS; round += 1) {
        await stage.disk.fill();
        await expect
          .poll(() => readyz(stage), patiently)
          .toMatchObject({
            status: 503,
            body: { status: 'not_ready', database: 'reachable', writes: 'refused', why: 'disk_full' },
          });
        await load.answered(REFUSED, BACK_MS, isRefused);
        await stage.disk.empty();
        await expect.poll(() => isReady(stage), patiently).toBe('ready');
        await load.acknowledged(ACKNOWLEDGED, BACK_MS);
      }
      const { faults, errands } = await endLoad(stage.scene, load);
      expect(faults).toEqual([]);
      expect(errands).toBeGreaterThan(0);
      checkAnswers(stage);
      tell(stage, errands);
    },
    OPENING_MS,
  );
});

describe('the disk of the write-ahead log fills and empties under load', () => {
  let stage: Stage;
  beforeAll(async () => {
    const settings = { wal_keep_size: '0', min_wal_size: '32MB', max_wal_size: '64MB' };
    stage = await openStage(160, (disk) => ({ wal: `${disk.folder}/wal`, settings }));
  }, OPENING_MS);
  afterAll(() => stage?.close());

  test(
    'the server ends in a panic, nothing that was acknowledged is lost, and it is ready again once the server is',
    async () => {
      expect(await isReady(stage)).toBe('ready');
      const load = await startLoad(stage.scene, 11);
      await stage.disk.fill();
      // Writes continue until the current log file is full. The next file cannot be created.
      await expect
        .poll(async () => {
          await stage.postgres.ask('select pg_switch_wal()').catch(() => {});
          return (await readyz(stage)).status;
        }, patiently)
        .toBe(503);
      await load.answered(REFUSED, BACK_MS, isRefused);
      expect(await stage.postgres.readLog()).toMatch(/PANIC: .*No space left on device/);
      await stage.disk.empty();
      // The server may restart on its own, exit, or hang during startup.
      await stage.postgres.restart();
      await expect.poll(() => isReady(stage), patiently).toBe('ready');
      await load.acknowledged(ACKNOWLEDGED, BACK_MS);
      const { faults, errands } = await endLoad(stage.scene, load);
      expect(faults).toEqual([]);
      expect(errands).toBeGreaterThan(0);
      checkAnswers(stage);
      tell(stage, errands);
    },
    OPENING_MS,
  );
});
