import type { Hex } from '../hex.ts';
import type { PaymentQuestion, ProviderHealth, ProvidersHealth } from './providers.ts';
import { type Block, readBlock, readChainId, readReceipt } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import { SearchUnfinished } from './search-logs.ts';
import { type FinalizedHead, type Mined, sameMined } from './sighting.ts';

/** Why the view of the leading provider cannot be relied on, according to another one. */
export type Objection = 'silent' | 'behind' | 'disagrees';

/** Facts from the other provider, in addition to the payment itself. */
export interface SecondView {
  latest: Pick<Block, 'number' | 'timestamp'>;
  /** Its block at the height that the leader calls final. Needed only if the decision rests on it. */
  atFinalized: Pick<Block, 'hash'> | null;
}

/** The leading provider's view of a transaction, and the finalized head for its decision. */
export interface LeaderView extends Mined {
  finalized: FinalizedHead | null;
}

/** Returns null if the other provider shows the same transaction in the same block, or no such transaction either. Pure. */
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

/** Checks a decision that rests on an absence: it counts only if the other provider has the same final block. */
export function judgeFinalized(finalized: FinalizedHead, { latest, atFinalized }: SecondView): Objection | null {
  if (latest.number < finalized.number) return 'behind';
  return atFinalized?.hash === finalized.hash ? null : 'disagrees';
}

/** Chain id and finalized block of the leading provider. */
interface LeadingHead {
  chainId: bigint;
  finalized: FinalizedHead | null;
}

/** Reads the chain id and latest block of a provider. Call it before other reads of that provider. */
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

/** Returns one provider's objections to the leading one's view of some transactions. */
export async function objectToMined(
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

/** Reads its block at the leader's final height only if the decision rests on an absence. */
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
  /** Returns one provider's objections. Throws RpcFailure if it cannot answer. */
  askOne(health: ProviderHealth): Promise<Objections<Key>>;
}

/** Returns none for an excluded provider, and never `behind` for a late one, since no decision waits for it. */
export async function findObjections<Key>(
  providerHealth: ProvidersHealth,
  health: ProviderHealth,
  request: CorroborationRequest<Key>,
): Promise<Objections<Key>> {
  const before = health.exclusionReason(providerHealth.best());
  // Asks a mute provider all the same: once it answers this question, its view counts again.
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
    // It answers, but takes few blocks per query. Wait for it, as for one that has not reached the block.
    return all(error instanceof SearchUnfinished ? 'behind' : 'silent');
  }
}
