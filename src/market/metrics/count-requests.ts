import type { Log } from '../../platform/log.ts';

/** Counts what the access log tells, line by line: so the two cannot differ. */
export function countRequests(log: Log, count: (route: string, status: number, budget?: string) => void): Log {
  return {
    ...log,
    info: (event, fields) => {
      if (event === 'request' && fields !== undefined) {
        const { route, status, budget } = fields;
        count(String(route), Number(status), typeof budget === 'string' ? budget : undefined);
      }
      log.info(event, fields);
    },
    with: (fields) => countRequests(log.with(fields), count),
  };
}
