import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Log } from './log.ts';

export interface MetricsServerOptions {
  host: string;
  port: number;
  /** The only path that is served. */
  path: string;
  read(): Promise<{ type: string; body: string }>;
  log: Log;
}

const MAX_CONNECTIONS = 32;
const REQUEST_MS = 5_000;
const LARGEST_HEAD_BYTES = 4_096;

/** Serves one text on a separate port, for the operator's network. Answers any other request with 404. */
export async function startMetricsServer({ host, port, path, read, log }: MetricsServerOptions): Promise<{
  port: number;
  close(): Promise<void>;
}> {
  const answer = async (response: ServerResponse): Promise<void> => {
    try {
      const { type, body } = await read();
      response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    } catch (error) {
      log.error('metrics_server_failed', { path, error });
      response.writeHead(500).end();
    }
  };
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD_BYTES,
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: REQUEST_MS,
      requireHostHeader: false,
    },
    (request, response) => {
      const isServed = (request.method === 'GET' || request.method === 'HEAD') && request.url?.split('?')[0] === path;
      if (isServed) void answer(response);
      else response.writeHead(404, { connection: 'close' }).end();
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, 'listening');
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : port,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
