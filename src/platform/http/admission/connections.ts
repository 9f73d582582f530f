import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../refusal.ts';
import { type ClientNames, clientNetwork, networkLevels } from '../client-network.ts';
import {
  BODY_GRACE_MS,
  FLOOD_PAUSE_MS,
  MAX_FLOODS_PER_TURN,
  MIN_BODY_BYTES_PER_SECOND,
  NETWORK_PART,
  type Rule,
  type RuleCounts,
  STALLED_ANSWER_MS,
  shareOf,
} from './bounds.ts';

interface SocketsOptions {
  total: number;
  clock: Clock;
  names: ClientNames;
  rules: RuleCounts;
}

/** Divisor: when idle sockets must make room, at most a sixteenth of all sockets is closed at a time. */
const ROOM_PART = 16;
const SCAN_PAUSE_MS = 100;

/** Counts open sockets, in total and by network, and closes idle ones to make room for new ones. */
export function createSockets({ total, clock, names, rules }: SocketsOptions) {
  const all = new Set<Connection>();
  const bySite = new Map<string, Set<Connection>>();
  const maxPerNetwork = shareOf(total, NETWORK_PART);
  const pause = createReadPause(all, clock);
  let streams = 0;
  let scanAgainAt = 0;

  const refuse = (socket: Socket, rule: Rule): void => {
    rules[rule] += 1;
    socket.destroy();
  };
  const remove = (connection: Connection): void => {
    const { peer } = connection;
    if (peer === null) return;
    bySite.get(peer.site)?.delete(connection);
    if (bySite.get(peer.site)?.size === 0) bySite.delete(peer.site);
  };
  /** Closes idle sockets. If none is idle, the network with the most sockets loses one to a newcomer with far fewer. */
  const makeRoom = (newcomers: number): boolean => {
    if (clock.now() >= scanAgainAt && closeIdle(all, shareOf(total, ROOM_PART), rules) > 0) return true;
    // Do not scan all sockets for each new one, because strangers could cause that work.
    scanAgainAt = Math.max(scanAgainAt, clock.now() + SCAN_PAUSE_MS);
    const [largest] = [...bySite.values()].toSorted((a, b) => b.size - a.size);
    if (largest === undefined || largest.size <= 2 * (newcomers + 1)) return false;
    for (const connection of largest) {
      if (connection.socket.destroyed || connection.isAnswering()) continue;
      refuse(connection.socket, 'sockets_full');
      return true;
    }
    return false;
  };
  return {
    /** Admits the socket, or closes it if there is no room. */
    admit: (socket: Socket): void => {
      const address = socket.remoteAddress;
      const counted = clientNetwork(address);
      const peer = names.isProxy(address) ? null : { address: counted, site: networkLevels(counted).site };
      const own = peer === null ? undefined : bySite.get(peer.site);
      if (own !== undefined && own.size >= maxPerNetwork && closeIdle(own, 1, rules) === 0) {
        return void refuse(socket, 'sockets_of_network');
      }
      if (all.size - streams >= total && !makeRoom(own?.size ?? 0)) return void refuse(socket, 'sockets_full');
      const connection = new Connection(socket, peer);
      all.add(connection);
      own?.add(connection);
      if (peer !== null && own === undefined) bySite.set(peer.site, new Set([connection]));
      socket.once('close', () => {
        all.delete(connection);
        if (connection.isStream) streams -= 1;
        else remove(connection);
      });
      // Node starts to read in the next tick, which would undo an earlier pause.
      if (pause.includes(connection)) process.nextTick(() => socket.pause());
    },
    pauseReading: pause.start,
    /** Marks the connection as a stream, which a separate pool counts. */
    leave: (connection: Connection): void => {
      if (connection.isStream) return;
      connection.isStream = true;
      if (!all.has(connection)) return;
      streams += 1;
      remove(connection);
    },
    count: (): number => all.size - streams,
    /** All connections, including streams. */
    each: (): Iterable<Connection> => all,
  };
}

/**
 * Stops reading from a client's network for a while. If several clients flood in one turn, stops reading from everybody until the next
 * turn. One read can hold thousands of requests, and Node keeps them in memory until the closed socket is released at the end of the turn,
 * so many such sockets would fill the memory.
 */
function createReadPause(all: ReadonlySet<Connection>, clock: Clock) {
  const sites = new Set<string>();
  let floodsInTurn = 0;
  const includes = ({ peer }: Connection): boolean => peer !== null && sites.has(peer.site);
  const endTurn = (): void => {
    if (floodsInTurn >= MAX_FLOODS_PER_TURN) for (const one of all) if (!includes(one)) one.socket.resume();
    floodsInTurn = 0;
  };
  const pauseSite = async (site: string): Promise<void> => {
    const members = () => [...all].filter(({ peer }) => peer?.site === site);
    sites.add(site);
    for (const { socket } of members()) socket.pause();
    await clock.sleep(FLOOD_PAUSE_MS);
    sites.delete(site);
    for (const { socket } of members()) socket.resume();
  };
  return {
    includes,
    start: ({ peer }: Connection): void => {
      if (floodsInTurn === 0) setImmediate(endTurn);
      floodsInTurn += 1;
      if (floodsInTurn === MAX_FLOODS_PER_TURN) for (const { socket } of all) socket.pause();
      if (peer !== null && !sites.has(peer.site)) void pauseSite(peer.site);
    },
  };
}

/** Closes the oldest idle sockets, at most `most`. Returns how many. */
function closeIdle(among: Iterable<Connection>, most: number, rules: RuleCounts): number {
  let closed = 0;
  for (const connection of among) {
    if (closed >= most) break;
    if (connection.socket.destroyed || !connection.isIdle()) continue;
    rules.idle_closed += 1;
    connection.socket.destroy();
    closed += 1;
  }
  return closed;
}

export interface Slot {
  site: string;
  /** True if the slot is one of those reserved for requests with a key, token or proof. */
  isReserved: boolean;
  release(): void;
}

const CONNECTION = Symbol('connection');

/** Returns the connection of a socket that a guarded server accepted. */
export function connectionOf(socket: Socket): Connection | undefined {
  return (socket as { [CONNECTION]?: Connection })[CONNECTION];
}

/** One client socket and the request being read or answered on it. Kept small, because there are thousands. */
export class Connection {
  readonly socket: Socket;
  /** The peer's counted address and its site. Null for a trusted proxy, which stands for many clients. */
  readonly peer: { address: string; site: string } | null;
  request: IncomingMessage | null = null;
  response: ServerResponse | null = null;
  /** Reason not to serve the request now. Null: serve it. */
  refusal: Refusal | null = null;
  /** Set for a request with a body: when its head was complete, and how many bytes the socket had received by then. */
  headAt = 0;
  bytesAtHead = 0;
  /** True if a second request has been read; it begins when the current one is answered. */
  isQueued = false;
  /** Number of requests read after the queued one. The first of them closes the connection. */
  dropped = 0;
  /** True if the answer is endless. */
  isStream = false;
  /** Held until the answer is sent. */
  slot: Slot | null = null;
  /** State at the last check: bytes not yet taken by the kernel, bytes written in total, and the time since when neither has changed. */
  #queued = 0;
  #written = 0;
  #stalledSince = 0;

  constructor(socket: Socket, peer: Connection['peer']) {
    this.socket = socket;
    this.peer = peer;
    // Stored on the socket, because a map would cost a lookup for every request.
    (socket as { [CONNECTION]?: Connection })[CONNECTION] = this;
  }

  begin(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
    this.request = request;
    this.response = response;
    this.refusal = null;
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length === undefined && coding === undefined) return;
    this.headAt = clock.now();
    this.bytesAtHead = this.socket.bytesRead;
  }

  /** True if the request is complete and its answer is not sent yet. */
  isAnswering(): boolean {
    return this.request?.complete === true && this.response?.writableFinished === false;
  }

  /**
   * Like `isAnswering`, but also true if the answer began before the request was complete. False once the kernel has taken the whole
   * answer.
   */
  hasBegunToAnswer(): boolean {
    const { response } = this;
    if (response === null || (response.writableEnded && response.writableLength === 0)) return false;
    return this.isAnswering() || response.headersSent;
  }

  isReadingBody(): boolean {
    return this.request !== null && !this.request.complete;
  }

  /** True if an earlier request was answered and there is no current one. */
  isIdle(): boolean {
    return !this.isQueued && this.request?.complete === true && this.response?.writableFinished === true;
  }

  /** Returns how the client is too slow, or null. Call it about once a second. */
  findLateness(now: number): 'answer_not_taken' | 'body_too_slow' | null {
    if (this.#isStalled(now)) return 'answer_not_taken';
    const due = ((now - this.headAt - BODY_GRACE_MS) / 1_000) * MIN_BODY_BYTES_PER_SECOND;
    const isSlow = this.isReadingBody() && due > 0 && this.socket.bytesRead - this.bytesAtHead < due;
    return isSlow ? 'body_too_slow' : null;
  }

  #isStalled(now: number): boolean {
    const queued = queuedBytes(this.socket);
    const { bytesWritten } = this.socket;
    if (queued > 0 && queued === this.#queued && bytesWritten === this.#written) {
      return now - this.#stalledSince >= STALLED_ANSWER_MS;
    }
    this.#queued = queued;
    this.#written = bytesWritten;
    this.#stalledSince = now;
    return false;
  }
}

/** Returns the bytes that the kernel has not taken yet. The kernel's own buffer is not visible, but small. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: unknown } };
  const queued = handle?.writeQueueSize;
  // This count falls with every byte that the kernel takes, unlike the count of the stream.
  return typeof queued === 'number' && queued > 0 ? queued : socket.writableLength;
}
