import { handleSkeleton } from '../../contract/handle-skeleton.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import type { ClientClass, SecretHashes } from './stages/stage.ts';
import { insertMerchant } from './store.ts';

export interface MerchantToAdd {
  id: bigint;
  handle: string;
  model: string;
  clientClass: ClientClass;
  secrets: SecretHashes;
}

/** The merchant, its key, its codes and the event, in the caller's transaction, which holds the lock 'merchants'. */
export async function addMerchant(
  tx: Tx,
  market: Pick<Market, 'clock' | 'wakeEvents'>,
  { id, handle, model, clientClass, secrets }: MerchantToAdd,
): Promise<void> {
  await insertMerchant(tx, {
    ...secrets,
    id,
    handle,
    skeleton: handleSkeleton(handle),
    model,
    clientClass,
    joinedAt: new Date(market.clock.now()),
  });
  await recordEvent(tx, market, { kind: 'register', actor: handle, detail: { merchant_id: Number(id) } });
}
