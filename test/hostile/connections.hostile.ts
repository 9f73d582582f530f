import { describe, expect, test } from 'vitest';
import { attackedMarket, type Honest, openSockets, residentMb, startHonest, watchMemory } from './strangers.ts';

const READS = ['/api/shelves', '/api/official', '/healthz', '/api/merchants'];
const MEMORY_MB = 300;
const MIN_ANSWERS = 200;

describe('a market that strangers sit on', () => {
  const market = attackedMarket([...READS, '/openapi.json']);

  /** Runs honest clients before, during and after the attack. */
  const attackBesideClients = async (attack: (honest: Honest) => Promise<void>): Promise<void> => {
    const idle = residentMb(market.pid);
    const memory = watchMemory(market.pid);
    const honest = startHonest(market.port, READS);
    await expect.poll(() => honest.seen.answered, { timeout: 20_000 }).toBeGreaterThan(20);
    await attack(honest.seen);
    const { answered, refused, slow } = await honest.end();
    expect(refused).toEqual([]);
    expect(answered).toBeGreaterThan(MIN_ANSWERS);
    expect(slow).toBeLessThanOrEqual(answered / 100);
    expect(memory.end() - idle).toBeLessThan(MEMORY_MB);
  };
  /** Waits for that many more honest answers. */
  const waitForAnswers = (honest: Honest, answers: number): Promise<void> => {
    const until = honest.answered + answers;
    return expect.poll(() => honest.answered, { timeout: 60_000, interval: 20 }).toBeGreaterThan(until);
  };

  test('2,200 pipelined reads on one connection, of which nothing is read', async () => {
    await attackBesideClients(async (honest) => {
      const bytes = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_200);
      const attack = await openSockets(market.port, { from: '127.1.0.1', count: 1, bytes });
      await waitForAnswers(honest, 1_000);
      attack.close();
    });
  });

  test('two pipelined requests on one connection are answered in their order', async () => {
    let text = '';
    const bytes = ['/healthz', '/nothing-here'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('');
    const onData = (data: Buffer): void => {
      text += data.toString('latin1');
    };
    const { close } = await openSockets(market.port, { from: '127.1.0.2', count: 1, bytes, onData });
    const statuses = (): (string | undefined)[] =>
      [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    await expect.poll(statuses).toEqual(['200', '404']);
    close();
  });

  test('3,600 pipelined requests on each of 400 connections hold up no others', async () => {
    await attackBesideClients(async (honest) => {
      const bytes = Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(3_600));
      const attacks = await Promise.all(
        ['127.1.0.3', '127.1.0.4', '127.1.0.5', '127.1.0.6'].map((from) =>
          openSockets(market.port, { from, count: 100, bytes, onData: () => undefined }),
        ),
      );
      await waitForAnswers(honest, 1_000);
      for (const { sockets, close } of attacks) {
        expect(sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(0);
        close();
      }
    });
  });

  test('2,100 sockets with bodies that never come', async () => {
    await attackBesideClients(async (honest) => {
      const bytes =
        'POST /api/buy/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n';
      const attacks = await Promise.all(
        ['127.2.0.1', '127.2.0.2', '127.2.0.3'].map((from) => openSockets(market.port, { from, count: 700, bytes })),
      );
      await waitForAnswers(honest, 500);
      for (const attack of attacks) attack.close();
    });
  });

  test('4,000 sockets of one network with unfinished bodies', async () => {
    await attackBesideClients(async (honest) => {
      const head = 'POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n';
      const bytes = `${head}{"a":"${'x'.repeat(40_000)}`;
      const attack = await openSockets(market.port, { from: '127.3.0.1', count: 4_000, bytes });
      await waitForAnswers(honest, 500);
      attack.close();
    });
  });
});
