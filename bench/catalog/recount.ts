import { Agent } from 'node:http';
import type { ClientBase } from 'pg';
import { AISLES } from '../../src/contract/vocabulary.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { readPage, type ShownListing } from './check-page.ts';
import { countWords } from './count-words.ts';
import type { Dice } from './dice.ts';
import type { Seeded } from './seed.ts';

export interface Recount {
  totals: number;
  rows: number;
  faults: string[];
}

export interface RecountOrder {
  marketUrl: string;
  databaseUrl: string;
  seeded: Seeded;
  dice: Dice;
}

const TAGS = 40;
const WORDS = 12;
const SELLERS = 10;
const PRICES = ['0', '0.5', '3', '10', '99.99'];

/** Compares the market's answers with independent queries of the database while nothing is written. */
export async function recount({ marketUrl, databaseUrl, seeded, dice }: RecountOrder): Promise<Recount> {
  const outcome: Recount = { totals: 0, rows: 0, faults: [] };
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const client = await connectClient({
    url: databaseUrl,
    applicationName: 'openaisle-bench-recount',
    statementTimeoutMs: 0,
  });
  try {
    const check = async (path: string, counted: number): Promise<void> => {
      const { total } = await readPage(marketUrl, path, agent);
      outcome.totals += 1;
      if (total !== counted) outcome.faults.push(`${path}: total ${total}, the database has ${counted}`);
    };
    await checkAisles(client, marketUrl, agent, outcome);
    for (const [query, where] of filters(seeded, dice))
      await check(`/api/shelves?${query}`, await countWhere(client, where));
    const words = Array.from({ length: WORDS }, () => dice.pick(seeded.vocabulary.words.slice(20))).filter((word) =>
      /^[a-z]+$/.test(word),
    );
    for (const [word, count] of await countWords(client, words)) await check(`/api/shelves?q=%22${word}%22`, count);
    for (const [query, where, order] of shelves(seeded, dice)) {
      const page = await readPage(marketUrl, `/api/shelves?${query}`, agent);
      const rows = await readRows(client, where, order);
      outcome.rows += rows.length;
      const fault = difference(page.listings, rows);
      if (fault !== null) outcome.faults.push(`/api/shelves?${query}: ${fault}`);
    }
  } catch (error) {
    outcome.faults.push(error instanceof Error ? error.message : String(error));
  } finally {
    agent.destroy();
    await client.end();
  }
  return outcome;
}

type Filter = readonly [query: string, where: string];

function filters({ vocabulary }: Seeded, dice: Dice): Filter[] {
  const tags = Array.from(
    { length: TAGS },
    (_, n) => (n < TAGS / 2 ? vocabulary.tags[n] : dice.pick(vocabulary.tags)) ?? '',
  );
  const sellers = Array.from({ length: SELLERS }, (_, n) => n + 1);
  return [
    ...tags.map((tag): Filter => [`tag=${tag}`, `l.tags @> array['${tag}']`]),
    ...tags
      .slice(0, 5)
      .map((tag): Filter => [`tag=${tag}&aisle=tools`, `l.tags @> array['${tag}'] and l.aisle = 'tools'`]),
    ...sellers.map((id): Filter => [`seller=${sellerHandle(vocabulary.tags, id)}`, `l.merchant_id = ${id}`]),
    ...PRICES.map((price): Filter => [`max_price_usdc=${price}`, `l.price_units <= ${price} * 1000000`]),
    ['free=true', 'l.price_units = 0'],
    ['free=false', 'l.price_units > 0'],
  ];
}

function sellerHandle(tags: readonly string[], id: number): string {
  return `${(tags[id % tags.length] ?? '').split('-')[0]}-${id}`;
}

type Shelf = readonly [query: string, where: string, order: string];

function shelves({ vocabulary }: Seeded, dice: Dice): Shelf[] {
  const newest = 'l.pinned desc, l.id desc';
  const liked = 'l.pinned desc, votes desc, l.id desc';
  const tag = dice.pick(vocabulary.tags.slice(0, 100));
  return [
    ['sort=new', 'true', newest],
    ['sort=karma', 'true', liked],
    ['sort=sales', 'true', 'l.pinned desc, sales desc, l.id desc'],
    ['sort=price_asc', 'true', 'l.price_units, l.id desc'],
    ['sort=price_desc', 'true', 'l.price_units desc, l.id desc'],
    ...AISLES.map((aisle): Shelf => [`aisle=${aisle}`, `l.aisle = '${aisle}'`, newest]),
    ...AISLES.map((aisle): Shelf => [`aisle=${aisle}&sort=karma`, `l.aisle = '${aisle}'`, liked]),
    [`tag=${tag}&sort=karma`, `l.tags @> array['${tag}']`, liked],
    [`tag=${tag}`, `l.tags @> array['${tag}']`, newest],
  ];
}

async function countWhere(client: ClientBase, where: string): Promise<number> {
  const { rows } = await client.query<{ count: bigint }>(
    `select count(*) from listings l where l.state = 'live' and ${where}`,
  );
  return Number(rows[0]?.count ?? -1);
}

async function checkAisles(client: ClientBase, url: string, agent: Agent, outcome: Recount): Promise<void> {
  const { aisles, total } = await readPage(url, '/api/shelves', agent);
  let sum = 0;
  for (const name of AISLES) {
    const counted = await countWhere(client, `l.aisle = '${name}'`);
    const shown = aisles.find((aisle) => aisle.name === name)?.count;
    outcome.totals += 1;
    sum += counted;
    if (shown !== counted) outcome.faults.push(`aisle ${name}: ${shown}, the database has ${counted}`);
  }
  if (total !== sum) outcome.faults.push(`/api/shelves: total ${total}, the database has ${sum}`);
}

async function readRows(client: ClientBase, where: string, order: string): Promise<ShownListing[]> {
  const { rows } = await client.query<ShownListing>(`
    select * from (
      select l.id::int4 as id, l.title, (l.price_units / 1000000.0)::float8 as price_usdc, m.handle as merchant, l.description, l.preview,
        l.tags, l.aisle, l.pinned, l.state, l.price_units,
        (select count(*)::int4 from votes v where v.listing_id = l.id) as votes,
        (select count(*)::int4 from purchases p where p.listing_id = l.id) as sales
      from listings l join merchants m on m.id = l.merchant_id where l.state = 'live' and ${where}
    ) l order by ${order} limit 50`);
  return rows;
}

const COMPARED = [
  'title',
  'price_usdc',
  'merchant',
  'description',
  'preview',
  'aisle',
  'votes',
  'sales',
  'pinned',
  'state',
] as const;

function difference(shown: readonly ShownListing[], rows: readonly ShownListing[]): string | null {
  const [left, right] = [shown, rows].map((list) => list.map(({ id }) => id).join(' '));
  if (left !== right) return `rows ${left}, the database has ${right}`;
  for (const [index, one] of shown.entries()) {
    const row = rows[index];
    const field =
      COMPARED.find((name) => one[name] !== row?.[name]) ?? (String(one.tags) === String(row?.tags) ? null : 'tags');
    if (field !== null)
      return `listing ${one.id}: ${field} is ${JSON.stringify(one[field])}, not ${JSON.stringify(row?.[field])}`;
  }
  return null;
}
