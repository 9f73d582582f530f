import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { DEFAULT_NETWORK } from '../../contract/vocabulary.ts';
import { createRpc, type Rpc } from '../../platform/chain/rpc.ts';
import { dumpPath, forgetPid, keepNewestState, rememberPid, startAnvil, stopOrphan } from './anvil-process.ts';

/** Maps architecture names of npm to those in anvil's package names. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

export function findAnvil(
  where: { platform: string; architecture: string; path: string } = {
    platform: process.platform,
    architecture: process.arch,
    path: process.env['PATH'] ?? '',
  },
): string {
  const windows = where.platform === 'win32';
  const program = windows ? 'anvil.exe' : 'anvil';
  const name = `@foundry-rs/anvil-${where.platform}-${ARCHITECTURES[where.architecture] ?? where.architecture}`;
  const candidates = [
    // Run the program and not its launcher, because signals must reach it.
    ...packageFolder(name).map((folder) => join(folder, 'bin', program)),
    ...where.path
      .split(delimiter)
      .filter((folder) => folder !== '')
      .map((folder) => join(folder, program)),
  ];
  const anvil = candidates.find(canRun);
  if (anvil !== undefined) return anvil;
  throw new Error(
    `The local chain needs anvil. The package ${name} is not installed and there is no anvil on PATH. ` +
      'Install Foundry (https://getfoundry.sh), or run the local world on Linux x64, where npm install brings it along.',
  );
}

function packageFolder(name: string): string[] {
  try {
    return [dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))];
  } catch {
    return [];
  }
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The real network's chain id, so that signatures are the same as on the real network. */
export const LOCAL_CHAIN_ID = Number(DEFAULT_NETWORK.chainId);
/** Number of old block states that the node keeps on disk, in addition to some hundred in memory. */
const KEPT_STATES = 2_000;

export interface ChainOptions {
  /** 0 for any free port. */
  port?: number;
  chainId?: number;
  /** Number of blocks between the latest and the finalized head. Must be even; 0 makes every block final immediately. */
  finalityBlocks?: number;
  /** Null to mine a block for every transaction. */
  blockTimeSeconds?: number | null;
  /** File that keeps the state across restarts. Written at a clean stop and every `stateIntervalSeconds`. */
  stateFile?: string;
  stateIntervalSeconds?: number;
  /** State of another chain to start with. The file is not changed. */
  loadFile?: string;
  log?: (line: string) => void;
}

export interface LocalChain {
  url: string;
  rpc: Rpc;
  port: number;
  pid: number;
  chainId: number;
  finalityBlocks: number;
  automine: boolean;
  mine(blocks?: number): Promise<void>;
  /** Stops the chain and waits until the state is written. */
  stop(): Promise<void>;
  /** Kills the chain. Loses everything since the state was last written. */
  kill(): Promise<void>;
}

export async function startChain(options: ChainOptions = {}): Promise<LocalChain> {
  const { chainId = LOCAL_CHAIN_ID, finalityBlocks = 0, blockTimeSeconds = null, log } = options;
  if (!Number.isInteger(finalityBlocks) || finalityBlocks < 0 || finalityBlocks % 2 !== 0) {
    throw new TypeError('finalityBlocks must be an even number');
  }
  const stateFile = options.stateFile === undefined ? undefined : resolve(options.stateFile);
  const resumed = stateFile !== undefined && (await prepareState(stateFile));
  const loadFile = resumed ? stateFile : options.loadFile;
  const stateOptions = [
    ...(loadFile === undefined ? [] : ['--load-state', loadFile]),
    ...(stateFile === undefined ? [] : dumpOptions(stateFile, options.stateIntervalSeconds ?? 10)),
  ];
  const states = openStatesFolder(stateFile);
  const dropStates = (): void => rmSync(states, { recursive: true, force: true });
  const anvil = await startAnvil(
    findAnvil(),
    [
      ...['--host', '127.0.0.1', '--port', String(options.port ?? 0), '--no-cors'],
      ...['--chain-id', String(chainId), '--slots-in-an-epoch', String(finalityBlocks / 2)],
      // Make blocks as large as the real network's, or a load test would have to wait.
      ...['--accounts', '0', '--gas-limit', '300000000'],
      ...(blockTimeSeconds === null ? [] : ['--block-time', String(blockTimeSeconds)]),
      // By default anvil fills a folder in the home directory that is never cleared.
      ...['--cache-path', states, '--max-persisted-states', String(KEPT_STATES)],
      ...stateOptions,
    ],
    log,
  ).catch((error: unknown) => {
    dropStates();
    throw error;
  });
  if (stateFile !== undefined) rememberPid(stateFile, anvil.pid);
  const url = `http://127.0.0.1:${anvil.port}`;
  const rpc = createRpc({ url, deadlineMs: 30_000 });
  const cleanUp = (): void => {
    if (stateFile !== undefined) {
      keepNewestState(stateFile);
      forgetPid(stateFile);
    }
    // Drop the old block states last. If this fails, the chain's state is already saved.
    dropStates();
  };
  const chain: LocalChain = {
    url,
    rpc,
    port: anvil.port,
    pid: anvil.pid,
    chainId,
    finalityBlocks,
    automine: blockTimeSeconds === null,
    mine: async (blocks = 1) => {
      await rpc.call('anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    stop: () => anvil.stop().then(cleanUp),
    kill: () => anvil.kill().then(cleanUp),
  };
  try {
    if (log === undefined) await rpc.call('anvil_setLoggingEnabled', [false]);
    // A loaded chain has its old blocks but not their states. New blocks make the finalized head readable.
    if (loadFile !== undefined) await chain.mine(finalityBlocks + 1);
  } catch (error) {
    await anvil.kill();
    dropStates();
    throw error;
  }
  return chain;
}

/** Opens the folder for old states: beside the state file, if any, so that the next start removes what a killed chain left. */
function openStatesFolder(stateFile: string | undefined): string {
  if (stateFile === undefined) return mkdtempSync(join(tmpdir(), 'openaisle-states-'));
  const folder = `${stateFile}.states`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

async function prepareState(stateFile: string): Promise<boolean> {
  mkdirSync(dirname(stateFile), { recursive: true });
  await stopOrphan(stateFile);
  keepNewestState(stateFile);
  return existsSync(stateFile);
}

function dumpOptions(stateFile: string, intervalSeconds: number): string[] {
  return ['--dump-state', dumpPath(stateFile), '--state-interval', String(intervalSeconds)];
}
