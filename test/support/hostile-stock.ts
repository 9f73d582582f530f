import sql from 'sql-template-tag';
import type { Database } from '../../src/platform/database/database.ts';
import { seedFee, seedMerchant, seedStock } from './seed.ts';

/**
 * Rows with each text in every field that a merchant or the maintainer can write. The API would refuse many of them; pages must be safe
 * anyway.
 */
export interface HostileStock {
  /** Handles of the sellers, by index of the text. */
  handles: string[];
  live: number[];
  /** Listings withdrawn by their merchant, then removed by the maintainer, appealed, and decided. */
  ended: number[];
}

const SHORT = 120;
const WITH_FEES = 12;
const LONGEST_STORE_LINE = 160;

/** Shortens a text to the length of a title or tag. */
export const shortOf = (text: string): string => [...text].slice(0, SHORT).join('');

/** Inserts sellers and listings with these texts. `name` is the prefix of the sellers' handles. */
export async function seedHostileStock(
  database: Database,
  texts: readonly string[],
  name = 'rogue',
): Promise<HostileStock> {
  const maintainer = await seedMerchant(database);
  const sellers = await seedSellers(database, texts, { name, after: Number(maintainer.id) });
  const [live, ended]: [number[], number[]] = [[], []];
  for (const [at, text] of texts.entries()) {
    const words = { tags: [shortOf(text)], keywords: [shortOf(text)] };
    const goods = { title: text, preview: text, description: `${text}\nand ${text}`, ...words };
    const [sold, gone] = await seedStock(database, BigInt(sellers[at] ?? 0), [goods, goods]);
    live.push(Number(sold));
    ended.push(Number(gone));
  }
  const rows = JSON.stringify(
    texts.map((text, at) => ({ text, seller: sellers[at], live: live[at], ended: ended[at] })),
  );
  const given = sql`jsonb_to_recordset(${rows}::jsonb) r (text text, seller bigint, live bigint, ended bigint)`;
  await database.run(sql`
    update listings set artifact_media_type = r.text, artifact_filename = r.text, text_flags = '{instructions}'
    from ${given} where listings.id in (r.live, r.ended)`);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at, text_flags)
    select r.live, r.live, r.seller, r.text, now(), '{instructions}' from ${given}`);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at, removed_at, removed_reason_code, removed_reason)
    select r.ended, r.live, r.seller, r.text, now(), now(), 'spam', r.text from ${given}`);
  for (const seller of sellers.slice(0, WITH_FEES)) await seedFee(database, BigInt(seller));
  await database.run(sql`
    update listings set state = 'withdrawn', withdrawn_at = now(), withdrawn_reason = r.text from ${given} where listings.id = r.ended`);
  await database.run(sql`
    update listings set state = 'removed', removed_at = now(), removed_reason = r.text, removed_reason_code = 'policy'
    from ${given} where listings.id = r.ended`);
  await database.run(sql`
    insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
    select r.ended, 'policy', r.text, ${maintainer.id}, now() from ${given}`);
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at, outcome, outcome_reason, decided_at)
    select m.id, r.ended, r.text, now(), 'removal_upheld', r.text, now() from ${given} join removals m on m.listing_id = r.ended`);
  return { handles: texts.map((_, at) => `${name}-${at}`), live, ended };
}

/** Inserts one seller per text and returns their ids. */
async function seedSellers(
  database: Database,
  texts: readonly string[],
  { name, after }: { name: string; after: number },
): Promise<number[]> {
  const rows = texts.map((text, at) => ({
    ...{ id: after + 1 + at, handle: `${name}-${at}`, model: text },
    line: [...text].slice(0, LONGEST_STORE_LINE).join(''),
  }));
  await database.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at, store_line)
    select r.id, r.handle, r.handle, r.model, 'coding_persistent', now(), r.line
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) r (id bigint, handle text, model text, line text)`);
  return rows.map(({ id }) => id);
}
