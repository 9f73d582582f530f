import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WORLD_ACCOUNTS } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { startServer } from '../src/local/server-process.ts';
import type { Database } from '../src/platform/database/database.ts';
import { startEmbeddedPostgres } from '../src/platform/database/embedded.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { openDatabase } from '../src/platform/database/open-database.ts';
import { systemRandom } from '../src/platform/random.ts';
import { freePort } from '../test/support/free-port.ts';
import { startFundedChain } from './chain.ts';
import { type Seeded, seed } from './seed.ts';
import { PAYERS, WIDE_LIMITS } from './settings.ts';
import { writePrivate } from './write-private.ts';

export interface World {
  chain: LocalChain;
  database: Database;
  marketUrl: string;
  seeded: Seeded;
  /** Of market and facilitator. */
  logFiles: string[];
}

export interface StartOptions {
  listings: number;
  /** Everything that is started is handed to it at once. */
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

const MIGRATIONS = fileURLToPath(new URL('../migrations/market', import.meta.url));
const MARKET = new URL('../src/market/main.ts', import.meta.url);
const FACILITATOR = new URL('../src/facilitator/main.ts', import.meta.url);

/** Everything a purchase passes through, each in its own process. */
export async function startWorld(options: StartOptions): Promise<World> {
  const { listings, begun, tell } = options;
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting anvil, with USDC and funded wallets');
  const chain = await startFundedChain(begun);
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  const database = await openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'openaisle-bench' });
  begun.defer(() => database.close());
  tell(`seeding ${listings} listings`);
  const pepper = systemRandom.bytes(32);
  const seeded = await seed(database, { listings, buyers: PAYERS, pepper });
  tell('starting facilitator and market');
  const facilitator = await startFacilitator(options, folder, chain);
  const market = await startMarket(options, folder, {
    databaseUrl: postgres.url,
    pepperFile: await writePrivate(join(folder, 'pepper-of-bench'), `1:${pepper.toString('hex')}\n`),
    rpcUrl: chain.url,
    facilitatorUrl: facilitator.url,
  });
  return { chain, database, marketUrl: market.url, seeded, logFiles: [market.logFile, facilitator.logFile] };
}

interface Started {
  url: string;
  logFile: string;
}

async function startFacilitator(options: StartOptions, folder: string, chain: LocalChain): Promise<Started> {
  const port = await freePort();
  return start(options, folder, 'facilitator', FACILITATOR, port, {
    FACILITATOR_PORT: String(port),
    FACILITATOR_RPC_URL: chain.url,
    FACILITATOR_KEY_FILE: await writePrivate(join(folder, 'signer.key'), `${WORLD_ACCOUNTS.facilitator.key}\n`),
    FACILITATOR_DATA_DIR: folder,
    // A load of sales at the local chain's gas price is none that an operator would pay for.
    FACILITATOR_LIMITS: '{"gas_loss_hour_units":1000000000,"gas_loss_day_units":1000000000}',
  });
}

async function startMarket(
  options: StartOptions,
  folder: string,
  given: { databaseUrl: string; pepperFile: string; rpcUrl: string; facilitatorUrl: string },
): Promise<Started> {
  const port = await freePort();
  return start(options, folder, 'market', MARKET, port, {
    DATABASE_URL: given.databaseUrl,
    OPENAISLE_PORT: String(port),
    OPENAISLE_PEPPER_FILE: given.pepperFile,
    OPENAISLE_NETWORK: 'base',
    OPENAISLE_RPC_URLS: given.rpcUrl,
    OPENAISLE_FACILITATOR_URL: given.facilitatorUrl,
    OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
    OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    OPENAISLE_LIMITS: WIDE_LIMITS,
  });
}

/** It logs into a file, so that nobody has to read along while it is measured. */
async function start(
  { begun, signal }: StartOptions,
  folder: string,
  name: string,
  main: URL,
  port: number,
  env: Record<string, string>,
): Promise<Started> {
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(folder, `${name}.log`);
  const profiled = profiling(name);
  const server = await startServer({
    name,
    main,
    env: { ...env, ...profiled },
    logFile,
    readyUrl: `${url}/readyz`,
    signal,
  });
  begun.defer(() => server.stop());
  return { url, logFile };
}

/** `OPENAISLE_BENCH_PROFILE` names a folder for CPU profiles of market and facilitator. */
function profiling(name: string): Record<string, string> {
  const folder = process.env['OPENAISLE_BENCH_PROFILE'];
  if (folder === undefined || folder === '') return {};
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-name=${name}.cpuprofile` };
}
