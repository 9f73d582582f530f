import { Client, type ClientBase, type ClientConfig } from 'pg';
import { systemClock } from '../clock.ts';
import { hostsOf } from './connection.ts';
import { DatabaseUnavailable, SPLIT_CODE } from './database-error.ts';

/** Connections are all dropped at most this often. Otherwise each write would drop them while the primary itself is closed to writes. */
const OUTDATE_EVERY_MS = 1_000;

export interface ServerChoice {
  /** The class that the pool uses for its connections. They go to the current host. */
  Client: new (
    config?: ClientConfig,
  ) => ClientBase;
  hosts: readonly string[];
  host(): string;
  /** Switches to the next host after `host` failed, unless another call already did. */
  skipHost(host: string): void;
  /** Records a new connection to a primary. If its host is a new one, older connections to other hosts are no longer used. */
  noteConnection(client: ClientBase): void;
  /** Marks all connections as outdated. Does nothing and returns false if they were marked a moment ago. */
  outdateAll(): boolean;
  /** Returns false for a connection that must be closed instead of reused. */
  isCurrent(client: ClientBase): boolean;
  /**
   * Throws if another host was already seen on a higher timeline. Each promotion begins a new timeline, so this server has been replaced. A
   * higher timeline than before makes all earlier connections outdated. Null with a single host, which may be on any timeline.
   */
  acceptTimeline: ((timeline: number) => void) | null;
}

const SPLIT =
  'another host of DATABASE_URL has replaced this server as primary (newer timeline): make this server its standby';

/** Chooses the host that a pool connects to, and decides which connections must no longer be used. */
export function chooseServer(url: string, onMoved: () => void): ServerChoice {
  const hosts = hostsOf(url);
  const origins = new WeakMap<ClientBase, { host: string; generation: number }>();
  let hostIndex = 0;
  let generation = 0;
  let primary: string | null = null;
  let outdatedAt = Number.NEGATIVE_INFINITY;
  let newest = 0;
  const host = (): string => hosts[hostIndex] ?? url;

  class ServerClient extends Client {
    constructor(config: ClientConfig = {}) {
      super({ ...config, connectionString: host() });
      origins.set(this, { host: host(), generation });
    }
  }
  const acceptTimeline = (timeline: number): void => {
    if (timeline === newest) return;
    if (timeline < newest) throw new DatabaseUnavailable(Object.assign(new Error(SPLIT), { code: SPLIT_CODE }), false);
    const isFirst = newest === 0;
    newest = timeline;
    if (isFirst) return;
    generation += 1;
    onMoved();
  };
  return {
    Client: ServerClient,
    hosts,
    host,
    skipHost: (failed) => {
      if (host() === failed) hostIndex = (hostIndex + 1) % hosts.length;
    },
    noteConnection: (client) => {
      const reached = origins.get(client)?.host ?? null;
      const hasMoved = primary !== null && primary !== reached;
      primary = reached;
      if (hasMoved) onMoved();
    },
    outdateAll: () => {
      const now = systemClock.now();
      if (Math.abs(now - outdatedAt) < OUTDATE_EVERY_MS) return false;
      outdatedAt = now;
      generation += 1;
      return true;
    },
    isCurrent: (client) => {
      const origin = origins.get(client);
      return origin?.generation === generation && origin.host === primary;
    },
    acceptTimeline: hosts.length === 1 ? null : acceptTimeline,
  };
}
