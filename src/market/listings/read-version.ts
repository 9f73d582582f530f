import type { NewListing } from '../../contract/listings.ts';
import { Refusal } from '../../platform/refusal.ts';

/** Of which own listing a new one is the newer version. */
export interface Version {
  supersedes: bigint;
  /** Whether who bought that one, or an older one, gets this one free of charge. */
  entitles: boolean;
}

export function readVersion({ supersedes, entitles_previous_buyers: entitles }: NewListing): Version | null {
  if (supersedes !== undefined) return { supersedes, entitles: entitles ?? false };
  if (entitles === undefined) return null;
  const path = 'entitles_previous_buyers';
  const message = 'goes with supersedes only';
  throw new Refusal('invalid_fields', { detail: `${path} ${message}.`, errors: [{ path, message }] });
}
