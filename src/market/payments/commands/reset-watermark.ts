import type { Watermark } from '../../../platform/chain/accept-head.ts';
import type { Provider } from '../../../platform/chain/provider.ts';
import { readProviderHead } from '../../../platform/chain/read-provider-head.ts';
import { readBlock } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import type { Hex } from '../../../platform/hex.ts';
import { CommandRefused } from '../../../platform/run-command.ts';
import { findChainState } from '../head/store.ts';
import type { CommandMarket } from './command-market.ts';
import { resetWatermark as moveWatermark, writeCommand } from './store.ts';

export interface WatermarkReset {
  status: 'reset';
  chain_id: number;
  before: { block_number: number; block_hash: Hex };
  after: { block_number: number; block_hash: Hex };
}

/** The one way for the watermark to go back (W9): to a block that the providers have under that hash and call final. */
export async function resetWatermark(
  market: CommandMarket,
  to: { number: bigint; hash: Hex },
  reason: string,
): Promise<WatermarkReset> {
  const { database, clock, log, config } = market;
  const { chainId } = config.network;
  const block = await confirmBlock(market, to);
  const after = placeOf(block);
  const before = await database.transaction(async (tx) => {
    await tx.lock(`chain:${chainId}`);
    const { watermark } = await findChainState(tx, chainId);
    if (watermark === null) throw new CommandRefused('there is no watermark yet: the first final block makes one');
    const before = placeOf(watermark);
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

function placeOf({ number, hash }: Pick<Watermark, 'number' | 'hash'>): { block_number: number; block_hash: Hex } {
  return { block_number: Number(number), block_hash: hash };
}

/** At least one provider has it, and none that answers has another. */
async function confirmBlock(market: CommandMarket, to: { number: bigint; hash: Hex }): Promise<FinalizedHead> {
  let found: FinalizedHead | null = null;
  let failure: RpcFailure | null = null;
  for (const provider of market.providers) {
    try {
      found = await findBlock(market, provider, to);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      failure = error;
    }
  }
  if (found !== null) return found;
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
