import { createServer } from 'node:http';
import { openWire, requestBytes } from './wire.ts';

/** Order that the parent process sends once. */
export interface StaticOrder {
  marketUrl: string;
  paths: string[];
}

/** Fetches every path from the market once and then serves those bytes, which is the fastest that node:http can be. */
process.once('message', (order: StaticOrder) => {
  serve(order).catch((error: unknown) => {
    if (process.connected) console.error(error);
    process.exit(1);
  });
});
process.once('disconnect', () => process.exit(0));

async function serve({ marketUrl, paths }: StaticOrder): Promise<void> {
  const wire = await openWire(marketUrl, { keepBody: true });
  const kept = new Map<string, Buffer>();
  for (const path of paths) {
    const { status, body } = await wire.ask(requestBytes(marketUrl, { method: 'GET', path }));
    if (status !== 200) throw new Error(`${path} was answered ${status}`);
    kept.set(path, body);
  }
  wire.close();
  const server = createServer((request, response) => {
    const body = kept.get(request.url ?? '');
    if (body === undefined) {
      response.writeHead(404, { 'content-length': 0 }).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
    process.send?.({ url: `http://127.0.0.1:${address.port}` });
  });
}
