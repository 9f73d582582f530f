import sql from 'sql-template-tag';
import type { OfferOut } from '../../src/contract/world-records.ts';
import type { Sites, Thing } from '../world/thing-stage.ts';
import type { Proof, Seen } from './terms.ts';

interface CityRow {
  owner: string;
  history: Seen['history'];
  locked: boolean;
  proofs: Proof[];
}

interface MarketRow {
  state: string;
  draft: string;
  checkouts: { id: number; state: string; who: string; until: number }[];
  proofs: Proof[];
  purchases: Seen['purchases'];
  sales: number;
  cancellations: number;
}

/** What was known before, and where to look for more. */
export interface Sight {
  sites: Sites;
  thing: Thing;
  /** Events of before are of no interest. */
  eventsSince: bigint;
  /** As it was at the last check. */
  before: Seen | null;
}

/** A listing of which nothing has come yet. */
const NEW: Seen['shown'] = { state: 'live', sales: 0, world_receipt: null };

/** Asks both sites for what they tell everybody, and their databases for what they hold. */
export async function see({ sites, thing, eventsSince, before }: Sight): Promise<Seen> {
  const [offer, inCity, onMarket] = await Promise.all([
    sites.offer(thing) as Promise<unknown> as Promise<OfferOut>,
    readCity(sites, thing),
    readMarket(sites, thing, eventsSince),
  ]);
  const { owner, history, locked } = inCity;
  const { state, draft, purchases, sales, cancellations } = onMarket;
  // The catalog takes its time: it is asked when there is something new.
  const shown = (before?.state ?? 'live') === state ? (before?.shown ?? NEW) : await readShown(sites, thing);
  const checkouts = new Map(onMarket.checkouts.map(({ id, ...checkout }) => [id, checkout]));
  const proofs = { cityProofs: inCity.proofs, marketProofs: onMarket.proofs };
  return { offer, shown, owner, history, locked, state, draft, checkouts, purchases, sales, cancellations, ...proofs };
}

async function readShown(sites: Sites, thing: Thing): Promise<Seen['shown']> {
  const { state, sales, world_receipt } = (await sites.listing(thing)) as unknown as Seen['shown'];
  return { state, sales, world_receipt };
}

function readCity({ city }: Sites, { thingId, offerId }: Thing): Promise<CityRow> {
  return city.db.database.one<CityRow>(sql`
    select r.handle as owner,
      (select jsonb_agg(jsonb_build_object('owner', w.handle, 'offer_id', h.offer_id) order by h.nth desc)
        from thing_owners h join residents w on w.id = h.owner_id where h.thing_id = t.id) as history,
      exists (select from offers where thing_id = t.id and phase not in ('claimed', 'canceled')) as locked,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(tx_hash, 'hex'), 'block', block_number)), '[]')
        from sale_proofs where offer_id = ${offerId}) as proofs
    from things t join residents r on r.id = t.owner_id where t.id = ${thingId}`);
}

export async function lastEvent({ market }: Sites): Promise<bigint> {
  const { last } = await market.db.database.one<{ last: bigint }>(
    sql`select coalesce(max(queue_id), 0) as last from events`,
  );
  return last;
}

function readMarket({ market }: Sites, { listingId, draftId }: Thing, eventsSince: bigint): Promise<MarketRow> {
  const own = sql`queue_id > ${eventsSince}
    and (convert_from(canonical, 'UTF8')::jsonb #>> '{detail,listing_id}')::bigint = ${listingId}::bigint`;
  return market.db.database.one<MarketRow>(sql`
    select l.state, (select state from world_drafts where id = ${draftId}) as draft,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'state', state, 'who', city_handle,
        'until', (extract(epoch from expires_at) * 1000)::bigint)), '[]') from world_checkouts where listing_id = l.id) as checkouts,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(tx_hash, 'hex'), 'block', block_number)), '[]')
        from payment_proofs where world_listing_id = l.id) as proofs,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(p.tx_hash, 'hex'), 'buyer', m.handle,
        'checkout', p.checkout_id)), '[]') from purchases p join merchants m on m.id = p.merchant_id where p.listing_id = l.id) as purchases,
      (select count(*)::int from events where kind = 'world_sale' and ${own}) as sales,
      (select count(*)::int from events where kind = 'world_canceled' and ${own}) as cancellations
    from listings l where l.id = ${listingId}`);
}
