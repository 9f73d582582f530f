import type { Log } from '../../src/platform/log.ts';
import { watchLogLine } from './canary.ts';

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  event: string;
  fields: Readonly<Record<string, unknown>>;
}

/** Records every log line. `logged` resolves with the first line with that event, including past ones. */
export function recordingLog(): { log: Log; lines: LogLine[]; logged(event: string): Promise<LogLine> } {
  const lines: LogLine[] = [];
  const waiting = new Set<{ event: string; resolve(line: LogLine): void }>();
  const write =
    (level: LogLine['level'], bound: LogLine['fields']) =>
    (event: string, fields: LogLine['fields'] = {}): void => {
      const line = { level, event, fields: { ...bound, ...fields } };
      lines.push(line);
      watchLogLine(event, line.fields);
      for (const waiter of waiting) {
        if (waiter.event !== event) continue;
        waiting.delete(waiter);
        waiter.resolve(line);
      }
    };
  const create = (bound: LogLine['fields']): Log => ({
    info: write('info', bound),
    warn: write('warn', bound),
    error: write('error', bound),
    with: (fields) => create({ ...bound, ...fields }),
  });
  return {
    log: create({}),
    lines,
    logged: (event) => {
      const past = lines.find((line) => line.event === event);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => waiting.add({ event, resolve }));
    },
  };
}
