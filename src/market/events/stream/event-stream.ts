import { DEFAULT_LIMITS } from '../../../contract/vocabulary.ts';
import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Listener } from '../../../platform/http/message.ts';
import type { Log } from '../../../platform/log.ts';
import { systemRandom } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { EventTail } from '../read-events.ts';
import { createPlaces, type PlacesOptions, placesOf } from './places.ts';
import { createBacklog, createRecentEvents, type StreamFilter } from './recent-events.ts';

const BEAT_MS = 10_000;
/** Beats without its bytes being taken, after which a client is let go. */
const MOST_STALLED = 6;
const RESTART_RETRY_SECONDS = 2;

const HEARTBEAT = Buffer.from(':\n\n');
const LAST_WORD = Buffer.from(': the market stops here; come back with the last id\n\n');
const PLACE_DRAWN = Buffer.from(': another client has this place now; come back with the last id\n\n');

export interface EventStreamOptions extends Partial<PlacesOptions> {
  database: Database;
  clock: Clock;
  log: Log;
  tail: EventTail;
  beatMs?: number;
  /** Events in memory, and on a page that is read for a client that is further behind. */
  keptEvents?: number;
  page?: number;
}

/** What a client asks for. */
export interface StreamRequest {
  filter: StreamFilter;
  /** The last event that it has; null: it begins with what comes next. */
  after: number | null;
  clientNetwork: string;
}

export interface EventStream {
  /** The tail, for whatever keeps it up to date; the stream hears of it. */
  follower: FollowedTail;
  /** How far the log goes, as far as this process knows. */
  head(): number;
  /** Takes a place, or refuses. Both are parts of the answer. */
  admit(request: StreamRequest): { listen(listener: Listener): void; release(): void };
  /** How many listen. */
  open(): number;
  /** Ends every stream and takes no more. */
  stop(): Promise<void>;
}

/** One of thousands, so it is small: what it has not got yet is not kept for it but read again, from its cursor. */
interface Client {
  readonly filter: StreamFilter;
  readonly listener: Listener;
  /** Everything up to there is written to it, or is not for it. */
  cursor: number;
  /** `reading`: a page is on its way. `full`: it takes nothing now. */
  state: 'ready' | 'reading' | 'full' | 'gone';
  /** Nothing was written since the last beat. */
  quiet: boolean;
  stalledBeats: number;
}

/** The public log as it grows, for any number of clients, each at its own pace. */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { clock, log, tail } = options;
  const stopping = new AbortController();
  const stopped = stopping.signal;
  const clients = new Set<Client>();
  const bell = createSignal();
  const takePlace = createPlaces({ ...placesOf(DEFAULT_LIMITS, systemRandom), ...options });
  const flow = createFlow(options, stopped, () => tail.version());
  let running: Promise<unknown> | null = null;

  /** Events are read only while a client listens. */
  const start = (): Promise<unknown> => {
    flow.forget();
    const round = async (): Promise<void> => {
      if (clients.size === 0) return flow.forget();
      await flow.readNews();
      await forEachInSlices(clients, flow.bringOn);
    };
    const beats = async (): Promise<void> => {
      while (!stopped.aborted) {
        await clock.sleep(options.beatMs ?? BEAT_MS, stopped);
        if (!stopped.aborted) await forEachInSlices(clients, flow.beat);
      }
    };
    return Promise.all([runOnSignal({ clock, log, stopped }, bell, round), beats()]);
  };

  return {
    follower: followTail(tail, bell.send),
    head: () => tail.version(),
    admit: ({ filter, after, clientNetwork }) => {
      if (stopped.aborted) throw new Refusal('unavailable', { retryAfterSeconds: RESTART_RETRY_SECONDS });
      let client: Client | null = null;
      let isGone = false;
      let isDrawn = false;
      const giveBack = takePlace(clientNetwork, () => {
        isDrawn = true;
        client?.listener.end(PLACE_DRAWN);
      });
      return {
        listen: (listener) => {
          if (isDrawn) return listener.end(PLACE_DRAWN);
          if (isGone || stopped.aborted) return listener.end(LAST_WORD);
          running ??= start();
          const cursor = after ?? tail.version();
          client = { filter, listener, cursor, state: 'ready', quiet: false, stalledBeats: 0 };
          clients.add(client);
          flow.greet(client, after === null);
        },
        release: () => {
          isGone = true;
          giveBack();
          if (client === null) return;
          client.state = 'gone';
          clients.delete(client);
        },
      };
    },
    open: () => clients.size,
    stop: async () => {
      stopping.abort();
      bell.send();
      for (const { listener } of clients) listener.end(LAST_WORD);
      await running;
    },
  };
}

/** How bytes come to one client: from memory where its place is there, otherwise from the database, and never both at once. */
function createFlow(options: EventStreamOptions, stopped: AbortSignal, head: () => number) {
  const recent = createRecentEvents(options.keptEvents);

  const deliver = (client: Client, bytes: Buffer): void => {
    client.quiet = false;
    if (client.listener.write(bytes)) return;
    client.state = 'full';
    client.stalledBeats = 0;
    client.listener.onceDrained(() => {
      if (client.state !== 'full') return;
      client.state = 'ready';
      bringOn(client);
    });
  };
  const bringOn = (client: Client): void => {
    while (client.state === 'ready' && client.cursor < head()) {
      if (client.cursor < recent.base()) {
        client.state = 'reading';
        readBacklog(client);
        return;
      }
      // Not read yet: the round that reads it comes by here.
      if (client.cursor >= recent.last()) return;
      const { bytes, upTo } = recent.after(client.cursor, client.filter);
      client.cursor = upTo;
      if (bytes !== null) deliver(client, bytes);
    }
  };
  const readBacklog = createBacklog<Client>({
    ...options,
    stopped,
    head,
    isGone: ({ state }) => state === 'gone',
    take: (client, bytes) => {
      client.state = 'ready';
      if (bytes !== null) deliver(client, bytes);
      bringOn(client);
    },
  });

  return {
    bringOn,
    greet: (client: Client, live: boolean): void => {
      // The id alone is no event; with it a client that is cut off before the first one still misses none.
      deliver(client, Buffer.from(`: the public log\nretry: 2000\n${live ? `id: ${client.cursor}\n` : ''}\n`));
      bringOn(client);
    },
    beat: (client: Client): void => {
      if (client.state === 'full') {
        client.stalledBeats += 1;
        if (client.stalledBeats >= MOST_STALLED) client.listener.cut();
      } else if (client.state === 'ready') {
        if (client.quiet) deliver(client, HEARTBEAT);
        client.quiet = true;
      }
    },
    readNews: () => recent.readTo(options.database, head()),
    forget: () => recent.forget(head()),
  };
}

/** What has to be known of a tail to keep it up to date. */
type FollowedTail = Pick<EventTail, 'read'>;

/** The same tail, that tells whenever something was taken in. It may do so in the middle of a transaction. */
function followTail(tail: EventTail, tell: () => void): FollowedTail {
  return {
    read: async (queryable) => {
      const apply = await tail.read(queryable);
      return (
        apply &&
        (() => {
          apply();
          tell();
        })
      );
    },
  };
}

/** From one round to the next: what happens in between goes out together. */
const EVERY_MS = 100;
/** After a round there is a pause so many times as long, so that listeners never take the process from others. */
const REST = 4;
const LONGEST_REST_MS = 1_000;
const RETRY_MS = 1_000;
/** Done without letting others in between. */
const SLICE = 50;

export interface Signal {
  send(): void;
  /** Resolves when it was sent after the last call. */
  received(): Promise<void>;
}

function createSignal(): Signal {
  let wake = (): void => {};
  const nextSignal = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  let pending = nextSignal();
  return {
    send: () => wake(),
    received: async () => {
      await pending;
      pending = nextSignal();
    },
  };
}

export interface SignalLoopOptions {
  clock: Clock;
  log: Log;
  stopped: AbortSignal;
}

/** A loop of its own: the caller that sends may be in the middle of a transaction, and a round asks the database. */
async function runOnSignal(
  { clock, log, stopped }: SignalLoopOptions,
  signal: Signal,
  round: () => Promise<void>,
): Promise<void> {
  let failing = false;
  while (!stopped.aborted) {
    await signal.received();
    if (stopped.aborted) return;
    const begun = clock.now();
    try {
      await round();
      failing = false;
    } catch (error) {
      // One line for a whole outage.
      if (!failing) log.error('event_stream_failed', { error });
      failing = true;
      signal.send();
      await clock.sleep(RETRY_MS, stopped);
    }
    const rest = Math.min((clock.now() - begun) * REST, LONGEST_REST_MS);
    await clock.sleep(Math.max(rest, EVERY_MS), stopped);
  }
}

/** In slices. Who comes meanwhile has a turn too, and who goes has none. */
async function forEachInSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % SLICE === 0) await yieldToEventLoop();
  }
}
