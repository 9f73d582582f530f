import { unitsOfUsdc } from '../../contract/money.ts';
import type { Client } from '../../sdk/client.ts';
import { sourceOf } from '../../sdk/goods/byte-source.ts';
import { type OwnListing, ownListingPages } from '../../sdk/pages.ts';
import { artifactBytes } from '../../sdk/payments/artifact-commitment.ts';
import { hashSource } from '../goods/file-bytes.ts';
import type { StoredListing, StoredStore } from './read-store.ts';

/** Plan for one exported listing. `listingId` is its ID at this market. */
export type Planned = { stored: StoredListing } & (
  | { act: 'list' }
  | { act: 'there'; listingId: number; state: OwnListing['state'] }
  /** `not_live`: it wasn't live when exported. `thing`: it belongs to a city. */
  | { act: 'left_out'; why: 'not_live' | 'thing' }
);

export interface ImportPlan {
  planned: Planned[];
  /** Highest total of fees, after credits but without slips. */
  mostUnits: bigint;
  feeUnits: bigint;
  sellerWallets: string[];
  /** When this market last recovered from a loss, after which slips may help. Null if it never did or the export is of another store. */
  recoveredAt: string | null;
}

/**
 * Compares an export with the merchant's listings, so that nothing is listed twice, whatever was started before and on whichever machine.
 * The same bytes under the same title are the same goods, even if withdrawn since; removed goods match under any title.
 */
export async function planImport(client: Client, { content, listings }: StoredStore): Promise<ImportPlan> {
  const { body: me } = await client.getMe({ query: { listings_limit: '1' } });
  const { body: facts } = await client.getOfficialFacts();
  const findThere = await createFinder(client, listings);
  const planned: Planned[] = [];
  for (const stored of listings) {
    if (stored.body === null) planned.push({ stored, act: 'left_out', why: 'thing' });
    else if (stored.listing.state !== 'live') planned.push({ stored, act: 'left_out', why: 'not_live' });
    else {
      const there = await findThere(stored);
      planned.push(
        there === null ? { stored, act: 'list' } : { stored, act: 'there', listingId: there.id, state: there.state },
      );
    }
  }
  const toList = planned.filter(({ act }) => act === 'list');
  const feeUnits = me.merchant.maintainer ? 0n : (unitsOfUsdc(facts.listing_fee_usdc) ?? 0n);
  const isSame = content.market === client.baseUrl && content.merchant_id === me.merchant.id;
  const due = Math.max(0, toList.length - me.credits);
  return {
    planned,
    feeUnits,
    mostUnits: feeUnits * BigInt(due),
    sellerWallets: [...new Set(toList.map(({ stored }) => stored.listing.seller_wallet))].toSorted(),
    recoveredAt: isSame ? await lastRecovery(client) : null,
  };
}

/** Returns when the market last recovered from a loss, according to its public log. Null if it never did. */
async function lastRecovery(client: Client): Promise<string | null> {
  const { body } = await client.listEvents({ query: { kind: 'recovery', limit: '1' } });
  return body.events[0]?.at ?? null;
}

type FindThere = (stored: StoredListing) => Promise<OwnListing | null>;

async function createFinder(client: Client, listings: readonly StoredListing[]): Promise<FindThere> {
  const sizes = new Set(listings.map(({ bytes }) => bytes?.length));
  const own: OwnListing[] = [];
  for await (const { rows } of ownListingPages(client))
    own.push(...rows.filter(({ artifact_bytes: size }) => size !== null && sizes.has(size)));
  const taken = new Set<number>();
  return async (stored) => {
    for (const row of own) {
      if (taken.has(row.id) || !(await isSameListing(client, stored, row))) continue;
      taken.add(row.id);
      return row;
    }
    return null;
  };
}

async function isSameListing(client: Client, { listing, bytes }: StoredListing, row: OwnListing): Promise<boolean> {
  if (row.artifact_bytes !== bytes?.length) return false;
  // Equal commitments mean equal salt and bytes: the market of the export still has this listing.
  if (row.artifact_commitment === listing.artifact_commitment) return true;
  if (row.title !== listing.title && row.state !== 'removed') return false;
  const own = (await client.getOwnListing({ params: { id: row.id } })).body;
  const { artifact, artifact_encoding, download } = own;
  if (download !== null) return download.sha256 === (await hashSource(sourceOf(bytes)));
  if (artifact === null || artifact_encoding === null) return false;
  return Buffer.from(artifactBytes({ artifact, artifact_encoding })).equals(bytes);
}
