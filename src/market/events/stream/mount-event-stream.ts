import { z } from 'zod';
import { EVENT_KINDS, SCOPES } from '../../../contract/vocabulary.ts';
import type { Database } from '../../../platform/database/database.ts';
import { refuseIssues } from '../../../platform/http/failure.ts';
import { type Incoming, readQuery } from '../../../platform/http/message.ts';
import type { ExtraRoute } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { readNewestEventId } from '../store.ts';
import type { EventStream } from './event-stream.ts';
import { streamFilter } from './recent-events.ts';

export const STREAM_PATH = '/api/events/stream';

const query = z
  .strictObject({
    kind: z.enum(EVENT_KINDS).optional(),
    scope: z.enum(SCOPES).optional(),
    last_event_id: z.string().optional(),
  })
  .refine(({ kind, scope }) => kind === undefined || scope === undefined, 'give kind or scope, not both');

/** 0 stands for the position before the first event. */
const EVENT_ID = /^(?:0|[1-9]\d{0,14})$/;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Keep proxies from buffering, which would delay events.
  'x-accel-buffering': 'no',
};

/** Streams the records of /api/events to each client, oldest first. */
export function mountEventStream(database: Database, stream: EventStream): ExtraRoute {
  return {
    method: 'GET',
    withHead: true,
    path: STREAM_PATH,
    answer: async (incoming) => {
      const parsed = query.safeParse(readQuery(incoming.target.query));
      if (!parsed.success) throw refuseIssues(parsed.error.issues, 'invalid_query');
      const { kind, scope, last_event_id: inQuery } = parsed.data;
      const filter = streamFilter(kind !== undefined ? { kind } : scope !== undefined ? { scope } : null);
      const after = await readLastEventId(incoming, inQuery, { database, stream });
      const { clientNetwork } = incoming;
      return { status: 200, headers: HEADERS, body: '', ...stream.admit({ filter, after, clientNetwork }) };
    },
  };
}

/** Reads the header first, because a reconnecting browser repeats its original URL. */
async function readLastEventId(
  { headers }: Incoming,
  inQuery: string | undefined,
  { database, stream }: { database: Database; stream: EventStream },
): Promise<number | null> {
  const text = headers['last-event-id'] ?? inQuery;
  if (text === undefined) return null;
  const id = typeof text === 'string' && EVENT_ID.test(text) ? Number(text) : null;
  // Another process may have sent events that this one does not know yet.
  const isKnown = id !== null && (id <= stream.head() || id <= (await readNewestEventId(database)));
  if (!isKnown) throw new Refusal('cursor_invalid', { detail: 'Last-Event-ID does not name an event of the log.' });
  return id;
}
