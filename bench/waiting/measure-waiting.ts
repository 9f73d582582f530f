import { systemClock } from '../../src/platform/clock.ts';
import { freePort } from '../../test/support/free-port.ts';
import { followHeads, type Heads } from '../heads.ts';
import { THIS_CHECKOUT } from '../options.ts';
import { type Order, signOrders } from '../orders.ts';
import { proofHeader } from '../proof.ts';
import type { Running } from '../run-bench.ts';
import { marketShop, type Shop } from '../shops.ts';
import { startWorld, type World } from '../world.ts';
import { askOnNewConnection, buyOne, buySome, type FirstAnswer } from './buy-one.ts';
import { type Buyers, letBuyersAsk, retryAfterMs } from './buyers.ts';
import { countsOf, measureFor, measureWhile, type Scene, type Window } from './measure-window.ts';
import type { Options } from './options.ts';
import { padBlocks } from './pad-blocks.ts';
import { startPastChain, type Transferred } from './past-chain.ts';
import { BLOCK_SECONDS, FINALITY_BLOCKS, NEW_PURCHASES, REST_SECONDS } from './settings.ts';
import { signPayments } from './sign-payments.ts';
import { windowRow } from './window-row.ts';
import { countEnds, writeRows } from './write-rows.ts';

export interface Waiting {
  options: Options;
  windows: Window[];
  /** Medians of purchases without and with waiting payments. */
  alone: FirstAnswer;
  underLoad: FirstAnswer;
  /** Number of waiting payments by their final state, and of goods that their buyers have. */
  ends: Record<string, number>;
  delivered: number;
  /** Requests per second from the buyers whose payments wait, in the window `all wait, buyers ask`. */
  asksPerSecond: number;
}

/** Time outside the windows before the first payment becomes final. */
const APART_SECONDS = 180;

interface Ground extends Scene {
  shop: Shop;
  heads: Heads;
  /** Signs further purchases of new goods on demand, because a proof expires after ten minutes. */
  sign(count: number): Promise<Order[]>;
  waiting: Transferred[];
  options: Options;
  tell(line: string): void;
}

export async function measureWaiting(options: Options, running: Running): Promise<Waiting> {
  const ground = await prepare(options, running);
  const { world, shop, heads, waiting, tell } = ground;
  const url = world.side.marketUrl;
  await rest();
  tell('an idle market');
  const windows: Window[] = [];
  const note = (window: Window): void => {
    windows.push(window);
    tell(windowRow(window));
  };
  note(await measureFor(ground, 'idle', options.seconds));
  tell('one purchase that waits');
  for (const window of await measureOne(ground)) note(window);
  tell(`${NEW_PURCHASES} purchases, one after the other`);
  const alone = await buySome(url, shop, await ground.sign(NEW_PURCHASES), heads);
  tell(`${waiting.length} payments that wait`);
  await writeRows(world.side.books, waiting);
  note(await measureWhile(ground, 'first reading of all', () => untilRead(world, waiting.length)));
  await rest();
  note(await measureFor(ground, 'all wait', options.seconds / 2));
  const letThemAsk = (): Buyers => {
    const asked = waiting.map((one) => orderOf(one, world));
    return letBuyersAsk(url, shop, asked);
  };
  const early = letThemAsk();
  await rest();
  const askedBefore = early.asked();
  note(await measureFor(ground, 'all wait, buyers ask', options.seconds / 2));
  const asksPerSecond = (early.asked() - askedBefore) / (windows.at(-1)?.seconds ?? 1);
  await early.stop();
  const first = waiting[0]?.blockNumber ?? 0;
  tell(`until block ${first + FINALITY_BLOCKS}, when the first of them is final; now ${heads.latest()}`);
  while (heads.latest() < first + FINALITY_BLOCKS) {
    running.signal.throwIfAborted();
    await systemClock.sleep(BLOCK_SECONDS * 1_000);
  }
  tell('some of them end in every block');
  note(await measureFor(ground, 'some end in each block', options.seconds / 2));
  const buyers = letThemAsk();
  await rest();
  note(await measureFor(ground, 'some end, buyers ask', options.seconds / 2));
  const underLoad = await buySome(url, shop, await ground.sign(NEW_PURCHASES), heads);
  await buyers.stop();
  const ends = await countEnds(world.side.books, waiting);
  return { options, windows, alone, underLoad: underLoad, ends, delivered: buyers.delivered(), asksPerSecond };
}

const rest = (): Promise<void> => systemClock.sleep(REST_SECONDS * 1_000);

async function prepare(options: Options, running: Running): Promise<Ground> {
  const metricsPort = await freePort();
  const windowsBefore = 3 * options.seconds;
  const firstBlock = Math.min(FINALITY_BLOCKS - 50, Math.ceil((windowsBefore + APART_SECONDS) / BLOCK_SECONDS));
  let waiting: Transferred[] = [];
  const world = await startWorld({
    ...running,
    ...{ root: THIS_CHECKOUT, listings: options.payments + 4 * NEW_PURCHASES },
    marketEnv: { OPENAISLE_WORKERS: String(options.workers), OPENAISLE_METRICS_PORT: String(metricsPort) },
    startChain: async (begun) => {
      const sign = (chain: World['chain']) => signPayments(chain, options.payments);
      const past = await startPastChain(begun, { firstBlock, sign });
      waiting = past.transferred;
      return { ...past.chain, url: await padBlocks(past.chain.url, options.transactions, begun) };
    },
  });
  const { port } = world.chain;
  const heads = await followHeads({ ...world.chain, url: `http://127.0.0.1:${port}` }, running.begun);
  const shop = marketShop(world.side.marketUrl, world.side.seeded);
  let made = options.payments;
  const sign = async (count: number): Promise<Order[]> => {
    const orders = await signOrders(world.chain, world.side.seeded.goods, shop.buyers, { count, madeBefore: made });
    made += count;
    return orders;
  };
  const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
  return { world, metricsUrl, latest: heads.latest, heads, shop, sign, waiting, options, tell: running.tell };
}

/** Measures a purchase until it is mined, and then while its buyer repeats the request at the pace of Retry-After. */
async function measureOne(ground: Ground): Promise<Window[]> {
  const { world, shop, heads, options } = ground;
  const { marketUrl: url } = world.side;
  const [order] = await ground.sign(1);
  if (order === undefined) throw new Error('no order');
  const opening = await measureWhile(ground, 'one is opened', () => buyOne(url, shop, order, heads));
  const end = performance.now() + options.seconds * 1_000;
  const ask = async (): Promise<void> => {
    while (performance.now() < end) {
      const answer = await askOnNewConnection(url, shop, order);
      if (shop.read(order, answer).outcome !== 'pending') throw new Error('it was final too soon');
      await systemClock.sleep(Math.min(retryAfterMs(answer.head), Math.max(0, end - performance.now())));
    }
  };
  return [opening, await measureWhile(ground, 'one waits', ask)];
}

/** Waits until the background job has read all of the payments. */
async function untilRead(world: World, count: number): Promise<void> {
  const receipts = async (): Promise<number> => (await countsOf(world)).market['calls eth_getTransactionReceipt'] ?? 0;
  const before = await receipts();
  while ((await receipts()) < before + count) await systemClock.sleep(500);
  await systemClock.sleep(2_000);
}

function orderOf({ goods, buyer, authorization, signature }: Transferred, { side }: World): Order {
  const key = side.seeded.buyerKeys[buyer];
  if (key === undefined) throw new Error('a buyer without a key');
  const headers = { ...proofHeader(2, authorization, signature), authorization: `Bearer ${key}` };
  return { goods, payer: { address: authorization.from } as Order['payer'], headers };
}
