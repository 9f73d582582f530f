import { describe, expect, test } from 'vitest';
import { attackedMarket, type Honest, openSockets, residentMb, startHonest, watchMemory } from './strangers.ts';

const READS = ['/api/shelves', '/api/official', '/healthz', '/api/merchants'];
const MEMORY_MB = 300;
const LEAST_ANSWERS = 200;

describe('a market that strangers sit on', () => {
  const market = attackedMarket([...READS, '/openapi.json']);

  /** Runs honest clients before, during and after the attack. */
  const during = async (attack: (honest: Honest) => Promise<void>): Promise<void> => {
    const idle = residentMb(market.pid);
    const memory = watchMemory(market.pid);
    const honest = startHonest(market.port, READS);
    await expect.poll(() => honest.seen.answered, { timeout: 20_000 }).toBeGreaterThan(20);
    await attack(honest.seen);
    const { answered, refused, slow } = await honest.end();
    expect(refused).toEqual([]);
    expect(answered).toBeGreaterThan(LEAST_ANSWERS);
    expect(slow).toBeLessThanOrEqual(answered / 100);
    expect(memory.end() - idle).toBeLessThan(MEMORY_MB);
  };
  /** Waits for that many more honest answers. */
  const last = (honest: Honest, answers: number): Promise<void> => {
    const until = honest.answered + answers;
    return expect.poll(() => honest.answered, { timeout: 60_000, interval: 20 }).toBeGreaterThan(until);
  };

  test('2,200 pipelined reads on one connection, of which nothing is read', async () => {
    await during(async (honest) => {
      const bytes = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_200);
      const attack = await openSockets(market.port, { from: '127.1.0.1', count: 1, bytes });
      await last(honest, 1_000);
      attack.close();
    });
  });

  test('10,000 pipelined requests on one connection are answered in their order, and hold up no others', async () => {
    await during(async (honest) => {
      let answers = 0;
      const paths = Array.from({ length: 10_000 }, (_, index) => (index % 2 === 0 ? '/healthz' : '/nothing-here'));
      const bytes = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('');
      let text = '';
      const attack = await openSockets(market.port, {
        from: '127.1.0.2',
        count: 1,
        bytes,
        onData: (data) => {
          text += data.toString('latin1');
          let read = 0;
          for (const head of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
            expect(head[1]).toBe(answers % 2 === 0 ? '200' : '404');
            answers += 1;
            read = head.index + head[0].length;
          }
          // Keep what may be the start of a status line, since a chunk can end anywhere.
          text = text.slice(Math.max(read, text.length - 'HTTP/1.1 200'.length));
        },
      });
      await expect.poll(() => answers, { timeout: 80_000 }).toBe(10_000);
      await last(honest, 100);
      attack.close();
    });
  });

  test('2,100 sockets with bodies that never come', async () => {
    await during(async (honest) => {
      const bytes =
        'POST /api/buy/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n';
      const attacks = await Promise.all(
        ['127.2.0.1', '127.2.0.2', '127.2.0.3'].map((from) => openSockets(market.port, { from, count: 700, bytes })),
      );
      await last(honest, 500);
      for (const attack of attacks) attack.close();
    });
  });

  test('4,000 sockets of one network with unfinished bodies', async () => {
    await during(async (honest) => {
      const head = 'POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n';
      const bytes = `${head}{"a":"${'x'.repeat(40_000)}`;
      const attack = await openSockets(market.port, { from: '127.3.0.1', count: 4_000, bytes });
      await last(honest, 500);
      attack.close();
    });
  });
});
