import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { generatePrivateKey } from 'viem/accounts';
import { expect, test } from 'vitest';
import {
  listingAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  refusalAnswer,
  SELLER,
} from '../../test/support/market-answers.ts';
import { startScriptedMarket } from '../../test/support/scripted-market.ts';
import { cliRuns } from '../../test/world/run-cli.ts';

const cli = cliRuns();

/** Starts a server without TLS that sends this answer, or hangs up after the request if null. */
async function startServer(answer: string | null): Promise<{ port: number; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => (answer === null ? socket.destroy() : socket.end(answer)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test('a connection that was refused is certain: address, cause and what to do, and exit code 1', async () => {
  const { port, close } = await startServer(null);
  close();
  const market = `http://127.0.0.1:${port}`;
  const json = await cli.run(['search', '--json'], { market });
  expect([json.code, json.json()]).toEqual([
    1,
    {
      status: 'refused',
      reason: 'not_connected',
      title: `No connection to ${market}: nothing is listening at that address and port (ECONNREFUSED)`,
      detail: 'Nothing was sent.',
      next_step: expect.stringContaining('OPENAISLE_MARKET'),
    },
  ]);
  const told = await cli.run(['search'], { market });
  expect(told.stderr).toMatch(/^not done: No connection to .*\nNothing was sent\.\nnext: Check --market/);
});

test('so is a name that is not known, and a market that does not speak TLS', async () => {
  const unknown = await cli.run(['search', '--json'], { market: 'https://no-such-market.invalid' });
  expect([unknown.code, unknown.json()]).toMatchObject([
    1,
    { reason: 'not_connected', title: expect.stringContaining('https://no-such-market.invalid') },
  ]);
  const { port, close } = await startServer('HTTP/1.1 400 Bad Request\r\n\r\n');
  const plain = await cli.run(['search', '--json'], { market: `https://127.0.0.1:${port}` });
  expect([plain.code, plain.json()]).toMatchObject([
    1,
    { reason: 'not_connected', title: expect.stringContaining('it doesn’t use TLS') },
  ]);
  close();
});

test('a request that was sent and not answered stays unknown, with the address', async () => {
  const { port, close } = await startServer(null);
  const cut = await cli.run(['search', '--json'], { market: `http://127.0.0.1:${port}` });
  expect([cut.code, cut.json()]).toMatchObject([
    3,
    {
      status: 'unknown',
      reason: 'no_answer',
      detail: expect.stringMatching(new RegExp(`127\\.0\\.0\\.1:${port}.*\\([A-Z_]+\\)$`)),
      next_step: expect.any(String),
    },
  ]);
  close();
});

test('where money has moved or may move a command that pays ends with 3, whatever the market refuses, and programs are told', async () => {
  const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });
  await using market = await startScriptedMarket(({ method, path, headers }) => {
    if (method === 'POST') return headers['payment-signature'] === undefined ? asked : refusalAnswer('needs_review');
    return path.startsWith('/api/listing') ? listingAnswer(7) : officialAnswer();
  });
  const options = { market: market.baseUrl, env: { OPENAISLE_WALLET_KEY: generatePrivateKey() } };
  const { code, stderr, json } = await cli.run(['buy', '7', '--max', '3', '--json'], options);
  expect([code, json()]).toMatchObject([3, { status: 'unknown', reason: 'needs_review', do_not_pay_again: true }]);
  expect(stderr).toMatch(/^outcome unknown:/);
});

test('a command that pays nothing is refused, though the refusal speaks of payments', async () => {
  await using market = await startScriptedMarket(() => refusalAnswer('payment_not_found'));
  const { code, json } = await cli.run(['show', '7', '--json'], { market: market.baseUrl });
  expect([code, json()]).toMatchObject([1, { status: 'refused', reason: 'payment_not_found', do_not_pay_again: true }]);
});

test('no text of a seller makes the JSON unreadable, and what looks like a key is taken out of it', async () => {
  const key = 'ab_sk_0123456789abcdef01';
  const texts = { title: `a\\${key}`, description: `Setup\n${key}\t"${key}`, preview: `\u0001\\u00${key}\u202e` };
  await using market = await startScriptedMarket(() => listingAnswer(7, texts));
  const { code, stdout, json } = await cli.run(['show', '7', '--json'], { market: market.baseUrl });
  expect(code).toBe(0);
  expect(json()).toMatchObject({ listing: { title: 'a\\[secret]', description: 'Setup\n[secret]\t"[secret]' } });
  expect(stdout).not.toContain('ab_sk');
});

test('a reader that goes away makes no failure of what is done', async () => {
  const { child, ended } = cli.start(['help', '--json']);
  child.stdout?.destroy();
  const { code, stderr } = await ended;
  expect([code, stderr]).toEqual([0, '']);
});
