import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WORLD_ACCOUNTS } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { startEmbeddedPostgres } from '../src/platform/database/embedded.ts';
import { startFundedChain } from './chain.ts';
import { type Side, startSide } from './side.ts';
import { type Meters, startMeters } from './start-meters.ts';

export interface World {
  chain: LocalChain;
  meters: Meters;
  side: Side;
  /** Folder for files of this run. */
  folder: string;
}

export interface StartOptions {
  /** The checkout whose market is measured. */
  root: string;
  listings: number;
  /** Variables added to the market's environment. */
  marketEnv?: Record<string, string>;
  /** Replaces the default chain with short blocks and short finality. */
  startChain?: (begun: AsyncDisposableStack) => Promise<LocalChain>;
  /** Collects every started process for cleanup. */
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

/** Starts chain, database, and one checkout's market and facilitator, each in its own process. */
export async function startWorld(options: StartOptions): Promise<World> {
  const { root, listings, begun, signal, tell } = options;
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting anvil, with USDC and funded wallets');
  const chain = await (options.startChain ?? startFundedChain)(begun);
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  const meters = startMeters(begun);
  tell(`seeding ${listings} listings, starting facilitator and market`);
  const side = await startSide({
    ...{ name: 'market', root, folder, chain, meters, listings, begun, signal },
    postgresUrl: postgres.url,
    facilitatorKey: WORLD_ACCOUNTS.facilitator.key,
    marketEnv: { ...profiling('market'), ...options.marketEnv },
    facilitatorEnv: profiling('facilitator'),
  });
  return { chain, meters, side, folder };
}

/** `OPENAISLE_BENCH_PROFILE` names a folder for CPU profiles of market and facilitator. */
function profiling(name: string): Record<string, string> {
  const folder = process.env['OPENAISLE_BENCH_PROFILE'];
  if (folder === undefined || folder === '') return {};
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-name=${name}.cpuprofile` };
}
