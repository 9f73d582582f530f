import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

export interface ReadCount {
  route: string;
  /** Answers with content since the start. */
  answered: number;
  /** Answers 304 since the start. */
  notModified: number;
}

export interface ReadCounts {
  add(route: string, status: 200 | 304): void;
  list(): readonly Readonly<ReadCount>[];
  /** Writes what is not written yet, and stops. */
  close(): void;
}

interface Counted extends ReadCount {
  written: number;
}

const LINE_EVERY_MS = 60_000;

/** The access log of reads that take less time than a line about each of them would: one line a minute, and none where there was nothing. */
export function createReadCounts({ clock, log }: { clock: Clock; log: Log }): ReadCounts {
  const counts = new Map<string, Counted>();
  const stop = new AbortController();
  let since: number | null = null;

  const write = (): void => {
    if (since === null) return;
    const news = [...counts.values()].map((one) => ({ one, count: one.answered + one.notModified - one.written }));
    const routes = news.filter(({ count }) => count > 0).map(({ one, count }) => `${one.route} ${count}`);
    for (const { one, count } of news) one.written += count;
    log.info('reads', { count: news.reduce((sum, { count }) => sum + count, 0), routes, ms: clock.now() - since });
    since = null;
  };
  const begin = (): void => {
    since = clock.now();
    // At the end close() has written already.
    void clock.sleep(LINE_EVERY_MS, stop.signal).then(() => stop.signal.aborted || write());
  };
  return {
    add: (route, status) => {
      let counted = counts.get(route);
      if (counted === undefined) {
        counted = { route, answered: 0, notModified: 0, written: 0 };
        counts.set(route, counted);
      }
      if (status === 304) counted.notModified += 1;
      else counted.answered += 1;
      if (since === null && !stop.signal.aborted) begin();
    },
    list: () => [...counts.values()].map(({ route, answered, notModified }) => ({ route, answered, notModified })),
    close: () => {
      stop.abort();
      write();
    },
  };
}
