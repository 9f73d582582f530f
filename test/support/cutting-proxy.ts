import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  url: string;
  /** Connections cut so far. */
  cuts(): number;
  close(): Promise<void>;
}

/**
 * Starts a proxy that passes bytes on, and cuts a connection in both directions after as many bytes from the client as `nextCut` says. Null
 * lets the connection be.
 */
export async function startCuttingProxy(targetPort: number, nextCut: () => number | null): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    const most = nextCut();
    let passed = 0;
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    target.pipe(client);
    client.on('data', (bytes) => {
      const left = most === null ? bytes.length : Math.max(0, most - passed);
      passed += bytes.length;
      if (bytes.length <= left) {
        if (!target.write(bytes)) {
          client.pause();
          target.once('drain', () => client.resume());
        }
        return;
      }
      cuts += 1;
      // Bytes that came before the cut still arrive.
      target.end(bytes.subarray(0, left), () => target.destroy());
      client.destroy();
    });
    client.on('end', () => target.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    cuts: () => cuts,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
