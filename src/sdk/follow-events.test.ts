import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { followEvents } from './follow-events.ts';

const EVENT = { id: 1, at: '2030-01-01T00:00:00.000Z', kind: 'merchant_joined', actor: 'someone', detail: {} };

/** Follows a market that sends its event stream in these pieces. */
function follow(pieces: readonly string[]) {
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
  const fetch = async (): Promise<Response> =>
    new Response(ReadableStream.from(bytes), { headers: { 'content-type': 'text/event-stream' } });
  const client = createClient({ baseUrl: 'http://market.example', environment: { fetch } });
  return followEvents(client)[Symbol.asyncIterator]();
}

test('an event is read however it is cut into pieces', async () => {
  const whole = `: hello\n\nid: 1\ndata: ${JSON.stringify(EVENT)}\n\n`;
  for (const pieces of [[whole], [...whole], [whole.slice(0, -1), '\n'], [whole.slice(0, 9), whole.slice(9)]]) {
    const events = follow(pieces);
    expect((await events.next()).value).toMatchObject({ id: 1, actor: 'someone' });
    await events.return();
  }
});

test('a long event in very many pieces takes no more time than its length', async () => {
  const begun = process.cpuUsage();
  const events = follow([...Array.from({ length: 60_000 }, () => 'x'), '\n\n', `data: ${JSON.stringify(EVENT)}\n\n`]);
  expect((await events.next()).value).toMatchObject({ id: 1 });
  await events.return();
  const { user, system } = process.cpuUsage(begun);
  expect((user + system) / 1_000).toBeLessThan(6_000);
});
