import { readProviderHead } from '../../platform/chain/accept-head.ts';
import type { Provider } from '../../platform/chain/providers.ts';
import { type Block, readBlock } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { blocksBetween } from '../../platform/chain/search-logs.ts';
import { isoTime } from '../../platform/clock.ts';
import { CommandRefused } from '../../platform/run-command.ts';
import type { CommandMarket } from '../payments/chain/commands.ts';

type ChainReader = Pick<CommandMarket, 'providers' | 'config'>;

/** Reads the number of the latest block, finalized or not. Throws CommandRefused if no provider answers. */
export async function readLatestBlockNumber(market: ChainReader): Promise<bigint> {
  return await askProviders(market, 'the latest block', async (_provider, latest) => latest.number);
}

export interface BlockAt {
  number: bigint;
  time: Date;
}

/** Finds the first block at or after that second. Throws CommandRefused if there is none yet or no provider keeps blocks that old. */
export async function findBlockAt(market: ChainReader, at: Date): Promise<BlockAt> {
  // Block times are whole seconds, so round down. One block too many costs time; one too few loses a payment.
  const seconds = BigInt(Math.floor(at.getTime() / 1000));
  return await askProviders(market, 'the block of a time', async (provider, latest) => {
    if (latest.timestamp < seconds) {
      const newest = `block ${latest.number} of ${timeOf(latest).toISOString()}`;
      throw new CommandRefused(`no block is as late as ${isoTime(at)} yet: the newest is ${newest}`);
    }
    const all = { fromBlock: 0n, toBlock: latest.number };
    const { fromBlock } = await blocksBetween(provider, all, { from: seconds, before: latest.timestamp + 1n });
    const block = await readBlock(provider, fromBlock);
    if (block === null) throw new RpcFailure('malformed', `${provider.endpoint} does not have block ${fromBlock}`);
    return { number: block.number, time: timeOf(block) };
  });
}

function timeOf({ timestamp }: Block): Date {
  return new Date(Number(timestamp) * 1000);
}

/** Returns the first readable provider's answer. A provider on another chain stops the command, because the configuration is wrong. */
async function askProviders<T>(
  { providers, config }: ChainReader,
  what: string,
  ask: (provider: Provider, latest: Block) => Promise<T>,
): Promise<T> {
  let failure = 'none is configured';
  for (const provider of providers) {
    try {
      const { chainId, latest } = await readProviderHead(provider, null);
      if (chainId !== config.network.chainId)
        throw new CommandRefused(`provider ${provider.number} is on chain ${chainId}`);
      return await ask(provider, latest);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      failure = error.message;
    }
  }
  throw new CommandRefused(`no provider can be asked for ${what}: ${failure}`);
}
