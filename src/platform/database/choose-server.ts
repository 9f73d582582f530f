import { Client, type ClientBase, type ClientConfig } from 'pg';
import { systemClock } from '../clock.ts';
import { hostsOf } from './connection.ts';
import { DatabaseUnavailable, SPLIT_CODE } from './database-error.ts';

/** A server that is closed to writes and is the primary all the same is asked again no more often than this. */
const LEAVE_EVERY_MS = 1_000;

export interface ServerChoice {
  /** How the pool makes its connections: to the host whose turn it is. */
  Client: new (
    config?: ClientConfig,
  ) => ClientBase;
  /** Their URLs, in order. */
  hosts: readonly string[];
  /** The host whose turn it is. */
  host(): string;
  /** Passes over a host that is away, unless another one's turn has come already. */
  passOver(host: string): void;
  /** A connection was made, and its server is a primary. Every other one to another host is left. */
  arrived(client: ClientBase): void;
  /** Leaves every connection that there is. False: they have been left just now. */
  leaveAll(): boolean;
  /** Whether the connection was not left. */
  isCurrent(client: ClientBase): boolean;
  /**
   * Throws if a primary among several hosts was on a higher timeline: each promotion begins a new one, so another server has taken the place
   * of this one. A higher timeline than before makes that of every connection a lower one. Null: one host alone may be on any.
   */
  acceptTimeline: ((timeline: number) => void) | null;
}

const SPLIT =
  'the server was replaced by one on a newer timeline among the hosts of DATABASE_URL, and does not know it: make it a standby of that one';

/** Chooses the host of a URL that a pool connects to, and says which of its connections are not to be used any more. */
export function chooseServer(url: string, onMoved: () => void): ServerChoice {
  const hosts = hostsOf(url);
  const made = new WeakMap<ClientBase, { host: string; round: number }>();
  let turn = 0;
  let round = 0;
  let primary: string | null = null;
  let leftAt = Number.NEGATIVE_INFINITY;
  let newest = 0;
  const host = (): string => hosts[turn] ?? url;

  class ServerClient extends Client {
    constructor(config: ClientConfig = {}) {
      super({ ...config, connectionString: host() });
      made.set(this, { host: host(), round });
    }
  }
  const acceptTimeline = (timeline: number): void => {
    if (timeline === newest) return;
    if (timeline < newest) throw new DatabaseUnavailable(Object.assign(new Error(SPLIT), { code: SPLIT_CODE }), false);
    const isFirst = newest === 0;
    newest = timeline;
    if (isFirst) return;
    round += 1;
    onMoved();
  };
  return {
    Client: ServerClient,
    hosts,
    host,
    passOver: (failed) => {
      if (host() === failed) turn = (turn + 1) % hosts.length;
    },
    arrived: (client) => {
      const reached = made.get(client)?.host ?? null;
      const moved = primary !== null && primary !== reached;
      primary = reached;
      if (moved) onMoved();
    },
    leaveAll: () => {
      const now = systemClock.now();
      if (Math.abs(now - leftAt) < LEAVE_EVERY_MS) return false;
      leftAt = now;
      round += 1;
      return true;
    },
    isCurrent: (client) => {
      const origin = made.get(client);
      return origin?.round === round && origin.host === primary;
    },
    acceptTimeline: hosts.length === 1 ? null : acceptTimeline,
  };
}
