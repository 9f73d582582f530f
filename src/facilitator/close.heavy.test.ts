import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestChain } from '../../test/support/chain.ts';
import { startTestFacilitator } from '../../test/support/facilitator.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';

vi.setConfig({ testTimeout: 30_000 });

const CLIENTS = 64;
let chain: LocalChain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain?.kill());

async function openSocket(url: string, sends: string): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  if (sends !== '') socket.write(sends);
  if (sends.endsWith('\r\n\r\n')) await once(socket, 'data');
  return socket;
}

test.each([
  ['that have said nothing', ''],
  ['that have been answered and are kept', 'GET /healthz HTTP/1.1\r\nhost: here\r\n\r\n'],
  ['that are in the middle of a request', 'POST /settle HTTP/1.1\r\nhost: here\r\n'],
])('64 connections %s do not hold up the end', async (_, sends) => {
  const facilitator = await startTestFacilitator(chain);
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => openSocket(facilitator.url, sends)));
  const startedAt = performance.now();
  await facilitator.close();
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  for (const socket of sockets) socket.destroy();
});
