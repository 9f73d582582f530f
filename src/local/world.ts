import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../platform/clock.ts';
import { lockDataFolder } from '../platform/data-folder-lock.ts';
import type { LocalChain } from './chain/start-chain.ts';
import { makeMaintainer } from './maintainer-file.ts';
import { openChain } from './open-chain.ts';
import { makeFacilitatorAuth, openCity, openFacilitator, openMarket } from './open-servers.ts';
import { checkPortsFree, type Ports } from './ports.ts';
import type { ServerProcess } from './server-process.ts';

export interface WorldOptions {
  dataDir: string;
  ports: Ports;
  /** How many blocks, one a second, the finalized head is behind: an even number. */
  finalityBlocks: number;
  signal: AbortSignal;
  /** Called as each part is ready. */
  onPart(part: { name: string; url: string; detail: string; seconds: number }): void;
}

export interface LocalWorld {
  dataDir: string;
  marketUrl: string;
  facilitatorUrl: string;
  cityUrl: string;
  chain: LocalChain;
  finalityBlocks: number;
  /** Key and codes of a merchant of this world, mode 0600. */
  keyFile(handle: string): string;
  /** The key of a resident of its city, mode 0600. */
  residentFile(handle: string): string;
  /** Resolves with the name of the first part that ended by itself. */
  ended: Promise<string>;
  /** Market first, so that it finishes what it has begun; the chain last. */
  stop(): Promise<void>;
}

export const MAINTAINER = 'keeper';
const WATCH_MS = 500;

/** Everything that a sale needs, on this machine: chain with the real USDC, facilitator, market, city. What an earlier start left is found again. */
export async function startWorld(options: WorldOptions): Promise<LocalWorld> {
  const { ports, signal, finalityBlocks } = options;
  const dataDir = resolve(options.dataDir);
  await using begun = new AsyncDisposableStack();
  mkdirSync(dataDir, { recursive: true });
  const lock = await lockDataFolder(dataDir, dataDir);
  begun.defer(() => lock.release());
  await checkPortsFree(ports);
  const stopping = new AbortController();
  begun.defer(() => stopping.abort());

  const part = stopwatch(options);
  const chain = await openChain(dataDir, options);
  begun.defer(() => chain.stop());
  part('chain', chain.url, `chain id ${chain.chainId}, a block per second, final ${finalityBlocks} blocks later`);
  signal.throwIfAborted();

  const auth = makeFacilitatorAuth();
  const facilitator = await openFacilitator(dataDir, ports, { chain, auth, signal });
  begun.defer(() => facilitator.stop());
  const facilitatorUrl = `http://127.0.0.1:${ports.facilitator}`;
  part('facilitator', facilitatorUrl, 'checks signed x402 payments and puts them on the chain');

  const market = await openMarket(dataDir, ports, { chain, facilitatorUrl, auth, signal });
  begun.defer(() => market.stop());
  const marketUrl = `http://127.0.0.1:${ports.market}`;
  part('market', marketUrl, 'front door, on a PostgreSQL of its own');

  const city = await openCity(dataDir, ports, { chain, signal });
  begun.defer(() => city.stop());
  const cityUrl = `http://127.0.0.1:${ports.city}`;
  part('city', cityUrl, 'where things have owners, on a PostgreSQL and with keys of its own');

  const keyFile = (handle: string): string => join(dataDir, 'keys', `${handle}.json`);
  const marketDataDir = join(dataDir, 'market');
  const made = await makeMaintainer({ marketUrl, marketDataDir, handle: MAINTAINER, file: keyFile(MAINTAINER) });
  part(
    'maintainer',
    `${marketUrl}/api/store/${MAINTAINER}`,
    made === 'made' ? 'merchant 1, made by npm run maintainer' : 'merchant 1, found again',
  );

  const all = begun.move();
  return {
    dataDir,
    marketUrl,
    facilitatorUrl,
    cityUrl,
    chain,
    finalityBlocks,
    keyFile,
    residentFile: (handle) => join(dataDir, 'keys', 'city', `${handle}.json`),
    ended: firstToEnd([facilitator, market, city], chain, stopping.signal),
    stop: () => all.disposeAsync(),
  };
}

function stopwatch(options: WorldOptions): (name: string, url: string, detail: string) => void {
  let sinceMs = systemClock.now();
  return (name, url, detail) => {
    const nowMs = systemClock.now();
    options.onPart({ name, url, detail, seconds: (nowMs - sinceMs) / 1_000 });
    sinceMs = nowMs;
  };
}

async function firstToEnd(
  servers: readonly ServerProcess[],
  chain: LocalChain,
  stopping: AbortSignal,
): Promise<string> {
  const ends = servers.map(({ name, exited }) => exited.then(() => name));
  return Promise.race([...ends, chainEnd(chain, stopping)]);
}

async function chainEnd(chain: LocalChain, stopping: AbortSignal): Promise<string> {
  while (isAlive(chain.pid)) {
    await systemClock.sleep(WATCH_MS, stopping);
    // Stopped on purpose: then this is no news.
    if (stopping.aborted) return new Promise(() => {});
  }
  return 'chain';
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
