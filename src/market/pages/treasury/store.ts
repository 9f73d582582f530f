import sql from 'sql-template-tag';
import type { Aisle } from '../../../contract/vocabulary.ts';
import type { Queryable } from '../../../platform/database/database.ts';

export interface FeesOfDay {
  /** UTC date such as 2026-01-05. */
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
  /** Number of merchants who have paid a fee. */
  merchants: bigint;
  /** Days with fees, in order. A fee belongs to the day of its payment's block. */
  days: FeesOfDay[];
  top: FeesOfMerchant[];
}

interface SumRow {
  day: string | null;
  merchant: string | null;
  fees: bigint;
  units: bigint;
  new_merchants: bigint;
}

/** Reads all sums in one statement, so that they cover the same fees. */
export async function sumFees(database: Queryable, top: number): Promise<FeeSums> {
  const rows = await database.rows<SumRow>(sql`
    (select to_char(day, 'YYYY-MM-DD') as day, null as merchant, fees, units, new_merchants from fee_days order by day)
    union all
    (select null, m.handle, most.fees, most.units, 0 from (
      select * from fee_payers order by units desc, merchant_id limit ${top}
    ) most join merchants m on m.id = most.merchant_id order by most.units desc, most.merchant_id)`);
  const days = rows.flatMap(({ day, fees, units }) => (day === null ? [] : [{ day, fees, units }]));
  const sum = (counted: readonly bigint[]): bigint => counted.reduce((all, one) => all + one, 0n);
  return {
    fees: sum(days.map(({ fees }) => fees)),
    units: sum(days.map(({ units }) => units)),
    merchants: sum(rows.map((row) => row.new_merchants)),
    days,
    top: rows.flatMap(({ merchant, fees, units }) => (merchant === null ? [] : [{ merchant, fees, units }])),
  };
}

export interface SalesOfAisle {
  aisle: Aisle;
  /** Number of sales whose payment is final. */
  paid: bigint;
  units: bigint;
  /** Number of sales of free goods. */
  free: bigint;
}

/** Sums sales by the current aisle of the goods. Omits aisles without sales. */
export async function sumSales(database: Queryable): Promise<SalesOfAisle[]> {
  return database.rows<SalesOfAisle>(sql`
    select aisle, sum(paid_sales)::int8 as paid, sum(paid_units)::int8 as units, (sum(sales) - sum(paid_sales))::int8 as free
    from aisle_counters group by aisle having sum(sales) > 0`);
}

/** Counts listings of the maintainer, who pays no fee. */
export async function countFreeListings(database: Queryable): Promise<bigint> {
  const { listings } = await database.one<{ listings: bigint }>(
    sql`select coalesce(sum(rows), 0)::int8 as listings from row_counters where kind = 'listings_without_fee'`,
  );
  return listings;
}
