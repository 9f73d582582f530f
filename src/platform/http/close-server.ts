import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Flights } from './exchanges.ts';

/** For the last bytes of the last answers, once nothing is in flight. */
const FLUSH_MS = 250;

/** Stops accepting at once, waits for what is in flight, then cuts what is left. */
export async function closeServer(
  app: FastifyInstance,
  flights: Pick<Flights, 'idle'>,
  options: { clock: Clock; drainMs: number },
): Promise<void> {
  const { clock, drainMs } = options;
  const { server } = app;
  const closeIdle = server.closeIdleConnections.bind(server);
  // To Node a connection is idle once its answer is handed over, even if a slow client is still reading it. So not before all is written.
  server.closeIdleConnections = () => undefined;
  const stop = new AbortController();
  let closed = false;
  const closing = app.close().then(() => {
    closed = true;
    stop.abort();
  });
  await Promise.race([closing, flights.idle(), clock.sleep(drainMs, stop.signal)]);
  if (!closed) {
    closeIdle();
    // A connection that never sent a request would hold the server open for ever.
    await Promise.race([closing, clock.sleep(FLUSH_MS, stop.signal)]);
    server.closeAllConnections();
  }
  await closing;
}
