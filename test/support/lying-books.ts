import pg from 'pg';

/** Books in which anything can be changed, and put back as it was. */
export interface LyingBooks {
  plant(lie: string): Promise<void>;
  /** What was found when the books were opened, or when `keep` was last called. */
  putBack(): Promise<void>;
  keep(): Promise<void>;
  end(): Promise<void>;
}

/** No trigger and no foreign key stands in the way of a lie. */
export async function openLyingBooks(url: string): Promise<LyingBooks> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set session_replication_role = replica');
  const tables = async (): Promise<string[]> => {
    const found = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1`,
    );
    return found.rows.map(({ name }) => name);
  };
  const keep = async (): Promise<void> => {
    await client.query('drop schema if exists kept cascade; create schema kept');
    for (const name of await tables()) await client.query(`create table kept.${name} as table public.${name}`);
  };
  await keep();
  return {
    keep,
    plant: async (lie) => {
      await client.query(lie);
    },
    putBack: async () => {
      const names = await tables();
      const back = names.map((name) => `insert into public.${name} overriding system value select * from kept.${name}`);
      // Not truncated: the market goes on reading these tables, in an order of its own, and one of the two would have to give way.
      const emptied = names.map((name) => `delete from public.${name}`);
      await client.query(['begin', ...emptied, ...back, 'commit'].join(';'));
    },
    end: () => client.end(),
  };
}
