import type { Objection } from './judge-mined.ts';
import type { ProviderHealth, ProvidersHealth } from './provider-health.ts';
import { RpcFailure } from './rpc.ts';

/** By what they are about. */
export type Objections<Key> = Map<Key, Objection>;

/** What one provider is asked about what another one shows. */
export interface Hearing<Key> {
  keys: readonly Key[];
  /** One provider's objections. Throws RpcFailure when it cannot say anything. */
  askOne(health: ProviderHealth): Promise<Objections<Key>>;
}

/** One other provider's objections: none if it is left out, and never `behind` if it is late, since no decision waits for it. */
export async function hearProvider<Key>(
  providerHealth: ProvidersHealth,
  health: ProviderHealth,
  hearing: Hearing<Key>,
): Promise<Objections<Key>> {
  const before = health.leftOut(providerHealth.best());
  // One that is mute is asked all the same: as soon as it says something it has its say again.
  if (before === 'silent' || before === 'stuck') return new Map();
  const said = await askPatiently(health, hearing);
  const heard = said.size < hearing.keys.length || [...said.values()].some((why) => why !== 'silent');
  health.noteAnswer(heard);
  if (health.leftOut(providerHealth.best()) !== null) return new Map();
  if (!health.isLate()) return said;
  const kept = [...said].filter(([, why]) => why !== 'behind');
  if (kept.length < said.size) health.noteExcused();
  return new Map(kept);
}

async function askPatiently<Key>(health: ProviderHealth, { keys, askOne }: Hearing<Key>): Promise<Objections<Key>> {
  const silent = (): Objections<Key> => new Map(keys.map((key) => [key, 'silent']));
  if (health.isPausing()) return silent();
  try {
    return await askOne(health);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return silent();
  }
}
