import fc from 'fast-check';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { listenSample, openSocket, sampleKey, sendRaw } from '../../../../test/support/sample-server.ts';
import { type EventKind, SCOPE_KINDS } from '../../../contract/vocabulary.ts';
import { systemClock } from '../../../platform/clock.ts';
import { createEventTail, readEventPage } from '../read-events.ts';
import { type JsonValue, recordEvent } from '../record-event.ts';
import { createSequencer } from '../sequencer.ts';
import { createEventStream, type EventStreamOptions } from './event-stream.ts';
import { mountEventStream } from './mount-event-stream.ts';

const KINDS: readonly EventKind[] = ['sale', 'rotate', 'listing', 'withdrawal', 'sale'];
const db = testDatabase({ inventedEvents: true });

/** Kinds of all events in the log, in order. */
const log: EventKind[] = [];

/** Queues events in one transaction and numbers them after its commit, as the market does. */
async function append(count: number, detail: Record<string, JsonValue> = {}, of = KINDS): Promise<void> {
  const { database } = db;
  const kinds = Array.from({ length: count }, (_, index) => of[(log.length + index) % of.length] ?? 'sale');
  const market = marketContext({ database });
  await database.transaction(async (tx) => {
    for (const kind of kinds)
      await recordEvent(tx, market, { kind, actor: 'alice', detail: { note: 'a\nb', ...detail } });
  });
  await createSequencer({ database, clock: systemClock, log: recordingLog().log }).whenNumbered();
  log.push(...kinds);
}

/** Returns the ids after `after` whose kind the test accepts. */
function idsAfter(after: number, takes: (kind: EventKind) => boolean = () => true): number[] {
  return log.flatMap((kind, index) => (index >= after && takes(kind) ? [index + 1] : []));
}

beforeAll(() => append(12));

/** Starts a separate server. It learns of new events only when told to look, like a process that follows the database. */
async function serve(changed: Partial<EventStreamOptions> = {}) {
  const { database } = db;
  const tail = createEventTail();
  const stream = createEventStream({ database, clock: systemClock, log: recordingLog().log, tail, ...changed });
  const look = async (): Promise<void> => {
    const apply = await database.transaction((tx) => stream.follower.read(tx), {
      isolation: 'repeatable read',
      readOnly: true,
    });
    apply?.();
  };
  await look();
  const { server, port } = await listenSample({ extraRoutes: () => [mountEventStream(database, stream)] });
  onTestFinished(() => stream.stop());
  return { stream, look, server, port };
}

const get = (query = '', headers: string[] = []) =>
  `GET /api/events/stream${query} HTTP/1.1\r\nHost: x\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;

const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)\nevent: /gm)].map(([, id]) => Number(id));
const until = (holds: () => boolean): Promise<void> => expect.poll(holds, { interval: 2 }).toBe(true);

async function listenTo(port: number, query = '', headers: string[] = []) {
  const client = await openSocket(port, get(query, headers));
  await until(() => client.heard().includes('retry: '));
  const hears = async (ids: readonly number[]): Promise<void> => {
    await until(() => idsIn(client.heard()).length >= ids.length);
    expect(idsIn(client.heard())).toEqual(ids);
  };
  return { ...client, ids: () => idsIn(client.heard()), hears };
}

const statusOf = async (port: number, query: string, headers: string[] = []) => {
  const answer = await sendRaw(port, get(query, ['Connection: close', ...headers]));
  const { reason } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { reason: string };
  return [Number(answer.slice(9, 12)), reason, /\r\nretry-after: \d+\r\n/i.test(answer)];
};

describe('what a stream sends', () => {
  it('is each record as a page of the log shows it, on one line', async () => {
    const { port } = await serve();
    const client = await listenTo(port, '?last_event_id=0');
    await client.hears(idsAfter(0));
    const { events } = await readEventPage(db.database, null, { limit: 500, beforeId: null });
    const expected = events
      .toReversed()
      .map((event) => `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`);
    expect(client.heard().slice(client.heard().indexOf('\r\n\r\n') + 4)).toBe(
      `: the public log\nretry: 2000\n\n${expected.join('')}`,
    );
  });

  it('begins with what comes next, and says from where, so that a client that is cut off misses nothing', async () => {
    const { port, look } = await serve();
    const client = await listenTo(port);
    const before = log.length;
    expect(client.heard().endsWith(`: the public log\nretry: 2000\nid: ${before}\n\n`)).toBe(true);
    await append(2);
    await look();
    await client.hears(idsAfter(before));
    await append(1);
    await look();
    await client.hears(idsAfter(before));
  });

  it('is one kind or one scope where that is asked for, out of memory as out of the database', async () => {
    const { port, look } = await serve();
    const filters: [string, (kind: EventKind) => boolean][] = [
      ['kind=sale', (kind) => kind === 'sale'],
      ['kind=appeal', () => false],
      ['scope=door', (kind) => SCOPE_KINDS.door.includes(kind)],
      ['scope=window', (kind) => SCOPE_KINDS.window.includes(kind)],
    ];
    const clients = await Promise.all(
      filters.map(async ([query, takes]) => ({ takes, client: await listenTo(port, `?${query}&last_event_id=3`) })),
    );
    await append(5);
    await look();
    for (const { takes, client } of clients) await client.hears(idsAfter(3, takes));
  });

  it('goes on after any event, named by header or address, the header first', async () => {
    const { port, look } = await serve({ keptEvents: 4, page: 3 });
    const witness = await listenTo(port);
    await append(6);
    await look();
    await witness.hears(idsAfter(log.length - 6));
    await Promise.all(
      [...Array(log.length + 1).keys()].map(async (after) => {
        const client = await listenTo(port, `?last_event_id=${after}`);
        await client.hears(idsAfter(after));
      }),
    );
    const both = await listenTo(port, '?last_event_id=1', [`Last-Event-ID: ${log.length - 2}`]);
    await both.hears(idsAfter(log.length - 2));
  });

  it('goes on after an event that only other processes know of yet', async () => {
    const { port, look } = await serve();
    await append(2);
    const client = await listenTo(port, '', [`Last-Event-ID: ${log.length - 1}`]);
    await look();
    await client.hears([log.length]);
  });

  it('is a comment now and then, while nothing happens', async () => {
    const { port } = await serve({ beatMs: 10 });
    const client = await listenTo(port);
    await until(() => client.heard().endsWith('\n\n:\n\n:\n\n'));
  });
});

describe('a stream is refused', () => {
  it('with a row of the table where the query is not acceptable', async () => {
    const { port } = await serve();
    expect(await statusOf(port, '?kind=sale&scope=door')).toEqual([400, 'invalid_query', false]);
    expect(await statusOf(port, '?kind=nothing')).toEqual([400, 'invalid_query', false]);
    expect(await statusOf(port, '?limit=5')).toEqual([400, 'unexpected_fields', false]);
    expect(await statusOf(port, `?last_event_id=${sampleKey}`)).toEqual([400, 'secret_in_payload', false]);
    for (const id of ['', 'x', '-1', '1.5', '01', `${log.length + 1}`, '9'.repeat(40)]) {
      expect([id, ...(await statusOf(port, `?last_event_id=${id}`))]).toEqual([id, 400, 'cursor_invalid', false]);
    }
    expect(await statusOf(port, '?last_event_id=1', ['Last-Event-ID: 2', 'Last-Event-ID: 3'])).toContain(
      'cursor_invalid',
    );
  });

  it('when one network, or all together, have as many as they may, until one goes', async () => {
    for (const [changed, status, reason] of [
      [{ mostPerNetwork: 2 }, 429, 'rate_limited'],
      [{ most: 2 }, 503, 'unavailable'],
    ] as const) {
      const { port, stream } = await serve(changed);
      const first = await listenTo(port);
      await listenTo(port);
      expect(await statusOf(port, '')).toEqual([status, reason, true]);
      first.socket.destroy();
      await until(() => stream.open() === 1);
      await listenTo(port);
    }
  });
});

describe('clients', () => {
  it('come and go at any time, and each hears every event once and in order', async () => {
    const step = fc.record({
      act: fc.constantFrom('append' as const, 'look' as const, 'wait' as const, 'come' as const, 'return' as const),
      number: fc.nat(5),
    });
    const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      const { port, look, stream } = await serve({ keptEvents: 5, page: 2 });
      const guests: { begun: number; earlier: number[]; client: Awaited<ReturnType<typeof listenTo>> }[] = [];
      const acts = {
        append: (number: number) => append(number + 1),
        look,
        wait: (number: number) => systemClock.sleep(number),
        come: async () => void guests.push({ begun: stream.head(), earlier: [], client: await listenTo(port) }),
        return: async (number: number) => {
          const guest = guests[number % guests.length];
          if (guest === undefined) return;
          guest.earlier.push(...guest.client.ids());
          guest.client.socket.destroy();
          guest.client = await listenTo(port, '', [`Last-Event-ID: ${guest.earlier.at(-1) ?? guest.begun}`]);
        },
      };
      for (const { act, number } of steps) await acts[act](number);
      await look();
      for (const { begun, earlier, client } of guests) {
        await client.hears(idsAfter(earlier.at(-1) ?? begun));
        expect([...earlier, ...client.ids()]).toEqual(idsAfter(begun));
      }
    });
    await fc.assert(run, { numRuns: 4, endOnFailure: true });
  });

  it('are told when the server stops, which waits for none of them', async () => {
    const { port, stream, server } = await serve();
    const clients = await Promise.all([listenTo(port), listenTo(port), listenTo(port)]);
    const begun = performance.now();
    await stream.stop();
    expect(await statusOf(port, '')).toEqual([503, 'unavailable', true]);
    await server.close({ drainMs: 20_000 });
    expect(performance.now() - begun).toBeLessThan(5_000);
    await until(() => clients.every(({ closed }) => closed()));
    for (const { heard } of clients)
      expect(heard().endsWith(': the market is stopping; reconnect with the last id\n\n')).toBe(true);
  });

  it('that do not read are disconnected, and delay no other client', async () => {
    const { port, stream, look } = await serve({ page: 2, beatMs: 20 });
    // Send more than both ends of a connection buffer.
    const [count, size] = [14, 700_000];
    const begun = log.length;
    // Use a kind that is in neither of the views that the tail keeps.
    await append(count, { much: 'a'.repeat(size) }, ['rotate']);
    await look();
    const idle = await openSocket(port, get(`?last_event_id=${begun}`));
    idle.socket.pause();
    let taken = 0;
    const keen = await openSocket(port, get(`?last_event_id=${begun}`));
    keen.socket.removeAllListeners('data');
    keen.socket.on('data', (chunk) => {
      taken += chunk.length;
    });
    await until(() => stream.open() === 2);
    await until(() => stream.open() === 1 && taken > count * size);
    expect(keen.closed()).toBe(false);
    idle.socket.resume();
    await until(() => idle.closed());
    expect(idle.heard().length).toBeLessThan((count - 1) * size);
  });
});
