import type { ThingOut } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import { inSnapshot } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import { findThing, listOwners, type OwnerRow, type ThingRow } from './store.ts';

/** Reads owner, history and lock in one snapshot. */
export async function readThing(city: Pick<City, 'config' | 'database'>, id: bigint): Promise<ThingOut> {
  const read = await inSnapshot(city.database, async (snapshot) => {
    const thing = await findThing(snapshot, id);
    return thing === null ? null : { thing, owners: await listOwners(snapshot, id) };
  });
  if (read === null) throw new Refusal('not_found', { detail: 'There is no such thing.' });
  return presentThing(city, read.thing, read.owners);
}

function presentThing(city: Pick<City, 'config'>, thing: ThingRow, owners: readonly OwnerRow[]): ThingOut {
  return {
    id: Number(thing.id),
    name: thing.name,
    owner: thing.owner,
    locked: thing.offer_id !== null,
    offer_id: numberOrNull(thing.offer_id),
    url: thingUrl(city, thing.id),
    picture_url: pictureUrl(city, thing.id),
    created_at: isoTime(thing.created_at),
    history: owners.map(({ owner, owned_from, offer_id }) => ({
      owner,
      from: isoTime(owned_from),
      offer_id: numberOrNull(offer_id),
    })),
    history_total: Number(thing.history_total),
  };
}

export function numberOrNull(id: bigint | null): number | null {
  return id === null ? null : Number(id);
}

type BaseUrlOf = Pick<City, 'config'>;

export function thingUrl({ config }: BaseUrlOf, id: bigint): string {
  return `${config.baseUrl}/thing/${id}`;
}

function pictureUrl(city: BaseUrlOf, id: bigint): string {
  return `${thingUrl(city, id)}/picture.svg`;
}
