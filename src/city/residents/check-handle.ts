import { handleSkeleton, isReservedHandle } from '../../contract/handle-skeleton.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { isSkeletonTaken } from './store.ts';

/** Refuses a handle that no resident can have, or that one has. */
export async function checkHandle(database: Queryable, handle: string, nextStep?: string): Promise<void> {
  if (isReservedHandle(handle)) throw new Refusal('handle_reserved');
  if (await isSkeletonTaken(database, handleSkeleton(handle)))
    throw new Refusal('handle_taken', nextStep === undefined ? {} : { nextStep });
}
