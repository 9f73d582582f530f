import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stagePackage } from '../../packages/pack.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listGoods, newGoods } from '../support/trade.ts';
import { testBrowser } from './browser.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { sellerOne } = WORLD_ACCOUNTS;
const browser = testBrowser();

let folder: string;
let world: World;
let site: Server;
let origin = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-sdk-browser-'));
  world = await startWorld({ port: await freePort(), chain: { blockTimeSeconds: 1 } });
  const script = await bundleSdk();
  site = createServer((request, response) => {
    const isScript = request.url === '/sdk.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><link rel="icon" href="data:,"><script src="/sdk.js"></script>');
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterAll(async () => {
  site?.close();
  await world?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Bundles the published package into one script that defines `sdk`. */
async function bundleSdk(): Promise<string> {
  stagePackage('sdk', folder);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const source = "export * from './dist/sdk/index.js'; export * from './dist/sdk/wallet.js';";
  const entry = join(folder, 'entry.js');
  const made = await rolldown({
    input: entry,
    cwd: folder,
    platform: 'browser',
    plugins: [
      { name: 'entry', resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? source : null) },
    ],
  });
  try {
    const { output } = await made.generate({ format: 'iife', name: 'sdk', minify: true });
    return output[0].code;
  } finally {
    await made.close();
  }
}

/** Runs in the page: searches goods, buys them, and reports the delivery. */
const BUY = `async ({ baseUrl, walletKey }) => {
  const wallet = sdk.walletFromKey(walletKey);
  const client = sdk.createClient({ baseUrl });
  const phases = [];
  for await (const { id } of sdk.rowsOf(sdk.shelfPages(client, { q: 'almanac' }))) {
    const onProgress = ({ phase }) => phases.push(phase);
    const goods = await sdk.buy({ client, wallet, listingId: id, maxPriceUsdc: 2.5, onProgress });
    return { artifact: goods.artifact, phases, globals: typeof Buffer + typeof process };
  }
}`;

test('a page of another site buys with the packed SDK, once, and is given the goods', async () => {
  const keeper = await world.join('keeper');
  const listed = await listGoods(world, keeper, newGoods({ title: 'Almanac of tides', artifact: 'high at noon' }));
  expect(listed.status).toBe(201);
  const wallet = await fundedWallet(world);
  const visitor = await browser.visitor();
  try {
    await visitor.page.goto(origin);
    const given = JSON.stringify({ baseUrl: world.url, walletKey: wallet.key });
    const bought = await visitor.page.evaluate(`(${BUY})(${given})`);
    expect(bought).toMatchObject({ artifact: 'high at noon', globals: 'undefinedundefined' });
    expect(bought).toMatchObject({ phases: expect.arrayContaining(['signed', 'delivered']) });
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([2_500_000n]);
    // The browser reports the 402, and the 404 for goods that the caller does not own, as failed requests. It must report nothing else.
    expect(visitor.complaints.filter((one) => !/40[24]/.test(one))).toEqual([]);
  } finally {
    await visitor.close();
  }
});
