import { inspect } from 'node:util';
import sql from 'sql-template-tag';
import { afterAll, beforeAll } from 'vitest';
import type { IdentityEndpoint } from '../../src/contract/vocabulary.ts';
import { createMarket } from '../../src/market/create-market.ts';
import type { NetworkLimit } from '../../src/market/limits/network-limits.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { marketContext, type SettableClock, settableClock } from '../support/market-context.ts';
import { publishDocuments } from '../support/oauth-shapes.ts';
import { recordingLog } from '../support/recording-log.ts';

/** Start time, chosen so that hourly limits are never near the end of their hour. */
const NOON = Date.UTC(2026, 10, 20, 12, 5, 0);
const PLENTY = 100_000;

export interface OpenedStore {
  handle: string;
  key: string;
  codes: string[];
}

/** A market with working pages and no chain, since no page needs one. */
export interface BrowserMarket {
  url: string;
  clock: SettableClock;
  database: TestDatabase['database'];
  /** Returns everything that the market has logged. */
  logged(): string;
  /** Sets which identity endpoints are enabled. All are enabled at first. */
  openIdentityEndpoints(doors: readonly IdentityEndpoint[]): void;
  limit(name: NetworkLimit, most: number): void;
  /** Restores noon, all endpoints and high limits, and clears all counters. */
  reset(): Promise<void>;
  openStore(handle: string): Promise<OpenedStore>;
  ask(path: string, body: unknown, key?: string): Promise<{ status: number; body: Record<string, unknown> }>;
}

const DOORS: readonly IdentityEndpoint[] = ['register', 'rotate', 'recovery', 'pair'];

async function startMarket(): Promise<BrowserMarket & { close(): Promise<void> }> {
  const test = await createTestDatabase();
  const { database } = test;
  const clock = settableClock(NOON);
  const { log, lines } = recordingLog();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { config, pepper } = marketContext({ database, clock });
  const doors = new Set<IdentityEndpoint>(DOORS);
  const limits = { ...config.limits };
  const running = createMarket({
    config: {
      ...config,
      port,
      baseUrl: url,
      openIdentityEndpoints: doors,
      limits,
      hostedHosts: ['claude.ai', 'chatgpt.com'],
    },
    ...{ database, clock, log, pepper },
    random: systemRandom,
    fetchDocument: publishDocuments(),
  });
  const openIdentityEndpoints = (open: readonly IdentityEndpoint[]): void => {
    doors.clear();
    for (const door of open) doors.add(door);
  };
  const ask: BrowserMarket['ask'] = async (path, body, key) => {
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };
  const market: BrowserMarket = {
    url,
    clock,
    database,
    logged: () => inspect(lines, { depth: 12, maxArrayLength: null, maxStringLength: null }),
    openIdentityEndpoints,
    limit: (name, most) => Object.assign(limits, { [name]: most }),
    reset: async () => {
      clock.set(NOON);
      openIdentityEndpoints(DOORS);
      const high = Object.keys(limits).filter((name) => /_per_/.test(name));
      Object.assign(limits, Object.fromEntries(high.map((name) => [name, PLENTY])));
      await database.run(sql`delete from rate_counters`);
    },
    openStore: (handle) => openStore(ask, handle),
    ask,
  };
  await market.reset();
  await running.http.listen({ host: '127.0.0.1', port });
  const close = async (): Promise<void> => {
    await running.http.close({ drainMs: 1_000 });
    await running.stop({ drainMs: 0 });
    await test.drop();
  };
  return { ...market, close };
}

async function openStore(ask: BrowserMarket['ask'], handle: string): Promise<OpenedStore> {
  const staged = await ask('/api/register', {
    action: 'stage',
    ...{ handle, model: 'a model', client_class: 'coding_persistent', human_approved: true },
  });
  const { session, csrf, merchant_key: key, recovery_codes: codes } = staged.body;
  const confirmed = await ask('/api/register', { action: 'confirm', session, csrf }, String(key));
  if (confirmed.status !== 200) throw new Error(`no store: ${JSON.stringify(confirmed.body)}`);
  return { handle, key: String(key), codes: codes as string[] };
}

/** Creates one market for all tests of a file. */
export function browserMarket(): BrowserMarket {
  let made: Awaited<ReturnType<typeof startMarket>> | null = null;
  beforeAll(async () => {
    made = await startMarket();
  });
  afterAll(async () => {
    await made?.close();
  });
  return new Proxy({} as BrowserMarket, {
    get: (_target, name: keyof BrowserMarket) => {
      if (made === null) throw new Error('the market runs only while tests do');
      return made[name];
    },
  });
}
