import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** The way to one provider of the chain, which can be cut and mended. */
export interface ProviderGate {
  url: string;
  isCut(): boolean;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function openProviderGate(port: number): Promise<ProviderGate> {
  let cut = false;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    if (cut) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isCut: () => cut,
    cut: () => {
      cut = true;
      dropAll();
    },
    mend: () => {
      cut = false;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        dropAll();
      }),
  };
}
