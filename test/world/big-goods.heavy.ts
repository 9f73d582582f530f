import { createCipheriv, createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createClient } from '../../src/sdk/client.ts';
import type { DeliveredGoods } from '../../src/sdk/goods/download.ts';
import { buy } from '../../src/sdk/payments/buy.ts';
import { listGoods } from '../../src/sdk/payments/list-goods.ts';
import { walletFromKey } from '../../src/sdk/wallet.ts';
import { type BreakingProxy, startBreakingProxy } from '../support/breaking-proxy.ts';
import { type MarketProcess, type ProcessWorld, startProcessWorld } from '../support/market-process.ts';
import { paidUnits } from '../support/market-world.ts';
import { cliRuns } from './run-cli.ts';

const MIB = 1_048_576;
const SIZE = 64 * MIB;
const CUTS = 20;
/** So that all cuts fall into one pass over the goods. */
const CUT_EVERY = 3 * MIB;
/** Above a market that has just transferred 64 MiB several times, so that it still holds memory which those transfers took. */
const MOST_ABOVE_IDLE = 60 * MIB;
/** Above a market that has stored 1 MiB. Mostly dead buffers, which V8 collects late: the live memory is measured in upload-memory.test.ts. */
const MOST_ABOVE_START = 200 * MIB;
const SLOW_MS = 300_000;
const { treasury } = WORLD_ACCOUNTS;

const seed = Number(process.env['OPENAISLE_SEED'] ?? systemRandom.int(1_000_000_000));
process.stdout.write(`big goods: OPENAISLE_SEED=${seed}\n`);

/** Returns bytes that look random, so that nothing compresses or repeats. */
function bytesOf(name: string, size = SIZE): Buffer {
  const key = createHash('sha256').update(`${seed} ${name}`).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest('hex');
}

describe('64 MiB over a connection that breaks 20 times each way', () => {
  const cli = cliRuns();
  let proxy: BreakingProxy;
  let world: ProcessWorld;
  let market: MarketProcess;
  let started: number;

  beforeAll(async () => {
    proxy = await startBreakingProxy();
    world = await startProcessWorld({ environment: { OPENAISLE_BASE_URL: proxy.url } });
    market = await world.startMarket();
    proxy.leadTo(market.url);
    await world.join('the-keeper');
    const { key } = await world.join('first');
    await createClient({ baseUrl: proxy.url, key }).upload(bytesOf('first', MIB));
    started = memoryOf(market);
  }, SLOW_MS);
  afterAll(async () => {
    await market?.stop();
    await world?.stop();
    await proxy?.[Symbol.asyncDispose]();
  });

  const environment = { sleep: () => world.finalize() };

  async function fundedAccount(name: string): Promise<TestAccount> {
    const account = testAccount(`${name} of big goods`);
    await fund(world.chain, [{ address: account.address, usdcUnits: 10_000_000n, wei: 0n }]);
    return account;
  }

  test(
    'the command line uploads, sells, buys and saves: the same bytes, one fee, one payment',
    async () => {
      const [seller, buyer] = [await fundedAccount('cli seller'), await fundedAccount('cli buyer')];
      const { key } = await world.join('cli-seller');
      const goods = bytesOf('cli');
      const path = join(cli.folder(), 'records.bin');
      await writeFile(path, goods);
      const on = (machine: string, wallet: TestAccount) => ({
        market: proxy.url,
        home: join(cli.folder(), machine),
        env: { OPENAISLE_WALLET_KEY: wallet.key, XDG_DATA_HOME: join(cli.folder(), machine, 'data') },
        environment,
      });
      const about = ['--title', 'Records', '--description', 'A million rows', '--price', '1.25', '--aisle', 'data'];
      const sell = ['sell', path, ...about, '--key-stdin'];
      const input = `${key}\n`;

      proxy.cut('sent', CUT_EVERY, CUTS);
      const stopping = new AbortController();
      const interrupted = await cli.run(sell, {
        ...{ ...on('one', seller), input, interruption: stopping.signal },
        environment: {
          sleep: async (_, signal) => {
            if (proxy.left() <= CUTS / 2) stopping.abort();
            signal?.throwIfAborted();
          },
        },
      });
      expect([interrupted.code, interrupted.stderr]).toEqual([3, expect.stringContaining('goods_under_way')]);
      const sold = await cli.run(sell, { ...on('one', seller), input });
      expect(sold.code, sold.stderr).toBe(0);
      expect(proxy.left()).toBe(0);
      expect(sold.stderr).toContain('of 64 MiB (100 %)');
      // Only the request that broke was sent again, and no bytes stored before it.
      expect(proxy.passed().sent).toBeLessThan(2 * SIZE);
      const id = Number(/^Listed: (\d+)/.exec(sold.stdout)?.[1]);

      proxy.cut('received', CUT_EVERY, CUTS);
      const bought = await cli.run(['buy', String(id), '--max', '1.25', '--json'], on('two', buyer));
      expect(bought.code, bought.stdout).toBe(0);
      expect(proxy.left()).toBe(0);
      expect(proxy.passed().received).toBeLessThan(SIZE + 10 * MIB);
      const saved = String(bought.json()['path']);
      expect(await hashOfFile(saved)).toBe(hashOf(goods));
      expect((await stat(saved)).mode & 0o777).toBe(0o600);

      const to = join(cli.folder(), 'two', 'again.bin');
      const again = await cli.run(['download', String(id), '--to', to], on('three', buyer));
      expect(again.code, again.stderr).toBe(0);
      expect(await hashOfFile(to)).toBe(hashOf(goods));
      expect(await paidUnits(world.chain, seller.address, treasury.address)).toEqual([1_000_000n]);
      expect(await paidUnits(world.chain, buyer.address, seller.address)).toEqual([1_250_000n]);
    },
    SLOW_MS,
  );

  let delivery: DeliveredGoods;

  test(
    'so does a program with the SDK',
    async () => {
      const [seller, buyer] = [await fundedAccount('sdk seller'), await fundedAccount('sdk buyer')];
      const { key } = await world.join('sdk-seller');
      const goods = bytesOf('sdk');
      const client = createClient({ baseUrl: proxy.url, key, environment });
      proxy.cut('sent', CUT_EVERY, CUTS);
      const upload = await client.upload(goods, { filename: 'rows.bin', mediaType: 'application/octet-stream' });
      expect(upload).toMatchObject({ sha256: `0x${hashOf(goods)}`, bytes: SIZE });
      expect(proxy.left()).toBe(0);
      const listing = {
        ...{ title: 'More records', description: 'Another million rows', preview: '', aisle: 'data' as const },
        ...{ price_usdc: 1.25, seller_wallet: seller.address },
      };
      const { listing_id: listingId } = await listGoods({ client, wallet: walletFromKey(seller.key), listing, upload });

      const reader = createClient({ baseUrl: proxy.url, environment });
      proxy.cut('received', CUT_EVERY, CUTS);
      delivery = await buy({ client: reader, wallet: walletFromKey(buyer.key), listingId, maxPriceUsdc: 1.25 });
      const hash = createHash('sha256');
      await reader.download(delivery, { to: (bytes) => void hash.update(bytes) });
      expect(hash.digest('hex')).toBe(hashOf(goods));
      expect(proxy.left()).toBe(0);
      expect(await paidUnits(world.chain, seller.address, treasury.address)).toEqual([1_000_000n]);
      expect(await paidUnits(world.chain, buyer.address, seller.address)).toEqual([1_250_000n]);
    },
    SLOW_MS,
  );

  test(
    'eight transfers at once take the market little memory',
    async () => {
      const keys = await Promise.all([1, 2, 3, 4].map(async (which) => (await world.join(`many-${which}`)).key));
      const goods = bytesOf('many');
      const reader = createClient({ baseUrl: proxy.url, environment });
      // Idle after it has sold and transferred once, so that code which it loads only once is not counted.
      const idle = memoryOf(market);
      const uploads = keys.map((key) => createClient({ baseUrl: proxy.url, key, environment }).upload(goods));
      const downloads = keys.map(() => reader.download(delivery, { to: () => {} }));
      let isOver = false;
      const all = Promise.all([...uploads, ...downloads]).finally(() => {
        isOver = true;
      });
      let highest = 0;
      while (!isOver) {
        highest = Math.max(highest, memoryOf(market));
        await turn();
      }
      await all;
      const [atStart, afterSales, atMost] = [started, idle, highest].map((bytes) => Math.round(bytes / MIB));
      process.stdout.write(
        `big goods: resident MiB of the market: ${atStart} at the start, ${afterSales} idle after two sales, ${atMost} with eight transfers\n`,
      );
      expect(highest - idle).toBeLessThan(MOST_ABOVE_IDLE);
      expect(highest - started).toBeLessThan(MOST_ABOVE_START);
    },
    SLOW_MS,
  );
});

/** Returns the resident memory of the market's process. */
function memoryOf({ pid }: MarketProcess): number {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) * 1_024;
}
