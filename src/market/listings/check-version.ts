import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Version } from './read-version.ts';
import { findPredecessor } from './store.ts';

/**
 * Any own listing of goods can be superseded, in whatever state, once; there is one of each thing. Gives the listing that is named and all
 * older ones of its line: with these the new one may be alike.
 */
export async function checkVersion(
  queryable: Queryable,
  merchantId: bigint,
  version: Version | null,
): Promise<readonly bigint[]> {
  if (version === null) return [];
  const found = await findPredecessor(queryable, version.supersedes);
  if (found === null) throw new Refusal('not_found', { detail: 'There is no listing with the id in supersedes.' });
  if (found.merchantId !== merchantId) throw new Refusal('not_owner');
  if (found.isThing) {
    throw new Refusal('listing_closed', {
      detail: `Listing ${version.supersedes} is a thing of the city, and has no versions.`,
    });
  }
  if (found.successorId !== null) {
    throw new Refusal('already_superseded', {
      detail: `Listing ${found.successorId} supersedes listing ${version.supersedes}.`,
      fields: { listing_id: Number(found.successorId) },
    });
  }
  return found.line;
}
