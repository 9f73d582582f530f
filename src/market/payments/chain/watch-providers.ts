import { createSingleFlight } from '../../../platform/background-jobs.ts';
import { checkClaim, readProviderHead } from '../../../platform/chain/accept-head.ts';
import type { Provider, ProviderHealth, ProvidersHealth } from '../../../platform/chain/providers.ts';
import { type Block, readBlock, readCode } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import { checkContractSignature } from '../../../platform/chain/signature.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from './read-head.ts';
import { type ChainState, findChainState, haltPayments } from './store.ts';

/** Results of the last check of all providers. */
export interface ChainWatch {
  /** Waits for a check that begins after this call. Never rejects. */
  check(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
  /** Heads of the leading provider at the last check. Null before the first one and while no head can be read. */
  head(): ChainHead | null;
  /** The database's chain state at the last check. Null before the first one. */
  state(): ChainState | null;
  /** Whether the primary provider answers calls to contract wallets as of the finalized block. */
  contractWallets(): WalletService;
}

interface WatchOptions {
  readHead(): Promise<ChainHead>;
  /** The last head that was read for any purpose. Null before the first one. */
  lastRead(): { head: ChainHead; at: number } | null;
  everyMs: number;
  isLeader(): boolean;
}

/**
 * Checks every provider periodically. A provider that is silent or stuck no longer counts, and two providers that call different blocks
 * final halt payments everywhere. With several providers every process checks, because each has its own view of which provider leads; with
 * one provider only the leader process checks. Decisions on payments do not wait for this.
 */
export function createChainWatch(
  market: Market,
  providerHealth: ProvidersHealth,
  { readHead, lastRead, everyMs, isLeader }: WatchOptions,
): ChainWatch {
  const { database, clock, config, log } = market;
  const stopping = new AbortController();
  let loop: Promise<void> | null = null;
  let state: ChainState | null = null;
  let head: ChainHead | null = null;
  let wallets: WalletService = 'unknown';

  const updateState = async (isChecking: boolean): Promise<void> => {
    try {
      if (isChecking && providerHealth.all.length > 1) await haltOnConflict(market, providerHealth);
      // Read the head even while nobody pays, so that the watermark follows the chain.
      if (isChecking) head = await readOrNull(readHead);
      const now = await findChainState(database, config.network.chainId);
      logChanges(log, state, now);
      state = now;
      if (isChecking && wallets === 'unknown') wallets = await probeContractWallets(market);
    } catch (error) {
      log.error('chain_watch_failed', { error });
    }
  };
  const singleFlight = createSingleFlight(() => updateState(true));

  async function runLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      const read = lastRead();
      const isRead = read !== null && clock.now() - read.at < everyMs;
      if (providerHealth.all.length > 1 || (isLeader() && !isRead)) await singleFlight.fresh();
      else {
        if (isRead) head = read.head;
        await updateState(false);
      }
    }
  }

  return {
    check: () => singleFlight.fresh(),
    start: () => {
      loop ??= runLoop();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([loop, singleFlight.ended()]);
    },
    head: () => head,
    state: () => state,
    contractWallets: () => wallets,
  };
}

async function readOrNull(readHead: () => Promise<ChainHead>): Promise<ChainHead | null> {
  try {
    return await readHead();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}

/** Logs halts, resumptions and watermark resets, whichever process or operator made them. */
function logChanges(log: Market['log'], before: ChainState | null, now: ChainState): void {
  if (now.halt !== null && now.halt.id !== before?.halt?.id) {
    log.error('payments_halted', { reason: now.halt.reason, detail: now.halt.detail });
  }
  if (now.halt === null && before !== null && before.halt !== null) log.warn('payments_resumed');
  if (before !== null && now.resets !== before.resets) {
    log.warn('watermark_reset', { block_number: now.watermark?.number });
  }
}

type WalletService = 'served' | 'not_served' | 'unknown';

/**
 * Checks whether the primary provider answers calls at the finalized block, which may be older than any state that the provider keeps.
 * Makes the calls of a claim, to a contract that certainly exists and accepts no signature.
 */
async function probeContractWallets({ rpc, config }: Pick<Market, 'rpc' | 'config'>): Promise<WalletService> {
  const { usdc } = config.network;
  try {
    const [code] = await Promise.all([
      readCode(rpc, usdc, 'finalized'),
      checkContractSignature(
        rpc,
        { wallet: usdc, digest: `0x${'0'.repeat(64)}`, signature: '0x' },
        { block: 'finalized' },
      ),
    ]);
    return code === '0x' ? 'unknown' : 'served';
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return error.kind === 'error' ? 'not_served' : 'unknown';
  }
}

type WatchMarket = Pick<Market, 'database' | 'clock' | 'config' | 'log'>;

async function haltOnConflict(market: WatchMarket, providerHealth: ProvidersHealth): Promise<void> {
  const { database, clock, config, log } = market;
  const conflict = await confirmConflict(market, providerHealth);
  if (conflict === null) return;
  const detail = describeConflict(conflict);
  const halt = { chainId: config.network.chainId, reason: 'finalized_conflict', detail, now: new Date(clock.now()) };
  if (await haltPayments(database, halt)) log.error('payments_halted_by_conflict', { detail });
}

/** Reads again before it reports a conflict, because a load balancer may mix two nodes and only an operator can end a halt. */
async function confirmConflict(market: WatchMarket, providerHealth: ProvidersHealth): Promise<Conflict | null> {
  const reports = await readHeadReports(market, providerHealth);
  try {
    if ((await findConflict(reports)) === null) return null;
    return await findConflict(await readHeadReports(market, providerHealth));
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}

async function readHeadReports(market: WatchMarket, providerHealth: ProvidersHealth): Promise<HeadReport[]> {
  const claims = await Promise.all(providerHealth.all.map((health) => readHeadReport(market, health)));
  return claims.filter((claim) => claim !== null);
}

/** Returns null if the provider is silent or on another chain, or if its answer is implausible. */
async function readHeadReport({ clock, config }: WatchMarket, health: ProviderHealth): Promise<HeadReport | null> {
  const { provider } = health;
  try {
    const reading = await readProviderHead(provider, null);
    if (reading.chainId !== config.network.chainId) return null;
    health.noteHead(reading.latest);
    const checked = checkClaim(reading, clock.now(), config.finalityMinAgeSeconds);
    return 'finalized' in checked ? { provider, finalized: checked.finalized } : null;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    health.noteSilence();
    return null;
  }
}

interface HeadReport {
  provider: Provider;
  finalized: FinalizedHead;
}

interface Conflict {
  number: bigint;
  one: HeadReport & { block: Pick<Block, 'hash'> };
  other: HeadReport & { block: Pick<Block, 'hash'> };
}

/**
 * Finds two providers that call different blocks of the same height final. Compares at the lower of their finalized heights, because both
 * call that one final and chains that diverge below it also differ at it. Throws RpcFailure if one does not answer.
 */
async function findConflict(claims: readonly HeadReport[]): Promise<Conflict | null> {
  for (const [at, one] of claims.entries()) {
    for (const other of claims.slice(at + 1)) {
      const number = one.finalized.number < other.finalized.number ? one.finalized.number : other.finalized.number;
      const [oneBlock, otherBlock] = await Promise.all([blockAt(one, number), blockAt(other, number)]);
      if (oneBlock !== null && otherBlock !== null && oneBlock.hash !== otherBlock.hash) {
        return { number, one: { ...one, block: oneBlock }, other: { ...other, block: otherBlock } };
      }
    }
  }
  return null;
}

async function blockAt({ provider, finalized }: HeadReport, number: bigint): Promise<Pick<Block, 'hash'> | null> {
  return number === finalized.number ? finalized : await readBlock(provider, number);
}

/** Names providers by their position in the configuration, because this text is public. */
function describeConflict({ number, one, other }: Conflict): string {
  const describeSide = ({ provider, block }: Conflict['one']): string =>
    `provider ${provider.number} has ${block.hash}`;
  return `at the final height ${number} ${describeSide(one)} and ${describeSide(other)}`;
}
