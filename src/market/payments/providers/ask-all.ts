import { type Rpc, RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Standing, Standings } from '../../../platform/chain/standing.ts';
import type { HeldPayments } from './held-payments.ts';
import type { Objection } from './judge-evidence.ts';

/** By what they are about. */
export type Objections<Key> = Map<Key, Objection>;

/** What is asked of all others at once. */
export interface Question<Key> {
  /** Who leads, and is not asked. */
  leader: Rpc;
  keys: readonly Key[];
  paymentOf(key: Key): bigint;
  /** One provider's objections. Throws RpcFailure when it cannot say anything. */
  askOne(standing: Standing): Promise<Objections<Key>>;
}

/** What any of the others has against each of the keys. Notes who waits for whom. */
export async function askAll<Key>(
  standings: Standings,
  held: HeldPayments,
  question: Question<Key>,
): Promise<{ objected: ReadonlySet<Key>; isDisputed: boolean }> {
  const { leader, keys, paymentOf } = question;
  const others = standings.all.filter(({ provider }) => provider !== leader);
  const objected = new Map<Key, { standing: Standing; why: Objection }>();
  await Promise.all(
    others.map(async (standing) => {
      for (const [key, why] of await hear(standings, standing, question)) objected.set(key, { standing, why });
    }),
  );
  for (const [key, { standing, why }] of objected) {
    const isNews = held.note(paymentOf(key), standing.provider, why);
    if (isNews && why === 'disagrees') standing.noteDisagreement();
  }
  const waiting = new Set([...objected.keys()].map(paymentOf));
  for (const key of keys) if (!waiting.has(paymentOf(key))) held.release(paymentOf(key));
  const isDisputed = [...objected.values()].some(({ why }) => why === 'disagrees');
  return { objected: new Set(objected.keys()), isDisputed };
}

/** One other provider's objections, without those for which nobody waits. */
async function hear<Key>(standings: Standings, standing: Standing, question: Question<Key>): Promise<Objections<Key>> {
  const before = standing.leftOut(standings.best());
  // One that is mute is asked all the same: as soon as it says something it has its say again.
  if (before === 'silent' || before === 'stuck') return new Map();
  const said = await askPatiently(standing, question);
  const heard = said.size < question.keys.length || [...said.values()].some((why) => why !== 'silent');
  standing.noteOpinion(heard);
  if (standing.leftOut(standings.best()) !== null) return new Map();
  if (!standing.isLate()) return said;
  const kept = [...said].filter(([, why]) => why !== 'behind');
  if (kept.length < said.size) standing.noteExcused();
  return new Map(kept);
}

async function askPatiently<Key>(standing: Standing, { keys, askOne }: Question<Key>): Promise<Objections<Key>> {
  const silent = (): Objections<Key> => new Map(keys.map((key) => [key, 'silent']));
  if (standing.isPausing()) return silent();
  try {
    return await askOne(standing);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return silent();
  }
}
