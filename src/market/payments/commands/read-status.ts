import { checkClaim } from '../../../platform/chain/accept-head.ts';
import type { Provider } from '../../../platform/chain/provider.ts';
import { readProviderHead } from '../../../platform/chain/read-provider-head.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { isoTime } from '../../../platform/clock.ts';
import { findChainState } from '../head/store.ts';
import type { CommandMarket } from './command-market.ts';
import { listCommands } from './store.ts';

const PAST_COMMANDS = 10;

export type ChainStatus = Awaited<ReturnType<typeof readStatus>>;

/** What an operator needs to see before a command: what the database holds, and what each provider says about it now. Changes nothing. */
export async function readStatus(market: CommandMarket) {
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
  const named = { provider: provider.number, endpoint: provider.endpoint };
  try {
    const { chainId, latest, finalized, reread, atWatermark } = await readProviderHead(provider, watermark);
    const checked = checkClaim({ latest, finalized, reread }, clock.now(), config.finalityMinAgeSeconds);
    return {
      ...named,
      answers: true as const,
      chain_id: Number(chainId),
      latest: Number(latest.number),
      finalized: finalized && { block_number: Number(finalized.number), block_hash: finalized.hash },
      refused: 'implausible' in checked ? checked.implausible : null,
      /** Its block at the watermark's height; null: none. */
      at_watermark: atWatermark?.hash ?? null,
      holds_watermark: watermark === null ? null : atWatermark?.hash === watermark.hash,
    };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { ...named, answers: false as const, error: error.message };
  }
}
