import type { Log } from '../../platform/log.ts';

/** Counts what the access log tells, line by line: so the two cannot differ. */
export function countRequests(log: Log, count: (route: string, status: number) => void): Log {
  return {
    ...log,
    info: (event, fields) => {
      if (event === 'request' && fields !== undefined) count(String(fields['route']), Number(fields['status']));
      log.info(event, fields);
    },
    with: (fields) => countRequests(log.with(fields), count),
  };
}
