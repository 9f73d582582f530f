import type { Hex } from '../hex.ts';
import type { PaymentQuestion, ProviderHealth, ProvidersHealth } from './providers.ts';
import { type Block, readBlock, readChainId, readReceipt } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import { SearchUnfinished } from './search-logs.ts';
import { type FinalizedHead, type Mined, sameMined } from './sighting.ts';

/** Why another provider does not confirm the leading provider's view. */
export type Objection = 'silent' | 'behind' | 'disagrees';

/** Findings of the other provider, besides the transaction. */
export interface SecondView {
  latest: Pick<Block, 'number' | 'timestamp'>;
  /** The other provider's block at the leader's final height. Needed only if the decision relies on the absence of something. */
  atFinalized: Pick<Block, 'hash'> | null;
}

/** The leading provider's view of a transaction, with the finalized head on which the decision is based. */
export interface LeaderView extends Mined {
  finalized: FinalizedHead | null;
}

/**
 * Returns null if the other provider shows the transaction in the same block with the same token logs, or if neither shows it and both have
 * the same finalized block. Pure.
 */
export function judgeMined(leader: LeaderView, asset: Hex, second: SecondView, mined: Mined): Objection | null {
  const { receipt, finalized } = leader;
  if (receipt !== null) {
    if (second.latest.number < receipt.blockNumber) return 'behind';
    return sameMined(asset, leader, mined) ? null : 'disagrees';
  }
  if (finalized === null) return 'behind';
  const objection = judgeFinalized(finalized, second);
  if (objection !== null || mined.receipt === null) return objection;
  return mined.receipt.blockNumber > finalized.number ? 'behind' : 'disagrees';
}

/** Checks a decision that relies on the absence of something up to a final block. The other provider must have that block too. */
export function judgeFinalized(finalized: FinalizedHead, { latest, atFinalized }: SecondView): Objection | null {
  if (latest.number < finalized.number) return 'behind';
  return atFinalized?.hash === finalized.hash ? null : 'disagrees';
}

interface LeadingHead {
  chainId: bigint;
  finalized: FinalizedHead | null;
}

/** Reads a provider's chain id and latest block. Call it before any other read of that provider. */
export async function readChainAndLatest(health: ProviderHealth): Promise<{ chainId: bigint; latest: Block }> {
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

/** Returns one provider's objections to the leading provider's view of some transactions. */
export async function objectionsToMined(
  health: ProviderHealth,
  head: LeadingHead,
  asset: Hex,
  finals: readonly (readonly [Hex, LeaderView])[],
): Promise<Objections<Hex>> {
  const { provider: rpc } = health;
  const { chainId, latest } = await readChainAndLatest(health);
  if (chainId !== head.chainId) return new Map(finals.map(([hash]) => [hash, 'disagrees']));
  health.noteHead(latest);
  const isOnAbsence = finals.some(([, { receipt }]) => receipt === null);
  const second = await readSecondView(rpc, head, latest, isOnAbsence);
  const objections: Objections<Hex> = new Map();
  for (const [hash, shown] of finals) {
    const receipt = await readReceipt(rpc, hash);
    const block = receipt && (await readBlock(rpc, receipt.blockNumber));
    const why = judgeMined(shown, asset, second, { receipt, block });
    if (why !== null) objections.set(hash, why);
  }
  return objections;
}

/** Reads the provider's block at the leader's final height, but only if the decision relies on the absence of something. */
export async function readSecondView(
  rpc: Rpc,
  { finalized }: LeadingHead,
  latest: Block,
  isOnAbsence: boolean,
): Promise<SecondView> {
  const isThere = isOnAbsence && finalized !== null && latest.number >= finalized.number;
  return { latest, atFinalized: isThere ? await readBlock(rpc, finalized.number) : null };
}

export type Objections<Key> = Map<Key, Objection>;

export interface CorroborationRequest<Key> {
  about: PaymentQuestion;
  keys: readonly Key[];
  /** Returns one provider's objections. Throws RpcFailure if the provider cannot answer. */
  askOne(health: ProviderHealth): Promise<Objections<Key>>;
}

/** Returns no objections of an excluded provider, and no `behind` of a late one, because no decision waits for them. */
export async function findObjections<Key>(
  providerHealth: ProvidersHealth,
  health: ProviderHealth,
  request: CorroborationRequest<Key>,
): Promise<Objections<Key>> {
  const before = health.exclusionReason(providerHealth.best());
  // Still ask a mute provider: once it answers this question, its view counts again.
  if (before === 'silent' || before === 'stuck') return new Map();
  const objections = await askPatiently(health, request);
  const heard = objections.size < request.keys.length || [...objections.values()].some((why) => why !== 'silent');
  health.noteAnswer(request.about, heard);
  if (health.exclusionReason(providerHealth.best(), request.about) !== null) return new Map();
  if (!health.isLate()) return objections;
  const counted = [...objections].filter(([, why]) => why !== 'behind');
  if (counted.length < objections.size) health.noteExcused();
  return new Map(counted);
}

async function askPatiently<Key>(
  health: ProviderHealth,
  { keys, askOne }: CorroborationRequest<Key>,
): Promise<Objections<Key>> {
  const all = (why: Objection): Objections<Key> => new Map(keys.map((key) => [key, why]));
  if (health.isPausing()) return all('silent');
  try {
    return await askOne(health);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    // The provider works, but accepts few blocks per query. Wait for it, as for one that has not reached the block yet.
    return all(error instanceof SearchUnfinished ? 'behind' : 'silent');
  }
}
