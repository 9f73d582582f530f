import { DEFAULT_LIMITS } from '../../../contract/vocabulary.ts';
import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Listener } from '../../../platform/http/message.ts';
import type { Log } from '../../../platform/log.ts';
import { systemRandom } from '../../../platform/random.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { EventTail } from '../read-events.ts';
import { createBacklog, createRecentEvents, type StreamFilter } from './recent-events.ts';
import { createSlots, type SlotOptions, slotOptions } from './slots.ts';

const HEARTBEAT_MS = 10_000;
/** A client is disconnected after this many heartbeats in which it took no bytes. */
const MAX_STALLED_BEATS = 6;
const RESTART_RETRY_SECONDS = 2;

const HEARTBEAT = Buffer.from(':\n\n');
const STOPPING = Buffer.from(': the market is stopping; reconnect with the last id\n\n');
const SLOT_TAKEN = Buffer.from(': another client took this slot; reconnect with the last id\n\n');

export interface EventStreamOptions extends Partial<SlotOptions> {
  database: Database;
  clock: Clock;
  log: Log;
  tail: EventTail;
  beatMs?: number;
  /** Events kept in memory. `page` is the number of events per page if a client reads from the database. */
  keptEvents?: number;
  page?: number;
}

interface StreamRequest {
  filter: StreamFilter;
  /** Id of the last event the client has. Null to start with the next one. */
  after: number | null;
  clientNetwork: string;
}

export interface EventStream {
  /** Wraps the tail, so that the stream is notified of news. Read the tail through it. */
  follower: FollowedTail;
  /** Id of the newest event this process knows. */
  head(): number;
  /** Takes a slot or refuses. Returns the functions that start the stream and free the slot. */
  admit(request: StreamRequest): { listen(listener: Listener): void; release(): void };
  open(): number;
  stop(): Promise<void>;
}

/** A connected client. It has no queue, because there may be thousands: missing events are read again from its cursor. */
interface Client {
  readonly filter: StreamFilter;
  readonly listener: Listener;
  /** All events up to here were written or do not match its filter. */
  cursor: number;
  /** `reading` while a page is being read, `full` while it accepts no bytes. */
  state: 'ready' | 'reading' | 'full' | 'gone';
  /** True if no bytes were written since the last heartbeat. */
  quiet: boolean;
  stalledBeats: number;
}

/** Streams the public log to any number of clients, each at its own pace. */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { clock, log, tail } = options;
  const stopping = new AbortController();
  const stopped = stopping.signal;
  const clients = new Set<Client>();
  const news = createSignal();
  const takeSlot = createSlots({ ...slotOptions(DEFAULT_LIMITS, systemRandom), ...options });
  const flow = createFlow(options, stopped, () => tail.version());
  let running: Promise<unknown> | null = null;

  /** Reads events only while clients listen. */
  const start = (): Promise<unknown> => {
    flow.forget();
    const runRound = async (): Promise<void> => {
      if (clients.size === 0) return flow.forget();
      await flow.readNews();
      await forEachInSlices(clients, flow.sendNext);
    };
    const sendHeartbeats = async (): Promise<void> => {
      while (!stopped.aborted) {
        await clock.sleep(options.beatMs ?? HEARTBEAT_MS, stopped);
        if (!stopped.aborted) await forEachInSlices(clients, flow.sendHeartbeat);
      }
    };
    return Promise.all([runOnSignal({ clock, log, stopped }, news, runRound), sendHeartbeats()]);
  };

  return {
    follower: followTail(tail, news.send),
    head: () => tail.version(),
    admit: ({ filter, after, clientNetwork }) => {
      if (stopped.aborted) throw new Refusal('unavailable', { retryAfterSeconds: RESTART_RETRY_SECONDS });
      let client: Client | null = null;
      let isGone = false;
      let isEvicted = false;
      const freeSlot = takeSlot(clientNetwork, () => {
        isEvicted = true;
        client?.listener.end(SLOT_TAKEN);
      });
      return {
        listen: (listener) => {
          if (isEvicted) return listener.end(SLOT_TAKEN);
          if (isGone || stopped.aborted) return listener.end(STOPPING);
          running ??= start();
          const cursor = after ?? tail.version();
          client = { filter, listener, cursor, state: 'ready', quiet: false, stalledBeats: 0 };
          clients.add(client);
          flow.greet(client, after === null);
        },
        release: () => {
          isGone = true;
          freeSlot();
          if (client === null) return;
          client.state = 'gone';
          clients.delete(client);
        },
      };
    },
    open: () => clients.size,
    stop: async () => {
      stopping.abort();
      news.send();
      for (const { listener } of clients) listener.end(STOPPING);
      await running;
    },
  };
}

/** Sends bytes to a client from memory or, if its cursor is older, from the database; never from both at the same time. */
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
      sendNext(client);
    });
  };
  const sendNext = (client: Client): void => {
    while (client.state === 'ready' && client.cursor < head()) {
      if (client.cursor < recent.base()) {
        client.state = 'reading';
        readBacklog(client);
        return;
      }
      // The event is not in memory yet. The next round continues here.
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
      sendNext(client);
    },
  });

  return {
    sendNext,
    greet: (client: Client, live: boolean): void => {
      // An id alone is not an event. It ensures that a client cut off before its first event misses none.
      deliver(client, Buffer.from(`: the public log\nretry: 2000\n${live ? `id: ${client.cursor}\n` : ''}\n`));
      sendNext(client);
    },
    sendHeartbeat: (client: Client): void => {
      if (client.state === 'full') {
        client.stalledBeats += 1;
        if (client.stalledBeats >= MAX_STALLED_BEATS) client.listener.cut();
      } else if (client.state === 'ready') {
        if (client.quiet) deliver(client, HEARTBEAT);
        client.quiet = true;
      }
    },
    readNews: () => recent.readTo(options.database, head()),
    forget: () => recent.forget(head()),
  };
}

type FollowedTail = Pick<EventTail, 'read'>;

/** Wraps a tail to call `notify` on news, possibly in the middle of a transaction. */
function followTail(tail: EventTail, notify: () => void): FollowedTail {
  return {
    read: async (queryable) => {
      const apply = await tail.read(queryable);
      return (
        apply &&
        (() => {
          apply();
          notify();
        })
      );
    },
  };
}

/** Shortest pause between rounds. News that arrives meanwhile is sent together. */
const ROUND_EVERY_MS = 100;
/** The pause is this many times as long as the round before it, so that streams never starve other work. */
const PAUSE_FACTOR = 4;
const LONGEST_PAUSE_MS = 1_000;
const RETRY_MS = 1_000;
/** Clients handled before yielding. */
const CLIENTS_PER_SLICE = 50;

interface Signal {
  send(): void;
  /** Resolves once `send` was called after the last `received`. */
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

/** Runs rounds in a loop of its own, because `send` may be called in the middle of a transaction and a round queries the database. */
async function runOnSignal(
  { clock, log, stopped }: { clock: Clock; log: Log; stopped: AbortSignal },
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
      // Log once per outage.
      if (!failing) log.error('event_stream_failed', { error });
      failing = true;
      signal.send();
      await clock.sleep(RETRY_MS, stopped);
    }
    const rest = Math.min((clock.now() - begun) * PAUSE_FACTOR, LONGEST_PAUSE_MS);
    await clock.sleep(Math.max(rest, ROUND_EVERY_MS), stopped);
  }
}

/** Acts on all items in slices. Includes items added meanwhile, but not removed ones. */
async function forEachInSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % CLIENTS_PER_SLICE === 0) await yieldToEventLoop();
  }
}
