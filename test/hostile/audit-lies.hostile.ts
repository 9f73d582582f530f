import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { audit } from '../audit/audit.ts';
import {
  auditOf,
  type BusyMarket,
  isLog,
  isShelves,
  type ListingRow,
  type LogRow,
  lie,
  numbered,
  pageOf,
  runOn,
  startBusyMarket,
} from './lying-market.ts';

// A market lies to its auditor in ways that its own pages do not contradict.

const OTHER = `0x${'5e'.repeat(32)}`;
const STRANGER = `0x${'5e'.repeat(20)}`;
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

const isPromise = ({ kind }: LogRow): boolean => kind === 'listing' || kind === 'maintainer_seed';
const goods = (): number => Number(market.goods);
const without = (row: LogRow, ...names: string[]): LogRow => ({
  ...row,
  detail: Object.fromEntries(Object.entries(row.detail).filter(([name]) => !names.includes(name))),
});
/** Changes each event of that kind about that listing. */
const changed = (rows: LogRow[], kind: string, id: number, detail: Record<string, unknown>): LogRow[] =>
  rows.map((row) =>
    row.kind === kind && row.detail['listing_id'] === id ? { ...row, detail: { ...row.detail, ...detail } } : row,
  );
const isAbout =
  (kind: string, id: number, more: Record<string, unknown> = {}) =>
  (row: LogRow): boolean =>
    row.kind === kind &&
    row.detail['listing_id'] === id &&
    Object.entries(more).every(([name, value]) => row.detail[name] === value);
/** Moves the first matching event before another one, and renumbers all. */
function moved(rows: LogRow[], what: (row: LogRow) => boolean, before: (row: LogRow) => boolean): LogRow[] {
  const from = rows.findIndex(what);
  const [row] = rows.splice(from, 1);
  if (row === undefined) throw new Error('nothing to move');
  rows.splice(rows.findIndex(before), 0, row);
  return numbered(rows);
}
const added = (rows: LogRow[], row: Partial<LogRow>): LogRow[] => [
  ...rows,
  { ...(rows.at(-1) as LogRow), id: rows.length + 1, ...row },
];

interface Case {
  name: string;
  fault: RegExp;
  plant(): void;
}

const VAGUE = /no event promises a wallet or goods: 8 listings promise only a price/;
const LIES: readonly Case[] = [
  {
    name: 'promises no goods and no wallets, and sells others',
    fault: VAGUE,
    plant: () =>
      lie(market, {
        log: (rows) => rows.map((row) => (isPromise(row) ? without(row, 'seller_wallet', 'artifact_commitment') : row)),
        // An edit in the log contains this commitment.
        shelf: (row) => (row.id === market.exchanged ? row : { ...row, artifact_commitment: OTHER }),
      }),
  },
  {
    name: 'promises no wallets, and has what nobody bought paid to another',
    fault: VAGUE,
    plant: () =>
      lie(market, {
        log: (rows) => rows.map((row) => (isPromise(row) ? without(row, 'seller_wallet', 'artifact_commitment') : row)),
        shelf: (row) => (row['sales'] === 0 ? { ...row, seller_wallet: STRANGER } : row),
      }),
  },
  {
    name: 'exchanges goods that were sold, by an edit',
    fault:
      /event \d+ edits listing \d+, which event \d+ sold before\n(?:.*\n)*.*exchanges what listing \d+ sells for money/,
    plant: () => {
      const detail = { listing_id: goods(), merchant_id: 2, fields: ['artifact'], artifact_commitment: OTHER };
      lie(market, {
        log: (rows) => added(rows, { kind: 'listing_edit', detail }),
        shelf: (row) => (row.id === goods() ? { ...row, artifact_commitment: OTHER } : row),
      });
    },
  },
  {
    name: 'moves a sale of free goods before their exchange',
    fault: /event \d+ edits listing \d+, which event \d+ sold before/,
    plant: () =>
      lie(market, {
        log: (rows) => moved(rows, isAbout('sale', market.exchanged), isAbout('listing_edit', market.exchanged)),
      }),
  },
  {
    name: 'moves a sale before its listing',
    fault: /event \d+ lists listing \d+, of which event \d+ told before/,
    plant: () => lie(market, { log: (rows) => moved(rows, isAbout('sale', goods()), isAbout('listing', goods())) }),
  },
  {
    name: 'leaves an event out of the middle',
    fault: /the public log contradicts itself: event 301 comes after event 299, and no recovery explains it/,
    plant: () => lie(market, { log: (rows) => rows.filter(({ id }) => id !== 300) }),
  },
  {
    name: 'leaves out the event at which a page would go on',
    fault: /the public log contradicts itself: there is no event 200, and no recovery explains it/,
    plant: () => lie(market, { log: (rows) => rows.filter(({ id }) => id !== 200) }),
  },
  {
    name: 'explains a gap by a recovery that is in no page but that of recoveries',
    fault: /event 206 comes after event 194, and no recovery explains it/,
    plant: () => {
      const rows = market.log.filter(({ id }) => id < 195 || id > 205);
      const told = { id: 206, kind: 'recovery', detail: { kept_event_id: 194, next_event_id: 206 } };
      const recoveries = [{ ...(rows[0] as LogRow), ...told }];
      lie(market, {
        answer: ({ path }) => (isLog(path) ? pageOf(path.includes('kind=') ? recoveries : rows, path) : null),
      });
    },
  },
  {
    name: 'serves pages of two logs, each of which is whole',
    fault: /event 199 is not what was read before/,
    plant: () =>
      lie(market, {
        log: (rows, asked) => (asked < 2 ? rows : rows.map((row) => ({ ...row, actor: 'another' }))),
      }),
  },
  {
    name: 'serves an older log after a newer one',
    fault: /the public log has no event \d+, which was read before/,
    plant: () => lie(market, { log: (rows, asked) => (asked === 0 ? rows : rows.slice(0, -1)) }),
  },
  {
    name: 'serves an older log once all was read',
    fault: /the public log has no event \d+, which was read before/,
    plant: () => lie(market, { log: (rows, asked) => (asked < 3 ? rows : rows.slice(0, -1)) }),
  },
  {
    name: 'changes its newest event once all was read',
    fault: /event \d+ is not what was read before/,
    plant: () =>
      lie(market, {
        log: (rows, asked) =>
          asked < 3 ? rows : rows.map((row, at) => (at === rows.length - 1 ? { ...row, actor: 'x' } : row)),
      }),
  },
  {
    name: 'repeats its first page for ever',
    fault: /the public log contradicts itself: /,
    plant: () =>
      lie(market, {
        answer: ({ path }) => (isLog(path) ? pageOf(market.log, path.replace(/before_id=\d+/, '')) : null),
      }),
  },
  {
    name: 'uses the id of a listing again',
    fault: /event \d+ lists listing \d+ again, which event \d+ listed/,
    plant: () =>
      lie(market, {
        log: (rows) => added(rows, { kind: 'listing', detail: { ...rows.find(isAbout('listing', goods()))?.detail } }),
      }),
  },
  {
    name: 'hides a withdrawal',
    fault: /listing \d+ is withdrawn and not on the shelves, and no event says why/,
    plant: () => lie(market, { log: (rows) => numbered(rows.filter(({ kind }) => kind !== 'withdrawal')) }),
  },
  {
    name: 'hides a removal',
    fault: /listing \d+ is removed and not on the shelves, and no event says why/,
    plant: () =>
      lie(market, {
        log: (rows) =>
          numbered(rows.filter((row) => !isAbout('moderation', market.removed, { action: 'remove' })(row))),
      }),
  },
  {
    name: 'gives away what was removed',
    fault: /event \d+ gives listing \d+ away, which event \d+ removed/,
    plant: () =>
      lie(market, {
        log: (rows) => {
          const sale = rows.find(isAbout('sale', market.exchanged));
          return added(rows, { ...sale, id: rows.length + 1, detail: { ...sale?.detail, listing_id: market.removed } });
        },
      }),
  },
  {
    name: 'sells for money what was removed',
    fault: /a sale of listing \d+, was paid after event \d+ removed the listing/,
    plant: () =>
      lie(market, {
        log: (rows) => {
          const at = rows.findIndex(isAbout('sale', goods()));
          const removal = rows.find(isAbout('moderation', market.removed)) as LogRow;
          const detail = { ...removal.detail, listing_id: goods() };
          rows.splice(at, 0, { ...removal, at: '2026-01-01T00:00:00.000Z', detail });
          return numbered(rows);
        },
      }),
  },
  {
    name: 'has on the shelves what the log removed',
    fault: /listing \d+ is for sale, and event \d+ removed it/,
    plant: () => {
      const shown = (row: ListingRow): ListingRow => (row.id === goods() ? { ...row, id: market.removed } : row);
      lie(market, { shelf: shown });
    },
  },
  {
    name: 'keeps a listing off the shelves',
    fault: /listing \d+ is live and not on the shelves, and no event says why/,
    plant: () => lie(market, { shelf: (row) => (row.id === goods() ? null : row) }),
  },
  {
    name: 'does not know a listing of its log any more',
    fault: /listing \d+, of which event \d+ tells, is not there/,
    plant: () => {
      const gone = `/api/listing/${goods()}?`;
      lie(market, {
        shelf: (row) => (row.id === goods() ? null : row),
        answer: ({ path }) =>
          path.startsWith(gone) ? { status: 404, json: { status: 404, reason: 'not_found' } } : null,
      });
    },
  },
  {
    name: 'sells what is in no event',
    fault: /listing 999 has no event that tells of it/,
    plant: () => lie(market, { shelf: (row) => (row.id === goods() ? { ...row, id: 999 } : row) }),
  },
  {
    name: 'shows a listing twice',
    fault: /the shelves contradict themselves: listing \d+ came twice/,
    plant: () => lie(market, { shelf: (row) => ({ ...row, id: goods() }) }),
  },
  {
    name: 'shows no commitment',
    fault: /listing \d+ promises null, and the log says 0x/,
    plant: () => lie(market, { shelf: (row) => ({ ...row, artifact_commitment: null }) }),
  },
  {
    name: 'has another merchant sell',
    fault: /listing \d+ is sold by somebody-else, and event \d+ says /,
    plant: () => lie(market, { shelf: (row) => ({ ...row, merchant: 'somebody-else' }) }),
  },
  {
    name: 'calls a listing the newer version of another',
    fault: /listing \d+ supersedes \d+, and event \d+ says nothing/,
    plant: () => lie(market, { shelf: (row) => ({ ...row, supersedes: market.withdrawn }) }),
  },
  {
    name: 'edits a price',
    fault: /event \d+ edits price or wallet of listing \d+, which never change/,
    plant: () =>
      lie(market, { log: (rows) => changed(rows, 'listing_edit', market.restored, { fields: ['price_usdc'] }) }),
  },
  {
    name: 'exchanges goods that cost something',
    fault: /event \d+ exchanges what listing \d+ sells for money/,
    plant: () =>
      lie(market, { log: (rows) => changed(rows, 'listing_edit', market.restored, { artifact_commitment: OTHER }) }),
  },
  {
    name: 'adds to an event what no hash covers',
    fault: /event 3 has other members than its hash covers/,
    plant: () => lie(market, { log: (rows) => rows.map((row) => (row.id === 3 ? { ...row, note: 'hidden' } : row)) }),
  },
  {
    name: 'says fewer events than it has',
    fault: /the public log contradicts itself: /,
    plant: () =>
      lie(market, {
        answer: ({ path, json }) =>
          isLog(path) ? { status: 200, json: { ...json, total: Number(json['total']) - 1 } } : null,
      }),
  },
  {
    name: 'says more events than it has',
    fault: /the public log contradicts itself: it says \d+ events, and the newest is event \d+/,
    plant: () =>
      lie(market, {
        answer: ({ path, json }) =>
          isLog(path) ? { status: 200, json: { ...json, total: Number(json['total']) + 1 } } : null,
      }),
  },
  {
    name: 'goes on with its shelves for ever',
    fault: /the shelves contradict themselves: listing \d+ came twice/,
    plant: () => {
      let first: Record<string, unknown> = {};
      let pages = 0;
      lie(market, {
        answer: ({ path, json }) => {
          if (!isShelves(path)) return null;
          if (!path.includes('cursor=')) first = json;
          pages += 1;
          return { status: 200, json: { ...first, has_more: true, next_cursor: `page-${pages}` } };
        },
      });
    },
  },
  {
    name: 'has a fee twice',
    fault: /the treasury's books contradict themselves: fee \d+ comes after fee \d+/,
    plant: () =>
      lie(market, {
        answer: ({ path, json }) => {
          if (!path.startsWith('/treasury')) return null;
          const [fee, ...others] = json['recent_fees'] as object[];
          return { status: 200, json: { ...json, recent_fees: [fee, fee, ...others.slice(1)] } };
        },
      }),
  },
];

it('an honest market with edits, removals, appeals, versions and several pages of log has no fault, in both audits', async () => {
  const found = await auditOf(market);
  expect(found.faults).toEqual([]);
  expect(found.promises).toEqual({ listings: 8, price_only: 0, since: 1 });
  expect(found.log.read).toBe(market.log.length);
  const books = await audit({ databaseUrl: market.world.db.url, rpcUrl: market.world.chain.url });
  expect(books).toMatchObject({ faults: [], price_only: 0, log: { running_hash: found.log.running_hash } });
  expect(await runOn(market)).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/\n0 faults\n$/) });
});

it.each(LIES)('a market that $name is found out', async ({ fault, plant }) => {
  plant();
  const { faults } = await auditOf(market);
  expect(faults.join('\n')).toMatch(fault);
});

it('listings from before promises are counted, no fault, and one with --since', async () => {
  const [first] = market.log.filter(isPromise);
  lie(market, {
    log: (rows) =>
      rows.map((row) => (row.id === first?.id ? without(row, 'seller_wallet', 'artifact_commitment') : row)),
  });
  const ran = await runOn(market);
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.out).toMatch(
    /promises: 1 listings promise only a price; their wallets and goods are held against nothing\n/,
  );
  const strict = await runOn(market, '--since', '1');
  expect(strict.code).toBe(1);
  expect(strict.out).toMatch(/FAULT: event 1 lists listing 1 without a wallet, a commitment to its goods\n/);
});

it('with a state nothing that was promised before is forgotten, and what was read is not read again', async () => {
  const statePath = join(folder, 'state.json');
  expect(await auditOf(market, { statePath })).toMatchObject({ faults: [], log: { whole: true } });
  const kept = readFileSync(statePath, 'utf8');
  expect(await auditOf(market, { statePath })).toMatchObject({ faults: [], log: { whole: false, read: 0 } });
  // Tell the first lie after a state was saved. The shelves are checked against the remembered promises.
  LIES[0]?.plant();
  const { faults } = await auditOf(market, { statePath });
  expect(faults.join('\n')).toMatch(/listing \d+ promises 0x5e\w+, and the log says 0x/);
  // Edit a listing whose sale the earlier audit has read.
  LIES[2]?.plant();
  expect((await auditOf(market, { statePath })).faults.join('\n')).toMatch(
    /edits listing \d+, which event \d+ sold before/,
  );
  expect(readFileSync(statePath, 'utf8')).not.toBe('');
  expect(JSON.parse(kept)).toMatchObject({ public: { promises_from: 1 } });
});

it('a state of an earlier program, which knows no listings, has the log read and hashed again', async () => {
  const statePath = join(folder, 'older.json');
  await auditOf(market, { statePath });
  const state = JSON.parse(readFileSync(statePath, 'utf8')) as { public: Record<string, unknown> };
  const { listings: _, promises_from: __, ...older } = state.public;
  writeFileSync(statePath, JSON.stringify({ ...state, public: older }));
  lie(market, { log: (rows) => rows.map((row) => (row.id === 250 ? { ...row, actor: 'another' } : row)) });
  const { faults } = await auditOf(market, { statePath });
  expect(faults).toContain(`event ${market.log.length} is not what the state remembers`);
  market.proxy.twist(null);
  expect(await auditOf(market, { statePath })).toMatchObject({ faults: [], log: { whole: true } });
});
