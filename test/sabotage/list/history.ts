import type { Sabotage } from '../sabotage.ts';

const COMPARE = 'src/platform/log-copy/watch-history.ts';
const COPIED = 'src/platform/log-copy/log-copy.ts';
const LOST = 'src/market/recovery/find-lost.ts';
const HASHES = 'migrations/market/0019-hash-of-the-log.sql';
const LOSSES = 'migrations/market/0020-history-lost.sql';
const ACTS = 'migrations/city/0004-log-of-acts.sql';

const COMPARED = ['src/platform/log-copy/compare-log.test.ts'];
const COPY = ['src/platform/log-copy/log-copy.test.ts'];
const FOUND = ['src/market/recovery/find-lost.test.ts'];
const CITY = ['src/city/recovery/log-of-acts.test.ts'];
const BUYERS = 'src/market/world/store.ts';
const BOUGHT = ['src/market/world/sync/find-lost-checkout.test.ts'];
const HONEST = ['src/market/events/honest-log.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Bugs in the integrity of the log, the detection of a loss, and the data that a recovery reads. */
export const HISTORY: readonly Sabotage[] = [
  bug(
    'other-content-is-the-same-history',
    COMPARE,
    "log.hash?.equals(copy.hash) === true ? 'same' : 'lost'",
    "'same'",
    COMPARED,
  ),
  bug('a-standby-that-lags-is-a-loss', COMPARE, 'log.inRecovery || copy === null', 'copy === null', COMPARED),
  bug('a-recovery-is-a-loss', COMPARE, "if (log.leftOut) return 'same';", '', COMPARED),
  bug(
    'any-line-is-part-of-the-copy',
    COPIED,
    'return hashAfter(before, next).equals(next.hash);',
    'return true;',
    COPY,
  ),
  bug('a-restored-listing-is-removed-again', LOST, 'lost.removed.delete(id);', '', FOUND),
  bug(
    'a-hash-that-forgets-the-one-before',
    HASHES,
    "sha256(coalesce(state, before, '') || int8send(id) || canonical)",
    'sha256(int8send(id) || canonical)',
    HONEST,
  ),
  bug(
    'an-event-that-tells-of-nothing',
    HASHES,
    "or not coalesce(is_in_the_books(new.kind, new.at, told->>'actor', told->'detail'), false)",
    '',
    HONEST,
  ),
  bug('an-event-of-another-day', HASHES, 'clock_timestamp())) > 60 then', 'clock_timestamp())) > 600000 then', HONEST),
  bug('a-hash-that-is-exchanged', HASHES, 'if old.running_hash is null and num_nulls', 'if num_nulls', HONEST),
  bug(
    'the-log-goes-on-though-history-is-lost',
    LOSSES,
    'create trigger a_history_is_whole before insert or update on events',
    'create trigger a_history_is_whole before delete on events',
    ['src/market/recovery/open-loss-blocks-writes.test.ts'],
  ),
  bug(
    'payments-go-on-though-history-is-lost',
    LOSSES,
    'if exists (select from history_losses where recovered_by is null) then\n    raise',
    'if false then\n    raise',
    ['src/market/recovery/open-loss-blocks-writes.test.ts'],
  ),
  bug(
    'a-city-goes-on-though-history-is-lost',
    ACTS,
    'if exists (select from history_losses where recovered_by is null) then\n    raise',
    'if false then\n    raise',
    CITY,
  ),
  bug(
    'an-act-whose-hash-forgets-the-one-before',
    ACTS,
    "sha256(coalesce(before.running_hash, '') || int8send(next) || told)",
    'sha256(int8send(next) || told)',
    CITY,
  ),
  bug(
    'a-deletion-is-no-act',
    ACTS,
    'create constraint trigger note_act after insert or update or delete on residents',
    'create constraint trigger note_act after insert or update on residents',
    CITY,
  ),
  bug(
    'a-lost-checkout-is-anybodys',
    BUYERS,
    ` and city_handle = \${cityHandle} and joined_at`,
    ' and joined_at',
    BOUGHT,
  ),
  bug('a-checkout-of-after-the-recovery-was-lost', BUYERS, `where recoveries.at > \${reservedAt}`, '', BOUGHT),
  bug(
    'a-seller-buys-by-a-lost-checkout',
    'src/market/world/sync/decide-sale.ts',
    'merchantId === null || !differsFromSeller',
    'merchantId === null || differsFromSeller === null',
    BOUGHT,
  ),
];
