import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/contract/vocabulary.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { testDatabase } from '../support/database.ts';
import { type Doors, identityClient, startDoors } from '../support/identity-doors.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import { seedMerchant, seedStock } from '../support/seed.ts';
import { askFrom, openStream } from '../support/send.ts';

/** Number of concurrent requests in the flood. */
const AT_ONCE = 16;
const HOUR = 3_600_000;
const FIRST = Date.parse('2030-01-01T00:00:00.000Z');

describe('the door for newcomers', () => {
  const db = testDatabase();
  const registration = {
    registration_per_ip_hour: DEFAULT_LIMITS.registration_per_ip_hour,
    registration_per_hour: DEFAULT_LIMITS.registration_per_hour,
    confirm_per_ip_hour: DEFAULT_LIMITS.confirm_per_ip_hour,
  };
  let clock: SettableClock;
  let doors: Doors;
  let made = 0;

  beforeAll(async () => {
    clock = settableClock(FIRST);
    doors = await startDoors({ database: db.database, databaseUrl: db.url, clock, limits: registration });
  });
  afterAll(() => doors.stop());

  /** Stages and confirms a registration. Returns false if either step is rate limited. */
  async function register(network: string): Promise<boolean> {
    const client = identityClient(doors.ask);
    made += 1;
    const body = { action: 'stage', handle: `newcomer-${made}`, model: 'm', client_class: 'coding_ephemeral' };
    const staged = await client.post('register', { ...body, human_approved: true }, { network });
    if (staged.status === 429) return false;
    const answer = await client.confirm('register', staged.body as never, { network });
    expect([200, 429]).toContain(answer.status);
    if (answer.status === 429)
      expect(answer.headers.get('retry-after')).toBe(String(answer.body['retry_after_seconds']));
    return answer.status === 200;
  }

  async function flood(networks: readonly string[], each: number): Promise<number> {
    let registered = 0;
    const asked = networks.flatMap((network) => Array.from({ length: each }, () => network));
    const one = async (): Promise<void> => {
      for (let network = asked.shift(); network !== undefined; network = asked.shift())
        if (await register(network)) registered += 1;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return registered;
  }

  const subnet = (site: number, at: number): string => `2001:db8:${site.toString(16)}:${at.toString(16)}::1`;

  test('stays open during 299 registrations from 100 addresses of one IPv6 /57', async () => {
    clock.set(FIRST + 600_000);
    const networks = Array.from({ length: 100 }, (_, at) => subnet(1, at));
    expect(await flood(networks, 3)).toBeLessThanOrEqual(
      DEFAULT_LIMITS.registration_per_ip_hour * DEFAULT_LIMITS.networks_per_site,
    );
    expect(await register('198.51.100.7')).toBe(true);
  });

  test('stays open while one region takes all that goes to who comes first', async () => {
    clock.set(FIRST + HOUR + 600_000);
    const networks = Array.from({ length: 100 }, (_, at) => subnet(at % 10, at));
    const registered = await flood(networks, 3);
    expect(registered).toBeGreaterThanOrEqual(DEFAULT_LIMITS.registration_per_hour * (3 / 4));
    expect(registered).toBeLessThanOrEqual(DEFAULT_LIMITS.registration_per_hour * (3 / 4) + 9);
    expect(await register('198.51.100.7')).toBe(true);
    expect(await register('203.0.113.7')).toBe(true);
  });
});

describe('what a stranger reads', () => {
  const db = testDatabase();
  const LISTINGS = 2_000;
  let doors: Doors;
  let shelves: { handle: string };

  beforeAll(async () => {
    const merchant = await seedMerchant(db.database, { handle: 'a-large-store' });
    shelves = merchant;
    const stock = Array.from({ length: LISTINGS }, (_, at) => ({ title: `Goods ${at}`, description: 'x'.repeat(900) }));
    await seedStock(db.database, merchant.id, stock);
    doors = await startDoors({
      ...{ database: db.database, databaseUrl: db.url, clock: systemClock },
      limits: {
        store_megabytes_per_ip_hour: 10,
        store_megabytes_per_hour: 100,
        event_streams: 40,
        event_streams_per_ip: 10,
      },
      config: { trustProxy: false },
    });
  });
  afterAll(() => doors.stop());

  test('whole stores end at what one network may, pages and others go on', async () => {
    const url = `${doors.url}/api/store/${shelves.handle}`;
    const [statuses, sent] = [[] as number[], { bytes: 0 }];
    for (let time = 0; time < 40; time += 1) {
      const { status, bytes, text, headers } = await askFrom('127.0.20.1', url);
      statuses.push(status);
      if (status === 200) sent.bytes += bytes;
      else
        expect([JSON.parse(text).next_step, headers['retry-after']]).toEqual([
          expect.stringContaining('limit=50'),
          expect.anything(),
        ]);
    }
    expect(statuses[0]).toBe(200);
    expect(statuses.at(-1)).toBe(429);
    // Requests in flight when the budget ends may exceed it.
    expect(sent.bytes).toBeLessThanOrEqual(12_000_000);
    expect((await askFrom('127.0.20.1', `${url}?limit=50`)).status).toBe(200);
    expect((await askFrom('127.0.20.2', url)).status).toBe(200);
  });

  test('places of the event stream that many networks take leave one for who listens to nothing yet', async () => {
    const held = [];
    for (let network = 1; network <= 6; network += 1)
      for (let time = 0; time < 10; time += 1) held.push(await openStream(`127.0.21.${network}`, doors.url));
    expect(held.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(30);
    const honest = await openStream('127.0.22.1', doors.url);
    expect(honest.status).toBe(200);
    for (const { close } of [...held, honest]) close();
  });
});
