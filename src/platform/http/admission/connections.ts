import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../refusal.ts';
import { type ClientNames, clientNetwork, networkLevels } from '../client-network.ts';
import {
  BODY_GRACE_MS,
  LEAST_BODY_BYTES_PER_SECOND,
  NETWORK_PART,
  part,
  READING_PAUSED_MS,
  type Rule,
  type RuleCounts,
  STALLED_ANSWER_MS,
} from './bounds.ts';

interface SocketsOptions {
  total: number;
  clock: Clock;
  names: ClientNames;
  rules: RuleCounts;
}

/** Of all sockets, those that are closed at once when idle ones have to make room. */
const ROOM_PART = 16;
const LOOK_PAUSE_MS = 100;

/** Open sockets: how many there are, and of which network. Those on which nothing is asked make room for new ones. */
export function createSockets({ total, clock, names, rules }: SocketsOptions) {
  const all = new Set<Connection>();
  const bySite = new Map<string, Set<Connection>>();
  const ofNetwork = part(total, NETWORK_PART);
  const pausedSites = new Set<string>();
  let streams = 0;
  let lookAgainAt = 0;

  const refuse = (socket: Socket, rule: Rule): null => {
    rules[rule] += 1;
    socket.destroy();
    return null;
  };
  const remove = (connection: Connection): void => {
    const { peer } = connection;
    const own = peer === null ? undefined : bySite.get(peer.site);
    own?.delete(connection);
    if (peer !== null && own?.size === 0) bySite.delete(peer.site);
  };
  /** With none idle, the network that holds most gives one up for a newcomer that holds much less. */
  const makeRoom = (newcomers: number): boolean => {
    if (clock.now() >= lookAgainAt && closeIdle(all, part(total, ROOM_PART), rules) > 0) return true;
    // Looking at all of them for each that comes would be work that strangers could ask for.
    lookAgainAt = Math.max(lookAgainAt, clock.now() + LOOK_PAUSE_MS);
    const [largest] = [...bySite.values()].toSorted((a, b) => b.size - a.size);
    if (largest === undefined || largest.size <= 2 * (newcomers + 1)) return false;
    for (const connection of largest) {
      if (connection.socket.destroyed || connection.isAnswering()) continue;
      refuse(connection.socket, 'sockets_full');
      return true;
    }
    return false;
  };
  const isPaused = ({ peer }: Connection): boolean => peer !== null && pausedSites.has(peer.site);
  return {
    /** Null: there is no room, and the socket is closed. */
    admit: (socket: Socket): Connection | null => {
      const address = socket.remoteAddress;
      const counted = clientNetwork(address);
      const peer = names.isProxy(address) ? null : { address: counted, site: networkLevels(counted).site };
      const own = peer === null ? undefined : bySite.get(peer.site);
      if (own !== undefined && own.size >= ofNetwork && closeIdle(own, 1, rules) === 0) {
        return refuse(socket, 'sockets_of_network');
      }
      if (all.size - streams >= total && !makeRoom(own?.size ?? 0)) return refuse(socket, 'sockets_full');
      const connection = new Connection(socket, peer);
      all.add(connection);
      own?.add(connection);
      if (peer !== null && own === undefined) bySite.set(peer.site, new Set([connection]));
      socket.once('close', () => {
        all.delete(connection);
        if (connection.isStream) streams -= 1;
        else remove(connection);
      });
      if (isPaused(connection)) socket.pause();
      return connection;
    },
    /**
     * Reads from no socket until the next turn, and from this client's network for a while. One read can hold thousands of requests, and Node
     * keeps them in memory until the closed socket is gone, at the end of the turn: many sockets at once would fill the memory.
     */
    pauseReading: ({ peer }: Connection): void => {
      for (const { socket } of all) socket.pause();
      setImmediate(() => {
        for (const connection of all) if (!isPaused(connection)) connection.socket.resume();
      });
      if (peer === null || pausedSites.has(peer.site)) return;
      pausedSites.add(peer.site);
      void clock.sleep(READING_PAUSED_MS).then(() => {
        pausedSites.delete(peer.site);
        for (const connection of all) if (connection.peer?.site === peer.site) connection.socket.resume();
      });
    },
    /** From now on a stream, which its own pool counts. */
    leave: (connection: Connection): void => {
      if (connection.isStream) return;
      connection.isStream = true;
      if (!all.has(connection)) return;
      streams += 1;
      remove(connection);
    },
    count: (): number => all.size - streams,
    /** All, streams included. */
    each: (): Iterable<Connection> => all,
  };
}

/** Idle ones, those that came first before the others. How many were found. */
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

/** What one request holds of the server. */
export interface Slot {
  site: string;
  /** One of those that are kept for requests with a key, token or proof. */
  isReserved: boolean;
  /** To be called once. */
  releaseSlot(): void;
}

const KNOWN = Symbol('connection');

/** The connection that a socket is, where it came in through a guarded server. */
export function connectionOf(socket: Socket): Connection | undefined {
  return (socket as { [KNOWN]?: Connection })[KNOWN];
}

/** One socket of a client, and the one request that is being read from it or answered on it. There are thousands of these. */
export class Connection {
  readonly socket: Socket;
  /** The peer's counted network and the wider one around it; null: a trusted proxy, which stands for many. */
  readonly peer: { address: string; site: string } | null;
  request: IncomingMessage | null = null;
  response: ServerResponse | null = null;
  /** Why it is not to be served now; null: it is. */
  refusal: Refusal | null = null;
  /** Where it brings a body: when its head was read in full, and how much had come on the socket by then. */
  headAt = 0;
  bytesAtHead = 0;
  /** One more request has been read; it begins when this one is answered. */
  isQueued = false;
  /** Requests that were read behind that one. The first of them closes the connection. */
  dropped = 0;
  /** Its answer goes on without an end. */
  isStream = false;
  /** What it holds until its answer is out. */
  slot: Slot | null = null;
  /** What has not been taken at the last look, all that was written until then, and since when neither has changed. */
  #queued = 0;
  #written = 0;
  #stalledSince = 0;

  constructor(socket: Socket, peer: Connection['peer']) {
    this.socket = socket;
    this.peer = peer;
    // On the socket itself: a map would be looked into for every request.
    (socket as { [KNOWN]?: Connection })[KNOWN] = this;
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

  /** A request has been read in full, and its answer is not out yet. */
  isAnswering(): boolean {
    return this.request?.complete === true && this.response?.writableFinished === false;
  }

  /** The same where the answer has begun before all of the request had come. */
  hasBegunToAnswer(): boolean {
    return this.isAnswering() || (this.response?.headersSent === true && !this.response.writableFinished);
  }

  isReadingBody(): boolean {
    return this.request !== null && !this.request.complete;
  }

  /** It has been answered before, and asks nothing now. */
  isIdle(): boolean {
    return !this.isQueued && this.request?.complete === true && this.response?.writableFinished === true;
  }

  /** What is wrong with the client's pace now; null: nothing. To be asked once a second or so. */
  findLateness(now: number): 'answer_not_taken' | 'body_too_slow' | null {
    if (this.#isStalled(now)) return 'answer_not_taken';
    const due = ((now - this.headAt - BODY_GRACE_MS) / 1_000) * LEAST_BODY_BYTES_PER_SECOND;
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

/** Handed to the system or waiting for that. What the system itself holds for a client is not seen, and is little. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: unknown } };
  const queued = handle?.writeQueueSize;
  // The number falls with every byte that the system takes, which the stream's own count does not.
  return typeof queued === 'number' && queued > 0 ? queued : socket.writableLength;
}
