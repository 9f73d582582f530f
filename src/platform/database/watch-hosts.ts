import { systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { ServerChoice } from './choose-server.ts';
import { type ConnectionOptions, connectClient } from './connection.ts';
import { isUnavailable, whyUnavailable } from './database-error.ts';

/** A second primary is found within this time. */
const CHECK_EVERY_MS = 10_000;

export interface HostWatch {
  /** Checks all hosts once, then regularly. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks for a second primary among several hosts. The one on the highest timeline is the real primary. Does nothing for a single host. */
export function watchHosts(servers: ServerChoice, connection: ConnectionOptions, log: Log | null): HostWatch {
  const stopping = new AbortController();
  let checking: Promise<void> = Promise.resolve();
  let isSplit = false;

  /** Returns true if the host is a primary, or believes that it is. */
  const isPrimary = async (url: string): Promise<boolean> => {
    try {
      await (await connectClient({ ...connection, url })).end();
      return true;
    } catch (error) {
      if (!isUnavailable(error)) log?.warn('database_host_unreachable', { host: new URL(url).host, error });
      return whyUnavailable(error) === 'split';
    }
  };
  const checkHosts = async (): Promise<void> => {
    const primaries = (await Promise.all(servers.hosts.map(isPrimary))).filter((one) => one).length;
    if (primaries > 1 && !isSplit) log?.error('database_split_brain', { count: primaries });
    isSplit = primaries > 1;
  };
  const keepChecking = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await systemClock.sleep(CHECK_EVERY_MS, stopping.signal);
      if (!stopping.signal.aborted) await checkHosts();
    }
  };
  return {
    start: async () => {
      if (servers.hosts.length === 1) return;
      await checkHosts();
      checking = keepChecking();
    },
    stop: async () => {
      stopping.abort();
      await checking;
    },
  };
}
