import type { Objection } from './judge-mined.ts';
import { RpcFailure } from './rpc.ts';
import type { Standing, Standings } from './standing.ts';

/** By what they are about. */
export type Objections<Key> = Map<Key, Objection>;

/** What one provider is asked about what another one shows. */
export interface Hearing<Key> {
  keys: readonly Key[];
  /** One provider's objections. Throws RpcFailure when it cannot say anything. */
  askOne(standing: Standing): Promise<Objections<Key>>;
}

/** One other provider's objections, without those for which nobody waits. */
export async function hearProvider<Key>(
  standings: Standings,
  standing: Standing,
  hearing: Hearing<Key>,
): Promise<Objections<Key>> {
  const before = standing.leftOut(standings.best());
  // One that is mute is asked all the same: as soon as it says something it has its say again.
  if (before === 'silent' || before === 'stuck') return new Map();
  const said = await askPatiently(standing, hearing);
  const heard = said.size < hearing.keys.length || [...said.values()].some((why) => why !== 'silent');
  standing.noteOpinion(heard);
  if (standing.leftOut(standings.best()) !== null) return new Map();
  if (!standing.isLate()) return said;
  const kept = [...said].filter(([, why]) => why !== 'behind');
  if (kept.length < said.size) standing.noteExcused();
  return new Map(kept);
}

async function askPatiently<Key>(standing: Standing, { keys, askOne }: Hearing<Key>): Promise<Objections<Key>> {
  const silent = (): Objections<Key> => new Map(keys.map((key) => [key, 'silent']));
  if (standing.isPausing()) return silent();
  try {
    return await askOne(standing);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return silent();
  }
}
