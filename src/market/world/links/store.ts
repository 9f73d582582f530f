import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';

/** The resident that a merchant names; null where it names none. */
export async function findCityHandle(queryable: Queryable, merchantId: bigint): Promise<string | null> {
  const { city_handle: handle } = await queryable.one<{ city_handle: string | null }>(
    sql`select city_handle from merchants where id = ${merchantId}`,
  );
  return handle;
}

/** The same resident again writes nothing, so that no catalog has to look. */
export async function setCityHandle(queryable: Queryable, merchantId: bigint, handle: string | null): Promise<void> {
  await queryable.run(
    sql`update merchants set city_handle = ${handle}::text
      where id = ${merchantId} and city_handle is distinct from ${handle}::text`,
  );
}
