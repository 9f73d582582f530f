import sql from 'sql-template-tag';
import type { Aisle } from '../../../contract/vocabulary.ts';
import type { Queryable } from '../../../platform/database/database.ts';

export interface FeesOfDay {
  /** As in 2026-01-05, in UTC. */
  day: string;
  fees: bigint;
  units: bigint;
}

export interface FeesOfMerchant {
  merchant: string;
  fees: bigint;
  units: bigint;
}

export interface FeeSums {
  fees: bigint;
  units: bigint;
  /** How many merchants have paid one. */
  merchants: bigint;
  /** In order, those with fees only. By the time of the block that the payment is in. */
  days: FeesOfDay[];
  /** Those who paid most. */
  top: FeesOfMerchant[];
}

interface SumRow {
  kind: 'day' | 'merchant' | 'all';
  day: string | null;
  merchant: string | null;
  fees: bigint;
  units: bigint;
  groups: bigint;
}

/** One pass over all fees, so that every sum is of the same fees. */
export async function sumFees(database: Queryable, top: number): Promise<FeeSums> {
  const rows = await database.rows<SumRow>(sql`
    select case sums.kind when 1 then 'day' when 2 then 'merchant' else 'all' end as kind,
      to_char(sums.day, 'YYYY-MM-DD') as day, m.handle as merchant, sums.fees, sums.units, sums.groups
    from (
      select grouping(day, merchant_id) as kind, day, merchant_id, count(*) as fees,
        coalesce(sum(amount_units), 0)::bigint as units,
        count(*) over (partition by grouping(day, merchant_id)) as groups,
        row_number() over (partition by grouping(day, merchant_id) order by sum(amount_units) desc, merchant_id) as place
      from (select date_trunc('day', block_time at time zone 'UTC') as day, merchant_id, amount_units from fees) paid
      group by grouping sets ((day), (merchant_id), ())
    ) sums left join merchants m on m.id = sums.merchant_id
    where sums.kind <> 2 or sums.place <= ${top}
    order by sums.day, sums.place`);
  const all = rows.find(({ kind }) => kind === 'all');
  return {
    fees: all?.fees ?? 0n,
    units: all?.units ?? 0n,
    merchants: rows.find(({ kind }) => kind === 'merchant')?.groups ?? 0n,
    days: rows.flatMap(({ day, fees, units }) => (day === null ? [] : [{ day, fees, units }])),
    top: rows.flatMap(({ merchant, fees, units }) => (merchant === null ? [] : [{ merchant, fees, units }])),
  };
}

export interface SalesOfAisle {
  aisle: Aisle;
  /** Paid for, and final. */
  paid: bigint;
  units: bigint;
  /** Handed over for nothing. */
  free: bigint;
}

/** By the aisle where the goods lie now; those where nothing was handed over are left out. */
export async function sumSales(database: Queryable): Promise<SalesOfAisle[]> {
  return database.rows<SalesOfAisle>(sql`
    select l.aisle, coalesce(sum(bought.paid), 0)::bigint as paid, coalesce(sum(bought.units), 0)::bigint as units,
      coalesce(sum(bought.free), 0)::bigint as free
    from (
      select listing_id, count(*) filter (where verified_via <> 'free') as paid,
        count(*) filter (where verified_via = 'free') as free, sum(paid_units) as units
      from purchases group by listing_id
    ) bought join listings l on l.id = bought.listing_id
    group by l.aisle`);
}

/** Of the maintainer, who pays no fee. */
export async function countFreeListings(database: Queryable): Promise<bigint> {
  const { listings } = await database.one<{ listings: bigint }>(
    sql`select count(*) as listings from listings where fee_id is null`,
  );
  return listings;
}
