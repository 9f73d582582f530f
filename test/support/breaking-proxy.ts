import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface BreakingProxy extends AsyncDisposable {
  url: string;
  /** Sets where connections lead. */
  leadTo(url: string): void;
  /** Cuts connections after each `every` bytes of that way, over all connections, until `times` cuts are made. */
  cut(way: 'sent' | 'received', every: number, times: number): void;
  /** Cuts still to make. */
  left(): number;
  /** Bytes that passed in each way since the last call of `cut`. */
  passed(): { sent: number; received: number };
}

/** A connection between client and market that breaks again and again, in the middle of whatever is sent. */
export async function startBreakingProxy(): Promise<BreakingProxy> {
  const plan = { way: 'sent' as 'sent' | 'received', every: 0, left: 0, next: 0 };
  let [target, passed] = [new URL('http://127.0.0.1:1'), { sent: 0, received: 0 }];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const market = connect(Number(target.port), target.hostname);
    const ends = [client, market];
    const cutBoth = (): void => {
      for (const end of ends) end.destroy();
    };
    for (const end of ends) {
      open.add(end);
      end.on('error', () => {});
      end.on('close', () => {
        open.delete(end);
        cutBoth();
      });
    }
    const count = (way: 'sent' | 'received', bytes: number): void => {
      passed[way] += bytes;
      if (plan.left === 0 || plan.way !== way || passed[way] < plan.next) return;
      plan.left -= 1;
      plan.next = passed[way] + plan.every;
      cutBoth();
    };
    client.on('data', (data: Buffer) => count('sent', data.length));
    market.on('data', (data: Buffer) => count('received', data.length));
    client.pipe(market);
    market.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    leadTo: (url) => {
      target = new URL(url);
    },
    cut: (way, every, times) => {
      passed = { sent: 0, received: 0 };
      Object.assign(plan, { way, every, left: times, next: every });
    },
    left: () => plan.left,
    passed: () => ({ ...passed }),
    [Symbol.asyncDispose]: async () => {
      for (const end of open) end.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
