import { checkClaim, readProviderHead, type Watermark } from '../../../platform/chain/accept-head.ts';
import type { Provider } from '../../../platform/chain/providers.ts';
import { readBlock } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Hex } from '../../../platform/hex.ts';
import { CommandRefused } from '../../../platform/run-command.ts';
import type { Market } from '../../context.ts';
import { endHalt, findChainState, listCommands, resetWatermark as moveWatermark, writeCommand } from './store.ts';

const PAST_COMMANDS = 10;

export type ChainStatus = Awaited<ReturnType<typeof readChainStatus>>;

/** Reports the stored chain state and each provider's current answer. Writes nothing; operators run it before a command. */
export async function readChainStatus(market: CommandMarket) {
  const { database, config } = market;
  const { chainId } = config.network;
  const { watermark, resets, halt } = await findChainState(database, chainId);
  const providers = await Promise.all(market.providers.map((provider) => readProvider(market, provider, watermark)));
  const past = await listCommands(database, chainId, PAST_COMMANDS);
  return {
    chain_id: Number(chainId),
    payments: halt === null ? ('open' as const) : ('halted' as const),
    halt: halt && { reason: halt.reason, detail: halt.detail, halted_at: isoTime(halt.haltedAt) },
    watermark: watermark && { block_number: Number(watermark.number), block_hash: watermark.hash, resets },
    providers,
    commands: past.map(({ id, act, reason, at }) => ({ id: Number(id), act, reason, at: isoTime(at) })),
  };
}

async function readProvider(
  { config, clock }: CommandMarket,
  provider: Provider,
  watermark: { number: bigint; hash: string } | null,
) {
  const base = { provider: provider.number, endpoint: provider.endpoint };
  try {
    const { chainId, latest, finalized, reread, atWatermark } = await readProviderHead(provider, watermark);
    const checked = checkClaim({ latest, finalized, reread }, clock.now(), config.finalityMinAgeSeconds);
    return {
      ...base,
      answers: true as const,
      chain_id: Number(chainId),
      latest: Number(latest.number),
      finalized: finalized && { block_number: Number(finalized.number), block_hash: finalized.hash },
      refused: 'implausible' in checked ? checked.implausible : null,
      /** The provider's block hash at the watermark's height. Null if it has no such block. */
      at_watermark: atWatermark?.hash ?? null,
      holds_watermark: watermark === null ? null : atWatermark?.hash === watermark.hash,
    };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { ...base, answers: false as const, error: error.message };
  }
}

interface WatermarkReset {
  status: 'reset';
  chain_id: number;
  before: { block_number: number; block_hash: Hex };
  after: { block_number: number; block_hash: Hex };
}

/** Moves the watermark back to a block that the providers have under this hash and call final. No other code moves it back. */
export async function resetWatermark(
  market: CommandMarket,
  to: { number: bigint; hash: Hex },
  reason: string,
): Promise<WatermarkReset> {
  const { database, clock, log, config } = market;
  const { chainId } = config.network;
  const block = await confirmBlock(market, to);
  const after = presentBlock(block);
  const before = await database.transaction(async (tx) => {
    await tx.lock(`chain:${chainId}`);
    const { watermark } = await findChainState(tx, chainId);
    if (watermark === null) throw new CommandRefused('there is no watermark yet: the first final block makes one');
    const before = presentBlock(watermark);
    await writeCommand(tx, { chainId, act: 'reset_watermark', reason, before, after, now: new Date(clock.now()) });
    await moveWatermark(tx, chainId, block);
    return before;
  });
  log.warn('chain_command', {
    name: 'reset_watermark',
    reason,
    from: `${before.block_number} ${before.block_hash}`,
    to: `${after.block_number} ${after.block_hash}`,
  });
  return { status: 'reset', chain_id: Number(chainId), before, after };
}

function presentBlock({ number, hash }: Pick<Watermark, 'number' | 'hash'>): { block_number: number; block_hash: Hex } {
  return { block_number: Number(number), block_hash: hash };
}

/** Requires that every provider that answers has this block and calls it final, and that at least one answers. */
async function confirmBlock(market: CommandMarket, to: { number: bigint; hash: Hex }): Promise<FinalizedHead> {
  let confirmed: FinalizedHead | null = null;
  let failure: RpcFailure | null = null;
  for (const provider of market.providers) {
    try {
      confirmed = await findBlock(market, provider, to);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      failure = error;
    }
  }
  if (confirmed !== null) return confirmed;
  throw new CommandRefused(`no provider can be asked for that block: ${failure?.message ?? 'none is configured'}`);
}

async function findBlock(
  { config }: CommandMarket,
  provider: Provider,
  { number, hash }: { number: bigint; hash: Hex },
): Promise<FinalizedHead> {
  const name = `provider ${provider.number}`;
  const { chainId, finalized } = await readProviderHead(provider, null);
  if (chainId !== config.network.chainId) throw new CommandRefused(`${name} is on chain ${chainId}`);
  const block = await readBlock(provider, number);
  if (block === null) throw new CommandRefused(`${name} has no block ${number}`);
  if (block.hash !== hash) throw new CommandRefused(`${name} has ${block.hash} at ${number}, not ${hash}`);
  if (finalized === null || finalized.number < number) {
    throw new CommandRefused(`block ${number} is not final at ${name}, whose finalized head is ${finalized?.number}`);
  }
  return block;
}

interface Resumed {
  status: 'resumed';
  chain_id: number;
  halted_at: string;
  detail: string;
}

/** Ends the halt in every process. If providers still contradict each other, the next check halts payments again. */
export async function resumePayments(market: CommandMarket, reason: string): Promise<Resumed> {
  const { database, clock, log, config } = market;
  const { chainId } = config.network;
  const now = new Date(clock.now());
  const halt = await database.transaction(async (tx) => {
    await tx.lock(`chain:${chainId}`);
    const { halt } = await findChainState(tx, chainId);
    if (halt === null) throw new CommandRefused('payments are not halted: there is nothing to resume');
    // With this reason, the id belongs to a history loss and not to a halt.
    if (halt.reason === 'history_lost')
      throw new CommandRefused(
        'history was lost, which resume does not end: read docs/recovery.md, then run "npm run chain -- recover"',
      );
    const before = { halt_id: halt.id.toString(), halted_at: isoTime(halt.haltedAt), detail: halt.detail };
    const after = { resumed_at: isoTime(now) };
    const id = await writeCommand(tx, { chainId, act: 'resume', reason, before, after, now });
    await endHalt(tx, halt.id, { id, now });
    return halt;
  });
  log.warn('chain_command', { name: 'resume', reason, detail: halt.detail });
  return {
    status: 'resumed',
    chain_id: Number(chainId),
    halted_at: isoTime(halt.haltedAt),
    detail: halt.detail,
  };
}

/** The parts of a market that a command needs. A command works without a running market. */
export type CommandMarket = Pick<Market, 'config' | 'database' | 'clock' | 'log' | 'providers'>;
