import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { splitStatements } from '../../src/platform/database/migration-files.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { audit } from '../audit/audit.ts';
import { joinMarket } from '../support/market-world.ts';
import { onServer } from '../support/run-postgres.ts';
import { startMarketOf } from './market-of.ts';
import { killPlace, type Load, type Place, startLoad } from './rolling-load.ts';
import { openUpgradeStage, type UpgradeStage } from './stage.ts';
import { openNextTree, openOldTree, ROLLING_FROM } from './trees.ts';

const ROLE = `openaisle_app_${systemRandom.bytes(6).toString('hex')}`;
const PASSWORD = 'only-for-a-test';
/** Limits under names that both versions know. They are high, because all load comes from one address. */
const LIMITS = JSON.stringify({
  ...{ networks_per_site: 1_000, attempts_per_ip_hour: 1_000_000, attempts_per_merchant_hour: 1_000_000 },
  ...{
    attempts_per_hour: 10_000_000,
    chain_reads_per_ip_minute: 1_000_000,
    chain_reads_per_merchant_minute: 1_000_000,
  },
  ...{ chain_reads_per_wallet_minute: 1_000_000, chain_reads_per_minute: 10_000_000, read_ms_per_ip_minute: 1_000_000 },
});
const SLOW_MS = 240_000;
const run = promisify(execFile);

let stage: UpgradeStage;
let before: Awaited<ReturnType<typeof openOldTree>>;
let next: Awaited<ReturnType<typeof openNextTree>>;
let places: Place[] = [];
let load: Load;

/** Runs that version's role script statement by statement, as psql does. */
async function runRoleScript(tree: string): Promise<void> {
  const script = await readFile(join(tree, 'deploy/app-role.sql'), 'utf8');
  const client = await connectClient({ url: stage.db.url, statementTimeoutMs: 0 });
  for (const statement of splitStatements(script.replaceAll('openaisle_app', ROLE))) await client.query(statement);
  await client.end();
}

/** Starts a process with its own data folder, as on a separate machine, under the role that owns nothing. */
async function startAt(nth: number, tree: string) {
  const databaseUrl = Object.assign(new URL(stage.db.url), { username: ROLE, password: PASSWORD }).href;
  const dataDir = join(stage.environment['OPENAISLE_DATA_DIR'] ?? '', `place-${nth}`);
  const own = { DATABASE_URL: databaseUrl, OPENAISLE_DATA_DIR: dataDir, OPENAISLE_LIMITS: LIMITS };
  return startMarketOf(tree, { ...stage.environment, ...own });
}

beforeAll(async () => {
  [before, next, stage] = await Promise.all([openOldTree(ROLLING_FROM), openNextTree(), openUpgradeStage()]);
  await migrate(stage.db.url, join(before.folder, 'migrations/market'));
  await onServer(stage.db.url, `create role ${ROLE} login password '${PASSWORD}'`);
  await runRoleScript(before.folder);
  const keeper = await joinMarket(stage.db, 'the-keeper');
  const markets = await Promise.all([0, 1].map((nth) => startAt(nth, before.folder)));
  places = markets.map((market) => ({ market, takesPart: true, killed: false, inFlight: 0 }));
  load = await startLoad(stage, places, keeper);
});

afterAll(async () => {
  await load?.end();
  await Promise.all(places.map(({ market }) => market.stop()));
  if (stage !== undefined) await onServer(stage.db.url, `drop owned by ${ROLE}`);
  await stage?.stop();
  if (stage !== undefined) await onServer(inject('testPostgres').adminUrl, `drop role ${ROLE}`);
  await before?.remove();
  await next?.remove();
});

/** Waits until the active processes have done every kind of work again without failures. */
async function expectProgress(): Promise<void> {
  const { counts } = load;
  const { reads, sold } = counts;
  await expect
    .poll(() => counts.failures.length > 0 || (counts.reads > reads + 60 && counts.sold > sold + 6), {
      timeout: 60_000,
    })
    .toBe(true);
  expect(load.counts.failures).toEqual([]);
}

/**
 * Replaces a process as a proxy's operator would: takes it out, stops or kills and restarts it, waits until it is ready, and puts it back.
 */
async function replace(nth: number, tree: string, how: 'stopped' | 'killed'): Promise<void> {
  const place = places[nth];
  if (place === undefined) throw new RangeError(`no place ${nth}`);
  if (how === 'killed') await killPlace(place);
  else {
    place.takesPart = false;
    // Wait until no request is in flight. Otherwise a process that stops may close a connection while the proxy sends a request over it,
    // and the proxy could not repeat the request.
    await expect.poll(() => place.inFlight, { interval: 2 }).toBe(0);
    await place.market.stop();
  }
  const market = await startAt(nth, tree);
  await expect.poll(async () => (await market.ask('GET', '/readyz')).status, { timeout: 20_000 }).toBe(200);
  places[nth] = { market, takesPart: true, killed: false, inFlight: 0 };
}

/** Runs the new version's command under the role in `url`. */
async function migrateCommand(url: string, ...args: string[]) {
  const program = join(next.folder, 'src/market/migrate-command.ts');
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: url };
  const { stdout, stderr, code } = await run(process.execPath, [program, '--json', ...args], { env }).then(
    (outputs) => ({ ...outputs, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  if (stdout === '') throw new Error(`migrate ${args.join(' ')} ended with ${code}: ${stderr}`);
  return { code, said: JSON.parse(stdout) };
}

test('the tables are migrated while two processes of the version before run', { timeout: SLOW_MS }, async () => {
  await expectProgress();
  await expect(startAt(2, next.folder)).rejects.toThrow(`npm run migrate -- --app-role ${ROLE}`);
  const migrated = await migrateCommand(stage.db.url, '--app-role', ROLE);
  expect([migrated.code, migrated.said.applied.at(-1)]).toEqual([0, next.migration]);
  expect((await migrateCommand(stage.db.url)).said.applied).toEqual([]);
  await expectProgress();
  const { noted } = await stage.db.database.one<{ noted: bigint }>(sql`select count(*) as noted from upgrade_notes`);
  expect(noted).toBeGreaterThan(0n);
});

test('one process after the other is replaced by the new version, the second one killed', {
  timeout: SLOW_MS,
}, async () => {
  await replace(0, next.folder, 'stopped');
  await expectProgress();
  await replace(1, next.folder, 'killed');
  await expectProgress();
});

test('and back: processes of the version before start on the migrated tables', { timeout: SLOW_MS }, async () => {
  await replace(0, before.folder, 'killed');
  await expectProgress();
  await replace(1, before.folder, 'stopped');
  await expectProgress();
});

test('and forward again; then what only the version before needed is taken from the role', {
  timeout: SLOW_MS,
}, async () => {
  await replace(0, next.folder, 'stopped');
  await replace(1, next.folder, 'stopped');
  await expectProgress();
  await runRoleScript(next.folder);
  await expectProgress();
});

test('every payer has the goods, nothing was paid twice, and the books hold against the chain', {
  timeout: SLOW_MS,
}, async () => {
  await load.end();
  expect(load.counts.failures).toEqual([]);
  const open = await stage.db.database.rows(sql`select id, status from payments where status <> 'completed'`);
  expect(open).toEqual([]);
  const found = await audit({
    ...{ databaseUrl: stage.db.url, rpcUrl: stage.chain.url, token: USDC_ADDRESS, quiet: false },
  });
  expect(found.faults).toEqual([]);
  // Each of the two kills may cut off at most one request of each person.
  expect(load.counts.cutOff).toBeLessThanOrEqual(8);
});
