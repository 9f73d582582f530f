import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Endpoints } from '../../src/contract/index.ts';
import { IDENTITY_ENDPOINTS } from '../../src/contract/vocabulary.ts';
import type { Market, MarketCall } from '../../src/market/context.ts';
import { recovery } from '../../src/market/identity/recovery.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { testDatabase } from '../support/database.ts';
import { codeOf, type Doors, type IdentityClient, identityClient, startDoors } from '../support/identity-doors.ts';
import { marketContext } from '../support/market-context.ts';
import type { Answer } from '../support/market-world.ts';
import { onServer } from '../support/run-postgres.ts';

/**
 * Checks that response times reveal nothing that the responses hide. Requests of all kinds alternate in random order over one connection,
 * so that noise of the machine affects all alike. The slowest fifth of each kind is dropped (garbage collection, scheduling). Then Welch's
 * t is computed for each pair, and |t| above 4.5 means a real difference. With this many samples, the smallest difference that is found is
 * about a seventh of the spread of a single response time. A run on a disturbed machine is repeated once.
 */
const TURNS = 2_000;
const WARM_UP = 200;
const BOUND = 4.5;
const TRIMMED = 0.2;
const RUNS = 2;

const db = testDatabase();
let database: Database;
let doors: Doors;
let client: IdentityClient;

beforeAll(async () => {
  // Every call is counted durably, and waits for a busy disk would hide the differences measured here.
  const { name } = await db.database.one<{ name: string }>(sql`select current_database() as name`);
  await onServer(db.url, `alter database ${name} set synchronous_commit = off`);
  database = await openDatabase({ url: db.url, poolSize: 4, allowUnsafe: true });
  doors = await startDoors({ database, databaseUrl: db.url, clock: systemClock });
  client = identityClient(doors.ask);
});
afterAll(async () => {
  await doors.stop();
  await database.close();
});

type Kinds = Readonly<Record<string, () => Promise<unknown>>>;

interface Sample {
  mean: number;
  variance: number;
  count: number;
}

function summarize(times: readonly number[]): Sample {
  const kept = times.toSorted((a, b) => a - b).slice(0, Math.round(times.length * (1 - TRIMMED)));
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length;
  const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1);
  return { mean, variance, count: kept.length };
}

function welch(a: Sample, b: Sample): number {
  return (a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count);
}

function shuffled<T>(items: readonly T[]): T[] {
  const drawn = items.map((item) => ({ item, at: systemRandom.bytes(4).readUInt32BE() }));
  return drawn.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

async function measure(kinds: Kinds): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  for (let turn = 0; turn < TURNS + WARM_UP; turn += 1) {
    for (const [name, ask] of shuffled(Object.entries(kinds))) {
      const begunAt = performance.now();
      await ask();
      if (turn >= WARM_UP) times[name]?.push(performance.now() - begunAt);
    }
  }
  return times;
}

/** Returns the largest |t| of any pair of kinds and prints all of them. */
async function largestDifference(what: string, kinds: Kinds): Promise<number> {
  const samples = Object.entries(await measure(kinds)).map(([name, times]) => ({ name, ...summarize(times) }));
  const pairs = samples.flatMap((a, index) => samples.slice(index + 1).map((b) => ({ a, b, t: welch(a, b) })));
  for (const { a, b, t } of pairs) {
    const means = `${(a.mean * 1_000).toFixed(0)} and ${(b.mean * 1_000).toFixed(0)} µs`;
    console.error(`${what}: ${a.name} and ${b.name}: ${means}, t = ${t.toFixed(2)}`);
  }
  return Math.max(...pairs.map(({ t }) => Math.abs(t)));
}

function expectSameBytes(answers: readonly Answer[]): void {
  const said = answers.map(bytesOf);
  expect(new Set(said).size, said.join('\n')).toBe(1);
}

async function expectAlike(what: string, kinds: Kinds): Promise<void> {
  const found: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    found.push(await largestDifference(what, kinds));
    if (Math.min(...found) < BOUND) break;
  }
  expect(Math.min(...found)).toBeLessThan(BOUND);
}

/**
 * Calls the operation directly, because over HTTP every write waits for the catalog's next refresh, which hides all but large differences.
 */
function beginRecovery(recovery_code: string): () => Promise<unknown> {
  const context = marketContext({ database, limits: { recovery_starts_per_ip_hour: 1_000_000 } });
  const market: Market = {
    ...context,
    config: { ...context.config, openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS) },
  };
  const body = { action: 'begin', recovery_code };
  const call = { body, bearer: null, clientNetwork: '192.0.2.7' } as MarketCall<Endpoints['recovery']>;
  return () => expect(recovery(market, call)).rejects.toMatchObject({ reason: 'recovery_code_refused' });
}

/** Returns the response without its request id and date. */
function bytesOf({ status, headers, body }: Answer): string {
  const own = new Set(['date', 'x-request-id']);
  return JSON.stringify([status, [...headers].filter(([name]) => !own.has(name)), { ...body, request_id: '' }]);
}

test('a code that was never made, one that is none, and a burned one of a merchant take the same time', {
  timeout: 600_000,
}, async () => {
  const owner = await client.join('timed-codes');
  await client.mustConfirm('recovery', await client.recovery(codeOf(owner, 0)));
  const [unknown, burned] = [makeRecoveryCode(systemRandom, 'aisle'), codeOf(owner, 1)];
  const codes = { unknown, malformed: `${unknown.slice(0, -1)}!`, burned };
  const post = (recovery_code: string) => client.post('recovery', { action: 'begin', recovery_code });
  expectSameBytes(await Promise.all(Object.values(codes).map(post)));
  await expectAlike(
    'codes',
    Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, beginRecovery(code)])),
  );
});

test('a key that was never made, a revoked one and a staged one take the same time', { timeout: 600_000 }, async () => {
  const owner = await client.join('timed-keys');
  const rotation = await client.rotation(owner.key);
  await client.mustConfirm('rotate', rotation);
  const { merchant_key: staged } = await client.rotation(rotation.merchant_key);
  const me = (key: string) => () => client.me(key);
  const kinds = { unknown: me(makeMerchantKey(systemRandom, 'aisle')), revoked: me(owner.key), staged: me(staged) };
  expectSameBytes(await Promise.all(Object.values(kinds).map((ask) => ask())));
  await expectAlike('keys', kinds);
});

test('the measure does see a difference where there is one', { timeout: 600_000 }, async () => {
  const ask = beginRecovery('x');
  const askWithQuery = async () => [await ask(), await database.one(sql`select count(*) from merchants`)];
  const found = await largestDifference('seen', { 'as it is': ask, 'one query more': askWithQuery });
  expect(found).toBeGreaterThan(BOUND);
});
