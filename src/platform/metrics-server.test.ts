import { afterEach, expect, test } from 'vitest';
import { recordingLog } from '../../test/support/recording-log.ts';
import { startMetricsServer } from './metrics-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(read: () => Promise<{ type: string; body: string }>) {
  const { log, lines } = recordingLog();
  const at = await startMetricsServer({ host: '127.0.0.1', port: 0, path: '/metrics', read, log });
  closing.push(at.close);
  return { url: `http://127.0.0.1:${at.port}`, port: at.port, lines, close: at.close };
}

const hello = async () => ({ type: 'text/plain; charset=utf-8', body: 'hello\n' });

test('one path is answered, with a query too, and nothing else is', async () => {
  const { url } = await serve(hello);
  const answer = await fetch(`${url}/metrics?a=b`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(await answer.text()).toBe('hello\n');
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  const others = [
    fetch(`${url}/`),
    fetch(`${url}/metrics/`),
    fetch(`${url}/healthz`),
    fetch(`${url}/metrics`, { method: 'POST', body: 'x' }),
    fetch(`${url}/metrics`, { method: 'OPTIONS' }),
  ];
  for (const other of await Promise.all(others)) expect([other.status, await other.text()]).toEqual([404, '']);
});

test('what cannot be read is a 500 that says nothing', async () => {
  const { url, lines } = await serve(async () => {
    throw new Error('inside');
  });
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([500, '']);
  expect(lines.map(({ event }) => event)).toEqual(['metrics_server_failed']);
});

test('a port that is taken is an error at once, and a closed one is free', async () => {
  const { port, close } = await serve(hello);
  const again = () => startMetricsServer({ host: '127.0.0.1', port, path: '/x', read: hello, log: recordingLog().log });
  await expect(again()).rejects.toThrow('EADDRINUSE');
  closing.length = 0;
  await close();
  closing.push((await again()).close);
});
