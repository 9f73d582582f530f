import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { attackedMarket, residentMb, startHonest, watchMemory } from './strangers.ts';

const READS = ['/api/shelves', '/healthz', '/api/merchants'];
const MEMORY_MB = 300;
const ROUNDS = 4;
/** Stands for a connection that was closed while the body was still being sent. */
const CUT = 0;
const AT_ONCE = 10;
const LONGEST_ANSWER_BYTES = 20_000;

const fields = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index.toString(36)}`, 1]));
const call = (params: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });

const BODIES: readonly (readonly [name: string, path: string, body: object])[] = [
  ['95,000 fields to /api/buy/1', '/api/buy/1', fields(95_000)],
  ['95,000 fields to /mcp', '/mcp', fields(95_000)],
  ['95,000 arguments of a tool', '/mcp', call({ name: 'buy', arguments: { id: 1, ...fields(95_000) } })],
  ['120,000 fields in _meta', '/mcp', call({ name: 'browse', arguments: {}, _meta: fields(120_000) })],
  ['an artifact and 120,000 more fields', '/mcp', call({ name: 'list_item', arguments: {}, _meta: fields(120_000) })],
  ['4,000 fields, short enough to be read', '/api/buy/1', fields(4_000)],
];

describe('a market that is sent bodies of very many fields', () => {
  const market = attackedMarket(READS);

  test.each(BODIES)('%s', async (_, path, body) => {
    const idle = residentMb(market.pid);
    const memory = watchMemory(market.pid);
    const honest = startHonest(market.port, READS);
    const bytes = Buffer.from(JSON.stringify(body));
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => post(market.port, path, bytes)));
      for (const { status, length } of answers) {
        expect([CUT, 400, 413, 429]).toContain(status);
        expect(length).toBeLessThan(LONGEST_ANSWER_BYTES);
      }
    }
    const { answered, refused, slow } = await honest.end();
    expect(refused).toEqual([]);
    expect(slow).toBeLessThanOrEqual(Math.floor(answered / 100));
    expect(memory.end() - idle).toBeLessThan(MEMORY_MB);
  });
});

function post(port: number, path: string, body: Buffer): Promise<{ status: number; length: number }> {
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    accept: 'application/json, text/event-stream',
  };
  const options = { host: '127.0.0.1', port, path, localAddress: '127.4.0.1', method: 'POST', headers, agent: false };
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      let length = 0;
      answer.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, length }));
    });
    sent.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve({ status: CUT, length: 0 }) : reject(error),
    );
    sent.end(body);
  });
}
