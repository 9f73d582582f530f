import { type Sabotage, world } from '../sabotage.ts';

const RECORD = 'src/market/events/record-event.ts';
const EVENTS = 'src/market/events/store.ts';
const LOG = ['src/platform/create-log.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** The public log, and the one for the operator. */
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
    'src/platform/redact.ts',
    'x-payment-response|x-payment|payment-signature',
    'x-payment-response|payment-signature',
    LOG,
  ),
  bug(
    'fields-that-nobody-allowed-in-the-log',
    'src/platform/create-log.ts',
    'if (!allowed.has(name)) leftOut.push(cut(name));\n    else shown',
    'shown',
    LOG,
  ),
  bug('secrets-in-the-log', 'src/platform/create-log.ts', 'const safe = redact(', 'const safe = String(', LOG),
];
