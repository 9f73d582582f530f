import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testAccount, WORLD_ACCOUNTS } from '../src/local/chain/accounts.ts';
import { deployUsdc } from '../src/local/chain/deploy-usdc.ts';
import { fund } from '../src/local/chain/fund.ts';
import { type LocalChain, startChain } from '../src/local/chain/start-chain.ts';
import type { Database } from '../src/platform/database/database.ts';
import { startEmbeddedPostgres } from '../src/platform/database/embedded.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { openDatabase } from '../src/platform/database/open-database.ts';
import { systemRandom } from '../src/platform/random.ts';
import { type Seeded, seed } from './seed.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { CHAIN_SETTINGS, PAYERS, SENDERS } from './settings.ts';

export interface World {
  chain: LocalChain;
  database: Database;
  market: ServerProcess;
  facilitator: ServerProcess;
  seeded: Seeded;
}

const MIGRATIONS = fileURLToPath(new URL('../migrations/market', import.meta.url));
const ETHER = 10n ** 18n;
const PAYER_UNITS = 1_000_000_000_000n;

/** Everything a purchase passes through, each in its own process. What is started is handed to the stack at once. */
export async function startWorld(
  begun: AsyncDisposableStack,
  listings: number,
  tell: (line: string) => void,
): Promise<World> {
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
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepper.toString('hex')}\n`, { mode: 0o600 });
  const seeded = await seed(database, { listings, buyers: PAYERS, pepper });
  tell('starting facilitator and market');
  const facilitator = await startFacilitator(chain, folder);
  begun.defer(() => facilitator.stop());
  const market = await startServerProcess({
    name: 'market',
    program: 'src/market/main.ts',
    logFile: join(folder, 'market.log'),
    ready: 'market_listening',
    env: {
      DATABASE_URL: postgres.url,
      OPENAISLE_PORT: '0',
      OPENAISLE_BASE_URL: 'http://127.0.0.1:4020',
      OPENAISLE_PEPPER_FILE: pepperFile,
      OPENAISLE_NETWORK: 'base',
      OPENAISLE_RPC_URLS: chain.url,
      OPENAISLE_FACILITATOR_URL: facilitator.url,
      OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    },
  });
  begun.defer(() => market.stop());
  return { chain, database, market, facilitator, seeded };
}

async function startFundedChain(begun: AsyncDisposableStack): Promise<LocalChain> {
  const chain = await startChain({ finalityBlocks: CHAIN_SETTINGS.finalityBlocks });
  begun.defer(() => chain.stop());
  await deployUsdc(chain);
  const funded = [
    { address: WORLD_ACCOUNTS.facilitator.address, wei: 1_000n * ETHER },
    ...Array.from({ length: SENDERS }, (_, n) => ({ address: senderAccount(n).address, wei: 1_000n * ETHER })),
    ...Array.from({ length: PAYERS }, (_, n) => ({ address: payerAccount(n).address, usdcUnits: PAYER_UNITS })),
  ];
  await fund(chain, funded);
  return chain;
}

async function startFacilitator(chain: LocalChain, folder: string): Promise<ServerProcess> {
  const keyFile = join(folder, 'signer.key');
  await writeFile(keyFile, `${WORLD_ACCOUNTS.facilitator.key}\n`, { mode: 0o600 });
  return startServerProcess({
    name: 'facilitator',
    program: 'src/facilitator/main.ts',
    logFile: join(folder, 'facilitator.log'),
    ready: 'facilitator_listening',
    env: {
      FACILITATOR_PORT: '0',
      FACILITATOR_RPC_URL: chain.url,
      FACILITATOR_KEY_FILE: keyFile,
      FACILITATOR_DATA_DIR: folder,
    },
  });
}

export function payerAccount(n: number) {
  return testAccount(`bench payer ${n % PAYERS}`);
}

export function senderAccount(n: number) {
  return testAccount(`bench sender ${n % SENDERS}`);
}
