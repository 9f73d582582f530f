import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import { createKillSwitch, type KillPostgres, startKillPostgres } from '../support/kill-postgres.ts';
import { endLoad, type Load, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import type { Answer } from '../support/market-world.ts';
import { openSocket } from '../support/sample-server.ts';
import { openPostgresGround, type PostgresServer } from '../support/standby-postgres.ts';

const KILLS = Number(process.env['OPENAISLE_KILLS'] ?? rotatedRounds(import.meta.filename, 3));
/** Seed of the primary's death and the clients' actions. The test prints it; set it in the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
/** Generous, for a busy machine. */
const OPENING_MS = 300_000;
const [SHORTEST_MS, LONGEST_MS] = [50, 600];
const patiently = { timeout: 60_000, interval: 10 };
/** Smallest number of acknowledgements per round that counts as load. */
const ACKS_A_ROUND = 5;

interface Stage {
  scene: KillWorld;
  /** The server that takes writes. `standby` must have everything. */
  primary: PostgresServer;
  standby: PostgresServer;
  wire: KillPostgres;
  copy: string;
}

let stage: Stage;
const begun = new AsyncDisposableStack();
beforeAll(async () => {
  const copy = begun.adopt(await mkdtemp(join(tmpdir(), 'openaisle-copied-')), (path) => rm(path, { recursive: true }));
  const ground = begun.adopt(await openPostgresGround(), (one) => one.drop());
  // A standby starts from a copy and needs the whole log since then.
  const primary = await ground.startPrimary({ settings: { wal_keep_size: '128MB', max_wal_size: '256MB' } });
  await migrate(primary.url, MIGRATIONS);
  const wire = begun.adopt(await startKillPostgres(primary.url, createKillSwitch()), (one) => one.close());
  const database = begun.adopt(await openDatabase({ url: wire.url }), (one) => one.close());
  const drop = async (): Promise<void> => {};
  const scene = await openKillWorld({
    openDatabase: async () => ({ url: wire.url, database, drop }),
    environment: { OPENAISLE_LOG_COPY_DIR: copy, OPENAISLE_WORKERS: '2' },
  });
  begun.defer(() => scene.stop());
  const standby = await startSynchronous(primary);
  stage = { scene, primary, standby, wire, copy };
}, OPENING_MS);
afterAll(() => begun.disposeAsync(), OPENING_MS);

/** Adds a standby while the primary works. On return, the standby has every acknowledged commit. */
async function startSynchronous(primary: PostgresServer): Promise<PostgresServer> {
  const standby = await primary.copyWhileRunning();
  await standby.startAsStandbyOf(primary, 'second');
  await primary.makeSynchronous('second');
  return standby;
}

/** Kills the primary as a machine failure would, and promotes the standby. */
async function failOver(): Promise<void> {
  const { primary, standby, wire } = stage;
  await primary.kill();
  await standby.promote();
  wire.leadTo(standby.url);
  wire.cut();
  await rm(primary.cluster, { recursive: true });
  stage.primary = standby;
}

const readyz = (): Promise<Answer> => stage.scene.market.ask('GET', '/readyz');

/** Checks that the copy's last event at the primary's death is in the log of the new primary. */
async function expectCopied(): Promise<bigint> {
  const end = await readLogEnd(stage.copy);
  if (end === null) throw new Error('the market keeps no copy of the log');
  const { database } = stage.scene.world.db;
  const hash = sql`select running_hash from events where id = ${end.id}`;
  await expect.poll(() => database.rows(hash), patiently).toEqual([{ running_hash: end.hash }]);
  return end.id;
}

/** Listens to events across all failovers. The returned function returns the ids received. */
async function listen(last: number): Promise<() => number[]> {
  const { url } = await stage.scene.market.current();
  const request = `GET /api/events/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: ${last}\r\n\r\n`;
  const { heard } = await openSocket(Number(new URL(url).port), request);
  return () => [...heard().matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

const lossesNoticed = async (): Promise<number> =>
  (await stage.scene.market.current()).output.filter((line) => line.includes('"event":"history_lost"')).length;

async function killUnderLoad(load: Load): Promise<{ faults: string[]; errands: number }> {
  const dice = createDice(SEED);
  const copied: bigint[] = [];
  for (let killed = 1; killed <= KILLS; killed += 1) {
    await load.acknowledged(ACKS_A_ROUND, patiently.timeout);
    await systemClock.sleep(SHORTEST_MS + dice.number(LONGEST_MS - SHORTEST_MS + 1));
    await failOver();
    copied.push(await expectCopied());
    stage.standby = await startSynchronous(stage.primary);
  }
  await load.acknowledged(ACKS_A_ROUND, patiently.timeout);
  // Each round must have added something that could be lost.
  expect(copied).toEqual([...new Set(copied)].sort((a, b) => Number(a - b)));
  return await endLoad(stage.scene, load);
}

it(`${KILLS} times kill -9 of a primary with a synchronous standby under load: nothing acknowledged is lost, and no loss is noticed (OPENAISLE_KILLS_SEED=${SEED})`, async () => {
  const { scene } = stage;
  const { database } = scene.world.db;
  const heard = await listen(0);
  const { faults, errands } = await killUnderLoad(await startLoad(scene, SEED + 1));
  const underFire = scene.acks.size();
  const told = JSON.stringify(scene.acks.counts());
  process.stdout.write(
    `kills of a primary: seed ${SEED}, ${KILLS} kills, ${underFire} acknowledged, ${errands} errands, ${told}\n`,
  );
  expect(faults).toEqual([]);
  expect(scene.market.deaths()).toBe(0);
  expect(await database.rows(sql`select from history_losses`)).toEqual([]);
  expect(await lossesNoticed()).toBe(0);
  expect(scene.answers.filter(({ body }) => body['reason'] === 'history_lost')).toEqual([]);
  expect(scene.answers.filter(({ status }) => status >= 500 && status !== 503)).toEqual([]);
  await expect.poll(readyz, patiently).toMatchObject({ status: 200, body: { status: 'ready', history: 'whole' } });
  expect((await readyz()).body).toMatchObject({ log_copy: 'kept' });
  const ids = await database.rows<{ id: bigint }>(sql`select id from events order by id`);
  const all = ids.map((_, at) => at + 1);
  expect(ids.map(({ id }) => Number(id))).toEqual(all);
  await expect.poll(heard, patiently).toEqual(all);
}, 1_800_000);

it(
  'the same with a standby that receives nothing any more is noticed',
  async () => {
    const { scene } = stage;
    await stage.primary.makeSynchronous(null);
    await stage.standby.pauseStreaming();
    await scene.goods();
    await scene.waitForNumbers();
    const { id } = await scene.world.db.database.one<{ id: bigint }>(sql`select max(id) as id from events`);
    await expect.poll(async () => (await readLogEnd(stage.copy))?.id, patiently).toBe(id);
    await failOver();
    await expect.poll(async () => (await readyz()).body['history'], patiently).toBe('lost');
    expect(await lossesNoticed()).toBe(1);
  },
  OPENING_MS,
);
