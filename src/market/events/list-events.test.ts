import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { type Endpoints, endpoints } from '../../contract/index.ts';
import { EVENT_KINDS, type EventKind, SCOPE_KINDS, SCOPES, type Scope } from '../../contract/vocabulary.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { MarketCall } from '../context.ts';
import { listEvents } from './read-events.ts';
import { recordEvent } from './record-event.ts';
import { createSequencer } from './sequencer.ts';

const COUNT = 45;
const db = testDatabase({ inventedEvents: true });

const kindOf = (id: number): EventKind => EVENT_KINDS[id % 5] ?? 'sale';

async function queue(database: Database, kind: EventKind, listing: number | null = null): Promise<void> {
  const market = marketContext({ database });
  const detail = listing === null ? { merchant_id: 7 } : { listing_id: listing };
  await database.transaction((tx) => recordEvent(tx, market, { kind, actor: 'alice', detail }));
}

/** Assigns every third event to one of two listings. */
const listingOf = (id: number): number | null => (id % 3 === 0 ? 7 + (id % 2) : null);

const number = (database: Database): Promise<void> =>
  createSequencer({ database, clock: systemClock, log: recordingLog().log }).whenNumbered();

beforeAll(async () => {
  for (let id = 1; id <= COUNT; id += 1) await queue(db.database, kindOf(id), listingOf(id));
  await number(db.database);
  // Queue an event without numbering it: no answer may show or count it.
  await queue(db.database, 'sale', 7);
});

type Given = { kind?: EventKind; scope?: Scope; listing_id?: string; limit?: string; before_id?: string };

async function list(given: Given) {
  const query = endpoints.listEvents.query.parse(given);
  const call = { query } as MarketCall<Endpoints['listEvents']>;
  return (await listEvents(marketContext({ database: db.database }), call)).body;
}

const idsWhere = (fits: (kind: EventKind, id: number) => boolean): number[] =>
  Array.from({ length: COUNT }, (_, index) => COUNT - index).filter((id) => fits(kindOf(id), id));

const filters: [string, Given, (kind: EventKind, id: number) => boolean][] = [
  ['everything', {}, () => true],
  ...EVENT_KINDS.slice(0, 5).map((kind): [string, Given, (kind: EventKind) => boolean] => [
    `kind ${kind}`,
    { kind },
    (other) => other === kind,
  ]),
  ...SCOPES.map((scope): [string, Given, (kind: EventKind) => boolean] => [
    `scope ${scope}`,
    { scope },
    (kind) => SCOPE_KINDS[scope].includes(kind),
  ]),
  ['listing 7', { listing_id: '7' }, (_kind, id) => listingOf(id) === 7],
  ['listing 8', { listing_id: '8' }, (_kind, id) => listingOf(id) === 8],
];

test.each(filters)(
  'a walk over %s gives each of its rows once, with the exact total on every page',
  async (_name, filter, fits) => {
    const expected = idsWhere(fits);
    expect(expected.length).toBeGreaterThan(0);
    const walked: number[] = [];
    let before: number | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({
        ...filter,
        limit: '4',
        ...(before === null ? {} : { before_id: String(before) }),
      });
      expect(endpoints.listEvents.answers[200].parse(page)).toEqual(page);
      expect(page).toMatchObject({ total: expected.length, returned: page.events.length, page_size: 4 });
      walked.push(...page.events.map(({ id }) => id));
      expect(page.has_more).toBe(walked.length < expected.length);
      before = page.next_before_id;
      if (before !== null) expect(before).toBe(walked.at(-1));
    } while (before !== null);
    expect(walked).toEqual(expected);
  },
);

test('a filter without rows is an empty, complete answer', async () => {
  expect(await list({ kind: 'world_sale' })).toEqual({
    events: [],
    total: 0,
    returned: 0,
    page_size: 200,
    has_more: false,
    next_before_id: null,
  });
});

test('an unknown listing has no events, and two filters at once are refused', async () => {
  expect(await list({ listing_id: '9' })).toMatchObject({ events: [], total: 0, has_more: false });
  for (const given of [
    { kind: 'sale', listing_id: '7' },
    { scope: 'door', listing_id: '7' },
  ])
    expect(endpoints.listEvents.query.safeParse(given).success).toBe(false);
});

test('a cursor at the oldest row is answered with an empty last page', async () => {
  expect(await list({ before_id: '1' })).toMatchObject({ events: [], total: COUNT, has_more: false });
});

test.each<[string, Given]>([
  ['names no event', { before_id: String(COUNT + 1) }],
  ['names an event far off', { before_id: '9007199254740991' }],
  ['names an event of another kind', { kind: kindOf(1), before_id: '2' }],
  ['names an event of another listing', { listing_id: '7', before_id: '3' }],
  ['names an event outside of the scope', { scope: 'door', before_id: String(EVENT_KINDS.indexOf('rotate')) }],
])('a cursor that %s is refused', async (_what, given) => {
  await expect(list(given)).rejects.toMatchObject({ reason: 'cursor_invalid' });
});
