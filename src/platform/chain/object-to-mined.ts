import type { Hex } from '../hex.ts';
import type { Objections } from './hear-provider.ts';
import { judgeMined, type Said, type Shown } from './judge-mined.ts';
import type { ProviderHealth } from './provider-health.ts';
import { type Block, readBlock, readChainId, readReceipt } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import type { FinalizedHead } from './sighting.ts';

/** What the leading provider calls its chain, and final. */
export interface LeadingHead {
  chainId: bigint;
  finalized: FinalizedHead | null;
}

/** Its chain and its latest block, read before anything else of it. */
export async function openView(health: ProviderHealth): Promise<{ chainId: bigint; latest: Block }> {
  const { provider } = health;
  try {
    const [chainId, latest] = await Promise.all([readChainId(provider), readBlock(provider, 'latest')]);
    if (latest === null) throw new RpcFailure('malformed', `${provider.endpoint} has no latest block`);
    return { chainId, latest };
  } catch (error) {
    if (error instanceof RpcFailure) health.noteSilence();
    throw error;
  }
}

/** What one provider has against what the leading one shows of some transactions. */
export async function objectToMined(
  health: ProviderHealth,
  head: LeadingHead,
  asset: Hex,
  finals: readonly (readonly [Hex, Shown])[],
): Promise<Objections<Hex>> {
  const { provider: rpc } = health;
  const { chainId, latest } = await openView(health);
  if (chainId !== head.chainId) return new Map(finals.map(([hash]) => [hash, 'disagrees']));
  health.noteHead(latest);
  const isOnAbsence = finals.some(([, { receipt }]) => receipt === null);
  const said = await whatItSays(rpc, head, latest, isOnAbsence);
  const objections: Objections<Hex> = new Map();
  for (const [hash, shown] of finals) {
    const receipt = await readReceipt(rpc, hash);
    const block = receipt && (await readBlock(rpc, receipt.blockNumber));
    const why = judgeMined(shown, asset, said, { receipt, block });
    if (why !== null) objections.set(hash, why);
  }
  return objections;
}

/** Its block at the leader's final height is asked for only where the decision rests on an absence. */
export async function whatItSays(
  rpc: Rpc,
  { finalized }: LeadingHead,
  latest: Block,
  isOnAbsence: boolean,
): Promise<Said> {
  const isThere = isOnAbsence && finalized !== null && latest.number >= finalized.number;
  return { latest, atFinalized: isThere ? await readBlock(rpc, finalized.number) : null };
}
