import { execFile } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readBalance } from '../platform/chain/usdc.ts';
import { systemClock } from '../platform/clock.ts';
import { lockDataFolder } from '../platform/data-folder.ts';
import { isAlive } from '../platform/run-command.ts';
import { createClient } from '../sdk/client.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from './chain/accounts.ts';
import { deployUsdc } from './chain/deploy-usdc.ts';
import { type LocalChain, startChain } from './chain/start-chain.ts';
import { type Funding, fund } from './chain/transactions.ts';
import {
  checkPortsFree,
  makeFacilitatorAuth,
  openCity,
  openFacilitator,
  openMarket,
  type Ports,
} from './open-servers.ts';
import { inheritedEnvironment, type ServerProcess } from './server-process.ts';

const LOW_UNITS = 100_000_000n;
const REFILL_UNITS = 1_000_000_000n;
const FACILITATOR_WEI = 1_000n * 10n ** 18n;

async function openChain(
  dataDir: string,
  { ports, finalityBlocks }: { ports: Ports; finalityBlocks: number },
): Promise<LocalChain> {
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const lines = createWriteStream(join(dataDir, 'logs', 'chain.log'), { mode: 0o600 });
  const chain = await startChain({
    port: ports.chain,
    finalityBlocks,
    blockTimeSeconds: 1,
    stateFile: join(dataDir, 'chain', 'state.json'),
    log: (line) => void lines.write(`${line}\n`),
  });
  try {
    await deployUsdc(chain);
    await fundWallets(chain);
    return chain;
  } catch (error) {
    await chain.stop();
    throw error;
  }
}

/** Gives test USDC to wallets that have little, except the treasury, which gets only fees. Gives the facilitator ether. */
async function fundWallets(chain: LocalChain): Promise<void> {
  const { treasury, facilitator, ...others } = WORLD_ACCOUNTS;
  const poor: Funding[] = [];
  for (const { address } of Object.values(others)) {
    const units = await readBalance(chain.rpc, USDC_ADDRESS, address);
    if (units < LOW_UNITS) poor.push({ address, usdcUnits: REFILL_UNITS });
  }
  await fund(chain, [...poor, { address: facilitator.address, wei: FACILITATOR_WEI }]);
}

export interface WorldOptions {
  dataDir: string;
  ports: Ports;
  /** Distance of the finalized head in blocks, one per second. Must be even. */
  finalityBlocks: number;
  signal: AbortSignal;
  onPart(part: { name: string; url: string; detail: string; seconds: number }): void;
}

export interface LocalWorld {
  dataDir: string;
  marketUrl: string;
  facilitatorUrl: string;
  cityUrl: string;
  facilitatorAuth: string;
  pids: { market: number; facilitator: number; city: number };
  chain: LocalChain;
  finalityBlocks: number;
  /** Returns the path of a merchant's key and codes, mode 0600. */
  keyFile(handle: string): string;
  /** Returns the path of a resident's key, mode 0600. */
  residentFile(handle: string): string;
  /** Resolves with the name of the first part that ends, even if `stop` ends it. */
  ended: Promise<string>;
  /** Stops the city and the market first, so that they can finish their work, then the facilitator, and the chain last. */
  stop(): Promise<void>;
}

export const MAINTAINER = 'keeper';
const WATCH_MS = 500;

/** Starts a chain with the real USDC, facilitator, market and city on this machine. Continues from the data of an earlier start. */
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

  const part = createPartTimer(options);
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
  const outcome = await makeMaintainer({ marketUrl, marketDataDir, handle: MAINTAINER, file: keyFile(MAINTAINER) });
  part(
    'maintainer',
    `${marketUrl}/api/store/${MAINTAINER}`,
    outcome === 'made' ? 'merchant 1, made by npm run maintainer' : 'merchant 1, found again',
  );

  const all = begun.move();
  return {
    dataDir,
    marketUrl,
    facilitatorUrl,
    cityUrl,
    facilitatorAuth: auth,
    pids: { market: market.pid, facilitator: facilitator.pid, city: city.pid },
    chain,
    finalityBlocks,
    keyFile,
    residentFile: (handle) => join(dataDir, 'keys', 'city', `${handle}.json`),
    ended: firstEndedPart([facilitator, market, city], chain, stopping.signal),
    stop: () => all.disposeAsync(),
  };
}

function createPartTimer(options: WorldOptions): (name: string, url: string, detail: string) => void {
  let sinceMs = systemClock.now();
  return (name, url, detail) => {
    const nowMs = systemClock.now();
    options.onPart({ name, url, detail, seconds: (nowMs - sinceMs) / 1_000 });
    sinceMs = nowMs;
  };
}

async function firstEndedPart(
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
    // Never resolve, because the chain was stopped on purpose.
    if (stopping.aborted) return new Promise(() => {});
  }
  return 'chain';
}

const COMMAND = fileURLToPath(new URL('../market/maintainer.ts', import.meta.url));

/** Creates merchant 1 with the operator's command while the market runs, unless it exists. */
async function makeMaintainer(options: {
  marketUrl: string;
  marketDataDir: string;
  handle: string;
  file: string;
}): Promise<'made' | 'found'> {
  const { marketUrl, marketDataDir, handle, file } = options;
  const { body } = await createClient({ baseUrl: marketUrl }).listMerchants({ query: { limit: 1 } });
  if (body.merchants[0]?.maintainer === true) {
    if (existsSync(file)) return 'found';
    throw new Error(
      `The market has a maintainer, but its key file ${file} is missing. Remove the data folder and start again.`,
    );
  }
  // An interrupted start may have left the file before the merchant existed.
  rmSync(file, { force: true });
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const env = { ...inheritedEnvironment(), OPENAISLE_DATA_DIR: marketDataDir };
  await promisify(execFile)(process.execPath, [COMMAND, '--handle', handle, '--out', file], { env });
  return 'made';
}
