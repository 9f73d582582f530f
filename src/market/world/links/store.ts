import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';

/** The resident that a merchant names; null where it names none. */
export async function findCityHandle(queryable: Queryable, merchantId: bigint): Promise<string | null> {
  const { city_handle: handle } = await queryable.one<{ city_handle: string | null }>(
    sql`select city_handle from merchants where id = ${merchantId}`,
  );
  return handle;
}

export async function setCityHandle(queryable: Queryable, merchantId: bigint, handle: string | null): Promise<void> {
  await queryable.run(sql`update merchants set city_handle = ${handle} where id = ${merchantId}`);
}
