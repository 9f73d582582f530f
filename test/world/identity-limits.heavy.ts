import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Limits } from '../../src/contract/vocabulary.ts';
import { readMarketConfig } from '../../src/market/config.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { testDatabase } from '../support/database.ts';
import {
  codeOf,
  type Doors,
  type IdentityClient,
  identityClient,
  type Owner,
  startDoors,
} from '../support/identity-doors.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import type { Answer } from '../support/market-world.ts';

// Tests the limits of the identity endpoints, alternating between two markets that share a database but not a pool.

const HOUR = 3_600_000;
const FIRST = Date.parse('2030-01-01T00:00:00.000Z');
const db = testDatabase();
let clock: SettableClock;
let hour = 0;
let owner: Owner;
const opened: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  clock = settableClock(FIRST);
  const { client } = await open({});
  owner = await client.join('limited');
});
afterAll(async () => {
  for (const one of opened.reverse()) await one.stop();
});

async function open(limits: Partial<Limits>, config: object = {}): Promise<{ doors: Doors; client: IdentityClient }> {
  const database = await openDatabase({ url: db.url, poolSize: 2, allowUnsafe: true });
  const doors = await startDoors({ database, databaseUrl: db.url, clock, limits, config });
  opened.push({
    stop: async () => {
      await doors.stop();
      await database.close();
    },
  });
  return { doors, client: identityClient(doors.ask) };
}

/** Moves to ten minutes into a new day, when all counters are empty. */
function nextDay(): void {
  hour += 24;
  clock.set(FIRST + hour * HOUR + 600_000);
}

const LIMIT = 3;
const network = '198.51.100.7';
const confirmNothing = { action: 'confirm', session: 'unknown', csrf: 'unknown' };

interface Case {
  name: keyof Limits;
  /** Sends a request that counts, whether or not it is refused. */
  ask(client: IdentityClient, from: { network: string }): Promise<Answer>;
  /** Seconds left in the window, ten minutes after its start. */
  seconds: number;
}

const cases: Case[] = [
  {
    name: 'registration_per_ip_hour',
    ask: (client, from) => client.post('register', { action: 'stage', handle: 'admin', ...STAGE }, from),
    seconds: 3_000,
  },
  { name: 'confirm_per_ip_hour', ask: (client, from) => client.post('rotate', confirmNothing, from), seconds: 3_000 },
  {
    name: 'rotation_starts_per_ip_hour',
    ask: (client, from) => client.post('rotate', { action: 'begin' }, { ...from }),
    seconds: 3_000,
  },
  {
    name: 'recovery_starts_per_ip_hour',
    ask: (client, from) => client.post('recovery', { action: 'begin', recovery_code: 'wrong' }, from),
    seconds: 3_000,
  },
  {
    name: 'pair_per_merchant_hour',
    ask: (client, from) => client.post('pair', {}, { ...from, key: owner.key }),
    seconds: 3_000,
  },
];
const STAGE = { model: 'm', client_class: 'coding_ephemeral', human_approved: true } as const;

test.each(cases)('$name holds over two markets, and both say the same wait', async ({ name, ask, seconds }) => {
  nextDay();
  const markets = [await open({ [name]: LIMIT }), await open({ [name]: LIMIT })];
  const nth = (index: number) => markets[index % 2]?.client ?? markets[0]?.client;
  for (let index = 0; index < LIMIT; index += 1) {
    const client = nth(index);
    if (client !== undefined) expect((await ask(client, { network })).status).not.toBe(429);
  }
  for (const { client } of markets) {
    const answer = await ask(client, { network });
    expect(answer).toMatchObject({ status: 429, body: { reason: 'rate_limited', retry_after_seconds: seconds } });
    expect(answer.headers.get('retry-after')).toBe(String(seconds));
    expect(answer.body['detail']).toContain(`${name}: the limit of ${LIMIT} in`);
    if (!name.includes('merchant')) expect((await ask(client, { network: '198.51.100.8' })).status).not.toBe(429);
  }
  clock.set(clock.now() + seconds * 1_000);
  for (const { client } of markets) expect((await ask(client, { network })).status).not.toBe(429);
});

test('tries to confirm are counted over all doors together', async () => {
  nextDay();
  const { client } = await open({ confirm_per_ip_hour: 3 });
  for (const door of ['register', 'rotate', 'recovery'])
    expect(await client.post(door, confirmNothing, { network })).toMatchObject({ status: 404 });
  for (const door of ['register', 'rotate', 'recovery'])
    expect(await client.post(door, confirmNothing, { network })).toMatchObject({ status: 429 });
});

test('a merchant’s rotations of a day are limited, and recovery is not blocked by that nor by the starts of rotations', async () => {
  nextDay();
  const { client } = await open({ rotation_per_merchant_day: 2, rotation_starts_per_ip_hour: 3 });
  for (let time = 0; time < 2; time += 1) {
    const rotation = await client.rotation(owner.key, { network });
    await client.mustConfirm('rotate', rotation);
    owner.key = rotation.merchant_key;
  }
  const third = await client.rotation(owner.key, { network });
  const refused = await client.confirm('rotate', third);
  expect(refused).toMatchObject({ status: 429, body: { retry_after_seconds: 85_800 } });
  expect(refused.headers.get('retry-after')).toBe('85800');
  expect(await client.post('rotate', { action: 'begin' }, { key: owner.key, network })).toMatchObject({ status: 429 });
  expect(await client.isAlive(owner.key)).toBe(true);
  const begun = await client.recovery(codeOf(owner, 0), { network });
  await client.mustConfirm('recovery', begun);
  [owner.key, owner.codes] = [begun.merchant_key, begun.recovery_codes];
});

test('cancel needs no quota: what was begun can always be given up', async () => {
  nextDay();
  const { client } = await open({ confirm_per_ip_hour: 0 });
  const rotation = await client.rotation(owner.key);
  expect((await client.cancel('rotate', rotation)).body).toEqual({ status: 'canceled' });
});

test('closed doors answer 503 at every step, count nothing, and official facts show them as null', async () => {
  nextDay();
  const all = await open({});
  const open_ = { rotate: await all.client.rotation(owner.key), recovery: await all.client.recovery(codeOf(owner, 0)) };
  const counters = sql`select * from rate_counters order by name, subject, window_start`;
  const before = await db.database.rows(counters);
  const { client, doors } = await open({}, { openIdentityEndpoints: new Set(['register']) });
  const tries = [
    client.post('rotate', { action: 'begin' }, { key: owner.key }),
    client.confirm('rotate', open_.rotate),
    client.cancel('rotate', open_.rotate),
    client.post('recovery', { action: 'begin', recovery_code: codeOf(owner, 0) }),
    client.confirm('recovery', open_.recovery),
    client.cancel('recovery', open_.recovery),
    client.post('recovery', { action: 'generate' }, { key: owner.key }),
    client.post('pair', {}, { key: owner.key }),
  ];
  for (const answer of await Promise.all(tries)) {
    expect(answer).toMatchObject({
      status: 503,
      body: { reason: 'door_closed', next_step: expect.stringMatching(/\S/) },
    });
  }
  expect(await db.database.rows(counters)).toEqual(before);
  const { identity } = (await doors.ask('GET', '/api/official')).body;
  expect(identity).toMatchObject({
    ...{ recovery: null, rotate: null, recovery_enabled: false, rotation_enabled: false },
    coding_client_doors: {
      register: { actions: ['stage', 'confirm', 'cancel'] },
      rotate: null,
      recovery: null,
      pair: null,
    },
  });
  const shut = await open({}, { openIdentityEndpoints: new Set() });
  expect((await shut.doors.ask('GET', '/api/official')).body).toMatchObject({
    identity: { join: null, recovery: null, rotate: null, coding_client_doors: null },
  });
});

test('a network may have limits of its own; it is counted by client all the same, and official facts show the limits of all', async () => {
  nextDay();
  const { clientNetworkLimits } = readMarketConfig({
    OPENAISLE_RPC_URLS: 'http://127.0.0.1:1',
    OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:1',
    OPENAISLE_TREASURY: '0x00000000000000000000000000000000000000aa',
    OPENAISLE_LIMITS: JSON.stringify({
      networks: {
        '203.0.113.0/24': { confirm_per_ip_hour: 2 },
        '203.0.113.64/26': { confirm_per_ip_hour: 4, recovery_starts_per_ip_hour: 1 },
        '2001:db8::/32': { confirm_per_ip_hour: 3 },
      },
    }),
  });
  const { client, doors } = await open({ confirm_per_ip_hour: 1 }, { clientNetworkLimits });
  const allowed = async (from: string, more: (time: number) => string = () => from): Promise<number> => {
    for (let time = 0; ; time += 1) {
      const answer = await client.post('rotate', confirmNothing, { network: more(time) });
      if (answer.status === 429) return time;
    }
  };
  expect(await allowed('192.0.2.1')).toBe(1);
  expect(await allowed('203.0.113.1')).toBe(2);
  expect(await allowed('203.0.113.2')).toBe(2);
  expect(await allowed('203.0.113.70')).toBe(4);
  // All addresses of a /64 count as one client.
  expect(await allowed('2001:db8:1::', (time) => `2001:db8:1::${time + 1}`)).toBe(3);
  expect(await allowed('2001:db8:2::1')).toBe(3);
  expect(await allowed('2001:db9::1')).toBe(1);
  const { limits } = (await doors.ask('GET', '/api/official')).body;
  expect(limits).toMatchObject({ confirm_per_ip_hour: 1 });
  expect(JSON.stringify(limits)).not.toContain('203.0.113');
});
