import type { IncomingMessage } from 'node:http';
import { STARTED_IN_TURN } from './bounds.ts';

/**
 * Many sockets of one client may all have something to read in the same turn of the event loop, and others would wait for all of it.
 * So of one client only a few requests begin in a turn; the rest begin in later ones, between which everybody else is heard.
 */
export function createTurns(clientOf: (request: IncomingMessage) => string) {
  const begun = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  let isEndSet = false;

  const endTurn = (): void => {
    isEndSet = false;
    begun.clear();
    for (const [client, line] of waiting) {
      const now = line.splice(0, STARTED_IN_TURN);
      if (line.length === 0) waiting.delete(client);
      begun.set(client, now.length);
      for (const start of now) start();
    }
    if (begun.size > 0) setEnd();
  };
  const setEnd = (): void => {
    if (isEndSet) return;
    isEndSet = true;
    setImmediate(endTurn);
  };
  return {
    /** At once, or in a later turn. */
    run: (request: IncomingMessage, start: () => void): void => {
      const client = clientOf(request);
      const count = begun.get(client) ?? 0;
      setEnd();
      if (count < STARTED_IN_TURN) {
        begun.set(client, count + 1);
        return void start();
      }
      const line = waiting.get(client);
      if (line === undefined) waiting.set(client, [start]);
      else line.push(start);
    },
  };
}
