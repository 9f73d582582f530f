import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  auditOf,
  type BusyMarket,
  type Lie,
  type ListingRow,
  type LogRow,
  lie,
  numbered,
  readLog,
  startBusyMarket,
} from './lying-market.ts';

// A market lies to its auditor with events in an order, at a time or by an actor that no honest log contains.

const OTHER = `0x${'5e'.repeat(32)}`;
const STRANGER = `0x${'5e'.repeat(20)}`;
/** Number of log pages in the first reading. */
const WALKED = 3;
let market: BusyMarket;
let folder: string;

beforeAll(async () => {
  market = await startBusyMarket();
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterEach(() => market?.proxy.twist(null));
afterAll(async () => {
  await market?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const goods = (): number => Number(market.goods);
const isAbout =
  (kind: string, id: number) =>
  (row: LogRow): boolean =>
    row.kind === kind && row.detail['listing_id'] === id;
const changed = (rows: LogRow[], what: (row: LogRow) => boolean, changes: Partial<LogRow>): LogRow[] =>
  rows.map((row) => (what(row) ? { ...row, ...changes, detail: { ...row.detail, ...changes.detail } } : row));
const added = (rows: LogRow[], row: Partial<LogRow>): LogRow[] => [
  ...rows,
  { ...(rows.at(-1) as LogRow), id: rows.length + 1, ...row },
];
const ofGoods =
  (changes: object): NonNullable<Lie['shelf']> =>
  (row: ListingRow) =>
    row.id === goods() ? { ...row, ...changes } : row;
/** Adds an event after the log was read. */
const meanwhile =
  (row: () => Partial<LogRow>, walked = WALKED): NonNullable<Lie['log']> =>
  (rows, asked) =>
    asked < walked ? rows : added(rows, row());
const comment = (): Partial<LogRow> => ({ kind: 'comment', detail: { listing_id: goods() } });
const exchange = (actor = 'seller-one') => ({
  ...{ kind: 'listing_edit', actor },
  detail: { listing_id: goods(), merchant_id: 2, fields: ['artifact'], artifact_commitment: OTHER },
});
/** Applies the same change to the listing's own page. */
const single = (id: () => number, changes: object): NonNullable<Lie['answer']> => {
  return ({ path, json }) =>
    path.startsWith(`/api/listing/${id()}?`)
      ? { status: 200, json: { ...json, listing: { ...(json['listing'] as object), ...changes } } }
      : null;
};
const withoutFee: NonNullable<Lie['answer']> = ({ path, json }) => {
  if (!path.startsWith('/treasury')) return null;
  const fees = (json['recent_fees'] as Record<string, unknown>[]).filter((fee) => fee['listing_id'] !== goods());
  const count = Number(json['fees_count']) - 1;
  const counts = { fees_count: count, fees_returned: fees.length, fees_collected_usdc: count };
  return { status: 200, json: { ...json, ...counts, recent_fees: fees } };
};

interface Case {
  name: string;
  fault: RegExp;
  plant(): Lie;
}

const LIES: readonly Case[] = [
  {
    name: 'excuses another wallet by a comment',
    fault: /listing \d+ is paid to 0x5e\w+, and event \d+ says 0x/,
    plant: () => ({ log: meanwhile(comment), shelf: ofGoods({ seller_wallet: STRANGER }) }),
  },
  {
    name: 'excuses another price by a comment',
    fault: /listing \d+ costs 9500000 units, and event \d+ says 2500000/,
    plant: () => ({ log: meanwhile(comment), shelf: ofGoods({ price_usdc: 9.5 }) }),
  },
  {
    name: 'excuses other goods by a comment',
    fault: /listing \d+ promises 0x5e\w+, and the log says 0x/,
    plant: () => ({ log: meanwhile(comment), shelf: ofGoods({ artifact_commitment: OTHER }) }),
  },
  {
    name: 'excuses another merchant by a pin',
    fault: /listing \d+ is sold by somebody-else, and event \d+ says /,
    plant: () => ({
      log: meanwhile(() => ({
        ...{ kind: 'moderation', actor: 'the-keeper' },
        detail: { action: 'pin', listing_id: goods() },
      })),
      shelf: ofGoods({ merchant: 'somebody-else' }),
    }),
  },
  {
    name: 'excuses a wallet by an edit',
    fault: /listing \d+ is paid to 0x5e\w+, and event \d+ says 0x/,
    plant: () => ({ log: meanwhile(() => exchange()), shelf: ofGoods({ seller_wallet: STRANGER }) }),
  },
  {
    name: 'excuses other goods by an edit that names others again',
    fault: /listing \d+ promises 0x6f\w+, and the log says 0x/,
    plant: () => ({
      log: meanwhile(() => exchange()),
      shelf: ofGoods({ artifact_commitment: `0x${'6f'.repeat(32)}` }),
    }),
  },
  {
    name: 'exchanges sold goods once the log was read',
    fault: /event \d+ exchanges what listing \d+ sells for money/,
    plant: () => ({ log: meanwhile(() => exchange()), shelf: ofGoods({ artifact_commitment: OTHER }) }),
  },
  {
    name: 'excuses by a comment that a listing is missing',
    fault: /listing \d+ is live and not on the shelves, and no event says why/,
    plant: () => ({ log: meanwhile(comment), shelf: (row) => (row.id === goods() ? null : row) }),
  },
  {
    name: 'dates its whole log years before its chain',
    fault: /event \d+, a sale of listing \d+, was paid at 20\d\d.*, and the log dates what was paid for at 2020-/,
    plant: () => ({ log: (rows) => changed(rows, () => true, { at: '2020-01-01T00:00:00.000Z' }) }),
  },
  {
    name: 'dates a listing years before its fee',
    fault: /fee \d+ was paid at 20\d\d.*, and the log dates what was paid for at 2020-/,
    plant: () => ({
      log: (rows) => changed(rows, isAbout('listing', goods()), { at: '2020-01-01T00:00:00.000Z' }),
    }),
  },
  {
    name: 'tells of a listing without its fee as its own',
    fault: /event \d+ lists without a fee as "seller-one", and the market names "the-keeper" as its maintainer/,
    plant: () => ({
      log: (rows) => changed(rows, isAbout('listing', goods()), { kind: 'maintainer_seed' }),
      answer: withoutFee,
    }),
  },
  {
    name: 'has a merchant remove what is another’s',
    fault: /event \d+ moderates as "buyer-one", and the market names "the-keeper" as its maintainer/,
    plant: () => ({
      log: (rows) => changed(rows, isAbout('moderation', market.removed), { actor: 'buyer-one' }),
    }),
  },
  {
    name: 'names no maintainer, and lists without a fee',
    fault: /event 1 lists without a fee as "the-keeper", and the market names no maintainer/,
    plant: () => ({
      answer: ({ path, json }) =>
        path.startsWith('/api/official') ? { status: 200, json: { ...json, maintainer: undefined } } : null,
    }),
  },
  {
    name: 'ends goods as if they were a thing of a city',
    fault: /event \d+ is a world_canceled of listing \d+, which is no thing of a city/,
    plant: () => ({
      log: (rows) => added(rows, { kind: 'world_canceled', actor: 'system', detail: { listing_id: goods() } }),
      shelf: (row) => (row.id === goods() ? null : row),
      answer: single(goods, { state: 'canceled' }),
    }),
  },
  {
    name: 'has another merchant withdraw',
    fault: /event \d+ is a withdrawal of listing \d+ by "buyer-one", and its merchant is "seller-one"/,
    plant: () => ({
      log: (rows) => changed(rows, isAbout('withdrawal', market.withdrawn), { actor: 'buyer-one' }),
    }),
  },
  {
    name: 'has another merchant edit',
    fault: /event \d+ is a listing_edit of listing \d+ by "buyer-one", and its merchant is "seller-one"/,
    plant: () => ({
      log: (rows) => changed(rows, isAbout('listing_edit', market.restored), { actor: 'buyer-one' }),
    }),
  },
  {
    name: 'covers a removal by another ending, and sells on',
    fault: /a sale of listing \d+, was paid after event \d+ removed the listing/,
    plant: () => ({
      log: (rows) => {
        const at = rows.findIndex(isAbout('sale', goods()));
        const removal = rows.find(isAbout('moderation', market.removed)) as LogRow;
        const removed = {
          ...removal,
          at: '2026-01-01T00:00:00.000Z',
          detail: { ...removal.detail, listing_id: goods() },
        };
        rows.splice(at, 0, removed, { ...removed, kind: 'world_canceled', actor: 'system' });
        return numbered(rows);
      },
    }),
  },
  {
    name: 'excuses sales below the price by a comment that decides nothing',
    fault: /a sale of listing \d+, was paid with 2500000 units, and the goods cost 9500000/,
    plant: () => ({
      log: (rows) => {
        const sales = rows.filter(isAbout('sale', goods()));
        const dear = changed(rows, isAbout('listing', goods()), { detail: { price_usdc: 9.5 } });
        const excuse = (so: LogRow[], { detail }: LogRow): LogRow[] =>
          added(so, { kind: 'comment', detail: { outcome: 'deliver', payment_id: detail['payment_id'] } });
        return sales.reduce(excuse, dear);
      },
      shelf: ofGoods({ price_usdc: 9.5 }),
    }),
  },
];

it.each(LIES)('a market that $name is found out', async ({ fault, plant }) => {
  lie(market, plant());
  const { faults } = await auditOf(market);
  expect(faults.join('\n')).toMatch(fault);
});

it('with a state, no comment excuses another wallet, and no other maintainer comes', async () => {
  const statePath = join(folder, 'state.json');
  expect((await auditOf(market, { statePath })).faults).toEqual([]);
  lie(market, { log: meanwhile(comment, 1), shelf: ofGoods({ seller_wallet: STRANGER }) });
  expect((await auditOf(market, { statePath })).faults.join('\n')).toMatch(/listing \d+ is paid to 0x5e\w+, and event/);
  lie(market, {
    answer: ({ path, json }) =>
      path.startsWith('/api/official')
        ? { status: 200, json: { ...json, maintainer: { handle: 'seller-one', merchant_id: 1, powers: [] } } }
        : null,
  });
  expect((await auditOf(market, { statePath })).faults).toContain(
    'the market names "seller-one" as its maintainer, and the state remembers "the-keeper"',
  );
});

it('what merchants list, edit and withdraw while an audit runs is no fault', async () => {
  const { world, seller, list } = market;
  const { key } = seller;
  const [exchanged, withdrawn] = [await list({ price_usdc: 0 }), await list()];
  await world.running.eventsSettled();
  const cut = (await readLog(world.url)).length;
  const edit = { key, body: { artifact: 'goods of an audit', title: 'Goods of an audit' } };
  expect((await world.ask('PATCH', `/api/listing/${exchanged}`, edit)).status).toBe(200);
  const withdrawal = { key, body: { reason: 'sold elsewhere' } };
  expect((await world.ask('POST', `/api/listing/${withdrawn}/withdraw`, withdrawal)).status).toBe(200);
  await list();
  await world.running.eventsSettled();
  const whole = await readLog(world.url);
  expect(whole.length).toBeGreaterThan(cut + 2);
  lie({ ...market, log: whole }, { log: (rows, asked) => (asked < WALKED ? rows.slice(0, cut) : rows) });
  expect((await auditOf(market)).faults).toEqual([]);
  market.proxy.twist(null);
  expect((await auditOf(market)).faults).toEqual([]);
});
