import sql from 'sql-template-tag';
import { AISLES } from '../src/contract/vocabulary.ts';
import { testAccount } from '../src/local/chain/accounts.ts';
import type { Database } from '../src/platform/database/database.ts';
import { toBytes } from '../src/platform/hex.ts';
import { load, median } from './load.ts';
import { FREE_SALES } from './settings.ts';
import type { Side } from './side.ts';
import { requestBytes } from './wire.ts';

export interface FreeSales {
  /** Free sales per second by round: `one` from one listing at a time, `many` from as many sellers as there are concurrent buyers. */
  one: number[];
  many: number[];
  /** Median of the rounds' ratios of `one` to `many`. */
  ratio: number;
}

const { atOnce, listingsOfEach } = FREE_SALES;
type Shape = 'one' | 'many';

/** Lets buyers with a key take free goods, in turn from one seller and from as many sellers as there are concurrent buyers. */
export async function measureFreeSales(
  side: Side,
  given: { rounds: number },
  tell: (line: string) => void,
): Promise<FreeSales> {
  const { books } = side;
  await insertSellers(books);
  const rates: Record<Shape, number[]> = { one: [], many: [] };
  // The first round warms up.
  for (let round = 0; round <= given.rounds; round += 1) {
    for (const shape of round % 2 === 0 ? (['one', 'many'] as const) : (['many', 'one'] as const)) {
      const rate = await takeAll(side, shape);
      if (round > 0) rates[shape].push(rate);
    }
    const last = (shape: Shape): string => (rates[shape].at(-1) ?? 0).toFixed(1);
    if (round > 0)
      tell(`free goods, round ${round} of ${given.rounds}: ${last('one')}/s of one, ${last('many')}/s of many`);
  }
  return { ...rates, ratio: median(rates.one.map((rate, round) => rate / (rates.many[round] ?? Number.NaN))) };
}

/** Lets each buyer take each of its goods once, so that every request is a sale. */
async function takeAll({ books, marketUrl, seeded }: Side, shape: Shape): Promise<number> {
  const sellers = shape === 'one' ? 1 : atOnce;
  const goods = await insertGoods(books, sellers, shape === 'one' ? listingsOfEach : 1);
  const before = await countSales(books);
  const requests = Array.from({ length: listingsOfEach }, (_, time) =>
    seeded.buyerKeys.map((key, buyer) => {
      const id = shape === 'one' ? goods[time] : goods[(buyer + time) % goods.length];
      return requestBytes(marketUrl, {
        method: 'POST',
        path: `/api/buy/${id}`,
        headers: { authorization: `Bearer ${key}` },
      });
    }),
  ).flat();
  const { perSecond } = await load(marketUrl, requests, { connections: atOnce });
  const sold = (await countSales(books)) - before;
  if (sold !== requests.length)
    throw new Error(`${requests.length} buyers took free goods, and ${sold} sales are in the books`);
  return perSecond;
}

const sellerName = (n: number): string => `free-seller-${n}`;

async function insertSellers(books: Database): Promise<void> {
  const names = Array.from({ length: atOnce }, (_, n) => sellerName(n));
  const wallets = names.map((name) => toBytes(testAccount(name).address));
  await books.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    select (select max(id) from merchants) + n, name, name, 'a model', 'coding_persistent', now()
    from unnest(${names}::text[]) with ordinality given (name, n)`);
  await books.run(
    sql`insert into wallet_uses (wallet, kind) select wallet, 'ordinary' from unnest(${wallets}::bytea[]) wallet`,
  );
}

/** Lists new goods for each of the first `sellers` sellers. */
async function insertGoods(books: Database, sellers: number, each: number): Promise<bigint[]> {
  const names = Array.from({ length: sellers }, (_, n) => sellerName(n));
  const wallets = names.map((name) => toBytes(testAccount(name).address));
  const made = await books.rows<{ id: bigint }>(sql`
    with made as (
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
        artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
      select (select max(id) from listings) + row_number() over (), m.id, 'Free goods of ' || m.handle, 'free', '', 0, g.wallet, '{}',
        ${AISLES[0]}, now(), sha256('salt'), 5, 'utf-8', 'text/plain; charset=utf-8', sha256('body')
      from unnest(${names}::text[], ${wallets}::bytea[]) g (name, wallet) join merchants m on m.handle = g.name
        cross join generate_series(1, ${each}::int)
      returning id
    ), goods as (insert into artifacts (listing_id, salt, content) select id, sha256('salt'), 'goods' from made)
    select id from made`);
  return made.map(({ id }) => id);
}

async function countSales(books: Database): Promise<number> {
  const { sales } = await books.one<{ sales: bigint }>(sql`select count(*) as sales from purchases`);
  return Number(sales);
}
