import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { generatePrivateKey } from 'viem/accounts';
import { expect, onTestFinished, test } from 'vitest';
import { asked } from '../../../test/support/agent-buyer.ts';
import { listingAnswer, officialAnswer, pendingAnswer, refusalAnswer } from '../../../test/support/market-answers.ts';
import { collects, nonceIn, noncesToSettle, startScriptedMarket } from '../../../test/support/scripted-market.ts';
import { run } from '../run.ts';
import { openTerminal, type Streams } from '../terminal.ts';

async function commandsFor(baseUrl: string) {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-download-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from(['']), stdout: nowhere, stderr: nowhere } as unknown as Streams;
  const env = { HOME: home, OPENAISLE_MARKET: baseUrl, OPENAISLE_WALLET_KEY: generatePrivateKey().slice(2) };
  return async (argv: string[], signal = AbortSignal.timeout(20_000)) => {
    let told = '';
    const hear = (text: string): void => {
      told += text;
    };
    const shared = { version: 'test', env, terminal: openTerminal(streams), out: hear, err: hear };
    return { code: await run({ ...shared, argv, interruption: () => signal }), told };
  };
}

test('download sends no signed payment, and says how to finish the purchase', async () => {
  const stopping = new AbortController();
  await using market = await startScriptedMarket((request) => {
    if (request.method === 'GET') return request.path.startsWith('/api/listing') ? listingAnswer(7) : officialAnswer();
    if (nonceIn(request) === null) return asked;
    if (collects(request)) return refusalAnswer('nothing_to_collect');
    stopping.abort();
    return pendingAnswer();
  });
  const act = await commandsFor(market.baseUrl);
  expect(await act(['download', '7'])).toMatchObject({ code: 2, told: expect.stringContaining('openaisle buy 7') });
  await act(['buy', '7', '--max', '3'], stopping.signal);
  const sent = () => market.seen.filter((request) => noncesToSettle([request]).size > 0).length;
  expect(sent()).toBe(1);
  expect(await act(['download', '7'])).toMatchObject({ code: 3, told: expect.stringContaining('openaisle wait 7') });
  expect(sent()).toBe(1);
});
