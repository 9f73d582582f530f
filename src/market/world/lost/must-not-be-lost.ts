import type { Queryable } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { mayHaveBeenShown } from './store.ts';

const DETAILS = {
  world_drafts: 'This draft is gone from the books of this market.',
  world_checkouts: 'This checkout is gone from the books of this market.',
} as const;

/** For the id of a draft or a checkout that the books lack: after a loss of history a thing may have been sold by it (W16). */
export async function mustNotBeLost(queryable: Queryable, kind: keyof typeof DETAILS, id: bigint): Promise<void> {
  if (await mayHaveBeenShown(queryable, kind, id)) throw new Refusal('listing_lost', { detail: DETAILS[kind] });
}
