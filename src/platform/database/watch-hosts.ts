import { systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { ServerChoice } from './choose-server.ts';
import { type ConnectionOptions, connectClient } from './connection.ts';
import { isUnavailable, whyUnavailable } from './database-error.ts';

/** How long two primaries may go unnoticed. */
const LOOK_EVERY_MS = 10_000;

export interface HostWatch {
  /** Asks each of the hosts which timeline it is on, and goes on asking. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks for a second primary among several hosts; a single one is not looked at. Whoever is on the highest timeline is the primary. */
export function watchHosts(servers: ServerChoice, connection: ConnectionOptions, log: Log | null): HostWatch {
  const stopping = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let isSplit = false;

  /** Whether the host is a primary, or takes itself for one. */
  const isPrimary = async (url: string): Promise<boolean> => {
    try {
      const client = await connectClient({ ...connection, url });
      await client.end();
      return true;
    } catch (error) {
      if (!isUnavailable(error)) log?.warn('database_host_unreachable', { host: new URL(url).host, error });
      return whyUnavailable(error) === 'split';
    }
  };
  const look = async (): Promise<void> => {
    const primaries = (await Promise.all(servers.hosts.map(isPrimary))).filter((one) => one).length;
    if (primaries > 1 && !isSplit) log?.error('database_split_brain', { count: primaries });
    isSplit = primaries > 1;
  };
  const lookAgain = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await systemClock.sleep(LOOK_EVERY_MS, stopping.signal);
      if (!stopping.signal.aborted) await look();
    }
  };
  return {
    start: async () => {
      if (servers.hosts.length === 1) return;
      await look();
      looking = lookAgain();
    },
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
