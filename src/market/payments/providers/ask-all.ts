import { type Hearing, hearProvider } from '../../../platform/chain/hear-provider.ts';
import type { Objection } from '../../../platform/chain/judge-mined.ts';
import type { ProviderHealth, ProvidersHealth } from '../../../platform/chain/provider-health.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import type { HeldPayments } from './held-payments.ts';

/** What is asked of all others at once. */
export interface Question<Key> extends Hearing<Key> {
  /** Who leads, and is not asked. */
  leader: Rpc;
  paymentOf(key: Key): bigint;
}

/** What any of the others has against each of the keys. Notes who waits for whom. */
export async function askAll<Key>(
  providerHealth: ProvidersHealth,
  held: HeldPayments,
  question: Question<Key>,
): Promise<{ objected: ReadonlySet<Key>; isDisputed: boolean }> {
  const { leader, keys, paymentOf } = question;
  const others = providerHealth.all.filter(({ provider }) => provider !== leader);
  const objected = new Map<Key, { health: ProviderHealth; why: Objection }>();
  await Promise.all(
    others.map(async (health) => {
      for (const [key, why] of await hearProvider(providerHealth, health, question)) objected.set(key, { health, why });
    }),
  );
  for (const [key, { health, why }] of objected) {
    const isNews = held.note(paymentOf(key), health.provider, why);
    if (isNews && why === 'disagrees') health.noteDisagreement();
  }
  const waiting = new Set([...objected.keys()].map(paymentOf));
  for (const key of keys) if (!waiting.has(paymentOf(key))) held.release(paymentOf(key));
  const isDisputed = [...objected.values()].some(({ why }) => why === 'disagrees');
  return { objected: new Set(objected.keys()), isDisputed };
}
