import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { startTestFacilitator } from '../support/facilitator.ts';
import {
  BASE_URL,
  type ProofTerms,
  startWorld,
  TEST_PEPPER,
  type World,
  worldConfig,
} from '../support/market-world.ts';
import { type LogLine, recordingLog } from '../support/recording-log.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';

export const PRICE = 2_500_000n;
export const FINALITY_BLOCKS = 8;

export interface StressListing {
  id: bigint;
  /** In the hidden goods and nowhere else. */
  canary: string;
  terms: ProofTerms;
}

/** Two markets on one database and one chain, the second of them started anew every now and then. */
export interface Stage {
  world: World;
  facilitator: ScriptedFacilitator;
  /** The real facilitator that the scripted one forwards to. */
  settlesAt: string;
  /** Does something to the chain while markets and facilitator wait: the local node does not reorganise in one step. */
  alone(act: () => Promise<void>): Promise<void>;
  listings: readonly StressListing[];
  /** The markets that serve at the moment. */
  markets(): readonly { url: string; running: RunningMarket }[];
  restartSecond(): Promise<void>;
  /** One listing more, so that there is always something nobody has bought. */
  stock(): Promise<void>;
  /** The clock of both markets. Blocks made in haste have times to come, and it must not be behind those. */
  now(): number;
  followChain(): Promise<void>;
  lines(): readonly LogLine[];
  close(): Promise<void>;
}

export async function openStage(listings: number): Promise<Stage> {
  const facilitator = await startScriptedFacilitator();
  const gate = await openGate();
  let aheadMs = 0;
  const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };
  const world = await startWorld({
    facilitatorUrl: facilitator.url,
    chain: { finalityBlocks: FINALITY_BLOCKS },
    rpcUrl: gate.leadTo,
    clock,
    reconcileEveryMs: 150,
  });
  const settling = await startTestFacilitator(world.chain, { rpcUrl: gate.url });
  facilitator.script({ verify: 'forward', settle: 'forward', to: settling.url });
  const lines: LogLine[][] = [world.logLines];
  let second: Awaited<ReturnType<typeof startSecond>> | null = null;
  const start = async () => {
    second = await startSecond(world, gate.url, facilitator.url, clock);
    lines.push(second.lines);
  };
  await world.join('the-keeper');
  await start();
  const shelf = await openShelf(world);
  for (let n = 0; n < listings; n += 1) await shelf.stock();
  return {
    world,
    facilitator,
    settlesAt: settling.url,
    alone: gate.alone,
    listings: shelf.listings,
    stock: shelf.stock,
    markets: () => [{ url: world.url, running: world.running }, ...(second === null ? [] : [second])],
    restartSecond: async () => {
      const old = second;
      second = null;
      await old?.stop();
      await start();
    },
    now: clock.now,
    followChain: async () => {
      aheadMs = Math.max(aheadMs, (await chainTimeMs(world.chain)) - systemClock.now());
    },
    lines: () => lines.flat(),
    close: async () => {
      await second?.stop();
      await settling.close();
      await world.stop();
      await facilitator.close();
      gate.close();
    },
  };
}

async function startSecond(world: World, rpcUrl: string, facilitatorUrl: string, clock: Clock) {
  const { log, lines } = recordingLog();
  const database = await openDatabase({ url: world.db.url, poolSize: 6, allowUnsafe: true });
  const running = createMarket({
    config: worldConfig({ databaseUrl: world.db.url, rpcUrl, facilitatorUrl }),
    database,
    clock,
    random: systemRandom,
    log,
    pepper: TEST_PEPPER,
    reconcileEveryMs: 150,
  });
  const { url } = await running.start();
  const stop = async (): Promise<void> => {
    // In the middle of things: what is under way is broken off.
    await running.stop({ drainMs: 0 });
    await database.close();
  };
  return { url, running, lines, stop };
}

async function openShelf(world: World): Promise<{ listings: StressListing[]; stock(): Promise<void> }> {
  const sellers = [
    { wallet: testAccount('stress seller one').address, merchant: await world.join('stress-seller-one') },
    { wallet: testAccount('stress seller two').address, merchant: await world.join('stress-seller-two') },
  ] as const;
  const listings: StressListing[] = [];
  const stock = async (): Promise<void> => {
    const { wallet, merchant } = sellers[listings.length % 2 === 0 ? 0 : 1];
    const canary = `canary-${systemRandom.bytes(12).toString('hex')}`;
    const given = { wallet, priceUnits: PRICE, artifact: `goods with ${canary}` };
    const { id } = await seedListing(world.db.database, merchant.id, given);
    const terms = { payTo: wallet, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
    listings.push({ id, canary, terms });
  };
  return { listings, stock };
}

export async function fundAll(world: World, addresses: readonly Hex[]): Promise<void> {
  await fund(
    world.chain,
    addresses.map((address) => ({ address, usdcUnits: 400n * PRICE, wei: 10n ** 20n })),
  );
  // So deep that no reorganisation of the run reaches it.
  await world.chain.mine(2 * FINALITY_BLOCKS);
}

async function chainTimeMs(chain: LocalChain): Promise<number> {
  return Number((await readBlock(chain.rpc, 'latest'))?.timestamp ?? 0n) * 1_000;
}

interface Gate {
  url: string;
  /** Says which chain is behind it, and returns its own address. */
  leadTo(chain: LocalChain): string;
  /** Lets nobody else in while this runs, and waits before until everybody is out. */
  alone(act: () => Promise<void>): Promise<void>;
  close(): void;
}

/** Stands before the node, for whoever must not see it half-way through a change. */
async function openGate(): Promise<Gate> {
  let target = '';
  let closed: Promise<void> | null = null;
  const inside = new Set<Promise<unknown>>();
  const forward = async (body: Buffer<ArrayBuffer>): Promise<string> => {
    while (closed !== null) await closed;
    const asked = fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answered = asked.then((answer) => answer.text());
    const left: Promise<unknown> = answered.catch(() => {}).then(() => inside.delete(left));
    inside.add(left);
    return await answered;
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    try {
      const answer = await forward(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    leadTo: (chain) => {
      target = chain.url;
      return url;
    },
    alone: async (act) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      try {
        await Promise.all(inside);
        await act();
      } finally {
        closed = null;
        resolve();
      }
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
