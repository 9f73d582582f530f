import { type Sabotage, world } from '../sabotage.ts';

const RECORD = 'src/market/events/record-event.ts';
const EVENTS = 'src/market/events/store.ts';
const LOG = ['src/platform/create-log.test.ts'];
const COUNTERS = 'migrations/market/0021-counters.sql';
const COUNTED_LISTINGS = 'migrations/market/0029-keywords.sql';
const FEED = 'src/market/catalog/feed/store.ts';
const FOLLOWED = ['test/catalog/follow.test.ts'];
const HISTORIES = 'src/market/purchases/store.ts';
const WALKED = ['src/market/history/sales-walk.test.ts'];
const COUNTED = ['src/market/catalog/counters.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Bugs in the public log, the operator's log, and stored counters. */
export const RECORDS: readonly Sabotage[] = [
  {
    name: 'an-event-after-the-commit',
    edits: [
      { file: RECORD, find: '  insertEvent(tx, {', put: '  const queued = {' },
      {
        file: RECORD,
        find: '  });\n  tx.afterCommit',
        put: '  };\n  tx.afterCommit(() => void (market as never as { database: { transaction(act: (apart: Tx) => Promise<void>): Promise<void> } }).database.transaction(async (apart) => insertEvent(apart, queued)));\n  tx.afterCommit',
      },
    ],
    tests: world('event-with-act'),
  },
  bug('event-ids-with-gaps', EVENTS, '+ row_number() over upto as id', '+ 1 + row_number() over upto as id', [
    'src/market/events/list-events.test.ts',
  ]),
  bug(
    'events-out-of-order',
    EVENTS,
    'window upto as (order by batch.queue_id)',
    'window upto as (order by batch.queue_id desc)',
    ['src/market/events/sequencer.test.ts'],
  ),
  bug('an-event-changes', 'migrations/market/0019-hash-of-the-log.sql', ' and new.canonical = old.canonical', '', [
    'src/market/events/append-only.test.ts',
  ]),
  bug(
    'a-payment-header-in-the-log',
    'src/platform/log.ts',
    'x-payment-response|x-payment|payment-signature',
    'x-payment-response|payment-signature',
    LOG,
  ),
  bug(
    'fields-that-nobody-allowed-in-the-log',
    'src/platform/log.ts',
    'if (!allowed.has(name)) leftOut.push(cut(name));\n    else shown',
    'shown',
    LOG,
  ),
  bug('secrets-in-the-log', 'src/platform/log.ts', 'const safe = redact(', 'const safe = String(', LOG),
  bug(
    'a-wallet-that-sells-keeps-what-it-bought-verified',
    COUNTED_LISTINGS,
    'select id, counter_slot(), -count(*) from unnest(bought) id',
    'select id, counter_slot(), 0 from unnest(bought) id',
    COUNTED,
  ),
  bug(
    'a-second-listing-of-a-wallet-is-taken-for-the-first',
    COUNTED_LISTINGS,
    ') is null and',
    ') is not null and',
    COUNTED,
  ),
  bug(
    'a-sale-does-not-wait-for-a-listing-of-its-wallet',
    COUNTERS,
    'perform lock_wallet_of(w.seller, w.payer) from (',
    'perform from (',
    COUNTED,
  ),
  bug(
    'a-sale-is-counted-as-one-of-many',
    COUNTERS,
    'do update set sales = kept.sales + excluded.sales, verified',
    'do update set sales = excluded.sales, verified',
    COUNTED,
  ),
  bug(
    'what-there-was-is-not-counted',
    COUNTERS,
    'union all select listing_id, 0, 0, 0, 0, count(*), 0, 0 from votes group by listing_id',
    '',
    COUNTED,
  ),
  bug(
    'a-change-of-a-transaction-that-ran-before-is-skipped',
    FEED,
    'where pg_visible_in_snapshot(ran, pg_current_snapshot())',
    'where false',
    FOLLOWED,
  ),
  bug(
    'every-step-of-the-catalog-looks-back-to-the-oldest-transaction',
    FEED,
    'then pg_snapshot_xmax(',
    'then pg_snapshot_xmin(',
    FOLLOWED,
  ),
  bug(
    'a-database-that-was-put-back-is-followed',
    FEED,
    'pg_snapshot_xmax(pg_current_snapshot()) < ',
    "'1'::xid8 > ",
    FOLLOWED,
  ),
  bug('sales-of-a-seller-queue', HISTORIES, 'tx.lockShared(', 'tx.lock(', WALKED),
  bug('a-page-waits-for-no-sale', HISTORIES, 'await tx.lock(historyLock', 'void (historyLock', WALKED),
  bug(
    'a-page-is-older-than-its-lock',
    HISTORIES,
    '{ readOnly: true }',
    "{ readOnly: true, isolation: 'repeatable read' }",
    WALKED,
  ),
  bug(
    'a-free-sale-keeps-no-page-waiting',
    'src/market/purchases/buy-listing.ts',
    'await lockHistoriesShared(',
    'void (',
    WALKED,
  ),
];
