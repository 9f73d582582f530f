import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll } from 'vitest';
import { AISLES } from '../../src/contract/vocabulary.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { createMaintainer } from '../../src/market/identity/register.ts';
import { recordListing } from '../../src/market/listings/add-listing.ts';
import { createTestDatabase } from '../support/database.ts';
import { marketContext, settableClock } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import { type SeedListing, seedListing } from '../support/seed.ts';

const clock = settableClock(Date.now() - 60_000);
let running: RunningMarket;
let drop: () => Promise<void>;
/** URL of the market for the browser, through the proxy `wire`. */
export let url = '';
export let wire: Wire;
/** The market's own URL for the test, which bypasses `wire`. */
let directUrl = '';
export const keys = new Map<string, string>();

/** Starts a market whose log grows on command, one for all tests of a file. */
export function liveMarket(): void {
  beforeAll(start);
  afterAll(stop);
}

async function start(): Promise<void> {
  const test = await createTestDatabase({ inventedEvents: true });
  drop = test.drop;
  const { config, pepper, random } = marketContext({ database: test.database, clock });
  const high = Object.fromEntries(
    Object.keys(config.limits)
      .filter((name) => /_per_/.test(name))
      .map((name) => [name, 100_000]),
  );
  running = createMarket({
    config: { ...config, limits: { ...config.limits, ...high } },
    ...{ database: test.database, clock, log: recordingLog().log, pepper, random },
  });
  const served = await running.http.listen({ host: '127.0.0.1', port: 0 });
  directUrl = served.url;
  wire = await openWire(served.port);
  url = `http://127.0.0.1:${wire.port}`;
  await appointMaintainer();
  for (const handle of ['ink-and-paper', 'tidewater']) await openStore(handle);
  for (const [at, title] of TITLES.entries())
    await list({ title, priceUnits: BigInt(at % 3) * 1_250_000n, aisle: AISLES[at % 4] ?? 'other' });
  await running.eventsSettled();
}

async function stop(): Promise<void> {
  await wire.close();
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await drop();
}

const TITLES = [
  'Reading of invoices in eleven languages',
  'Prompt that keeps a coding agent from guessing',
  'Opening hours of 41,000 European bakeries',
  'A regular expression for every IBAN',
];

export interface Wire {
  port: number;
  /** Breaks every connection. `refuse` also refuses new ones until `mend`. */
  cut(how?: 'refuse'): void;
  mend(): void;
  close(): Promise<void>;
}

/** Opens a proxy between browser and market, so that the network can fail. */
async function openWire(to: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
    return near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (how?: 'refuse'): void => {
    isCut = how === 'refuse';
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      isCut = false;
    },
    close: async () => {
      server.close();
      cut('refuse');
      await once(server, 'close');
    },
  };
}

interface Answer {
  session: string;
  csrf: string;
  merchant_key: string;
  comment: { id: number };
  appeal: { id: number };
}

export async function ask(path: string, body: unknown, key?: string): Promise<Answer> {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch(`${directUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Answer;
}

export async function openStore(handle: string): Promise<void> {
  const staged = await ask('/api/register', {
    action: 'stage',
    ...{ handle, model: 'a model', client_class: 'coding_persistent', human_approved: true },
  });
  const { session, csrf, merchant_key: key } = staged;
  await ask('/api/register', { action: 'confirm', session, csrf }, key);
  keys.set(handle, key);
}

/** Runs the operator's command, which writes the key to a file. */
async function appointMaintainer(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-live-'));
  const { market } = running;
  const [handle, out] = ['hall-keeper', join(folder, 'maintainer.json')];
  await createMaintainer({ ...market, keyPrefix: market.config.keyPrefix }, { handle, out });
  keys.set(handle, (JSON.parse(await readFile(out, 'utf8')) as { merchant_key: string }).merchant_key);
  await rm(folder, { recursive: true });
}

/** Lists goods as the market does, but without the fee and the checks on the chain. */
export async function list(goods: SeedListing, handle = 'ink-and-paper'): Promise<number> {
  const { market } = running;
  const { database } = market;
  const { id: merchant } = await database.one<{ id: bigint }>(sql`select id from merchants where handle = ${handle}`);
  const { id, wallet } = await seedListing(database, merchant, goods);
  const { priceUnits = 2_500_000n, aisle = 'other' } = goods;
  await database.transaction((tx) =>
    recordListing(tx, market, {
      id,
      merchantId: merchant,
      feeId: 1n,
      priceUnits,
      sellerWallet: wallet,
      aisle,
      about: {},
    }),
  );
  return Number(id);
}

/** Waits until all events are numbered, because only numbered ones are shown. */
export const flush = (): Promise<void> => running.eventsSettled();
let said = 0;
export async function comment(listing: number, handle = 'tidewater'): Promise<number> {
  said += 1;
  const body = { listing_id: listing, body: `Said as number ${said}` };
  return (await ask('/api/comment', body, keys.get(handle))).comment.id;
}

export const collect = (listing: number, handle = 'tidewater') => ask(`/api/buy/${listing}`, {}, keys.get(handle));

interface LogPage {
  events: { id: number }[];
  total: number;
}
export const log = async (): Promise<LogPage> =>
  (await fetch(`${directUrl}/api/events?scope=window&limit=100`)).json() as Promise<LogPage>;
