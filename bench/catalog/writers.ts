import type { ClientBase } from 'pg';
import { AISLES } from '../../src/contract/vocabulary.ts';
import { sha256 } from '../../src/platform/canonical-json.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { createZipf, type Dice, diceFor } from './dice.ts';
import { createGoods } from './goods.ts';
import type { Seeded } from './seed.ts';

export interface Write {
  /** Name under which answers to this write are counted. */
  name: string;
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  key: string;
  body: Readonly<Record<string, unknown>> | null;
}

export interface Writers {
  mixed(): Write;
  of: Readonly<Record<'vote' | 'comment' | 'edit' | 'listing', () => Write>>;
}

const WRITERS = 200;
const MAX_EDITABLE = 50_000;
const PEPPER_VERSION = 1;

/** Returns this market's pepper, which is fixed so that a reused folder accepts the same keys. */
export function pepperOf(seed: number): Buffer {
  return sha256(`bench pepper ${seed}`);
}

/** Gives keys to the largest sellers, then generates votes, edits, listings, and sometimes a withdrawal or a pin. */
export async function createWriters(url: string, seeded: Seeded): Promise<Writers> {
  const count = Math.min(WRITERS, seeded.sellers);
  const dice = diceFor(seeded.seed, `writes ${process.pid}`);
  const client = await connectClient({ url, applicationName: 'openaisle-bench-writers', statementTimeoutMs: 0 });
  try {
    const keys = await giveKeys(client, seeded.seed, count);
    const { rows } = await client.query<{ id: bigint; merchant_id: bigint }>(`
      select id, merchant_id from listings l where state = 'live' and merchant_id <= ${count} and aisle <> 'world'
        and not exists (select from purchases p where p.listing_id = l.id) order by id desc limit ${MAX_EDITABLE}`);
    const own = rows.map(({ id, merchant_id }) => ({ id: Number(id), merchant: Number(merchant_id) }));
    if (own.length === 0) throw new Error('no listing could be edited');
    return drawWrites({ dice, seeded, keys, own });
  } finally {
    await client.end();
  }
}

/** Derives keys from the seed, so that a reused folder gets the same keys. */
async function giveKeys(client: ClientBase, seed: number, count: number): Promise<string[]> {
  const pepper = createPepperFrom(new Map([[PEPPER_VERSION, pepperOf(seed)]]));
  const dice = diceFor(seed, 'keys');
  const random = {
    bytes: (length: number) => Buffer.from(dice.hex(length), 'hex'),
    int: dice.int,
    uuid: () => dice.hex(16),
  };
  const keys = Array.from({ length: count }, () => makeMerchantKey(random, 'aisle'));
  await client.query(
    `insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
     select hash, $2, place, now() from unnest($1::bytea[]) with ordinality given (hash, place) on conflict do nothing`,
    [keys.map((key) => pepper.hash(key)), PEPPER_VERSION],
  );
  return keys;
}

interface WriterOptions {
  dice: Dice;
  seeded: Seeded;
  keys: readonly string[];
  own: { id: number; merchant: number }[];
}

function drawWrites({ dice, seeded, keys, own }: WriterOptions): Writers {
  const { listings, vocabulary } = seeded;
  const make = createGoods(dice.int(2 ** 31), seeded);
  const drawTag = createZipf(vocabulary.tags.length, dice);
  const keyOf = (merchant: number): string => keys[merchant - 1] ?? '';
  const sellable = AISLES.filter((aisle) => aisle !== 'world');
  const tags = (): string[] => [
    ...new Set([drawTag(), drawTag(), drawTag()].map((rank) => vocabulary.tags[rank] ?? '')),
  ];
  let made = listings;
  const edit = (): Write => {
    const { id, merchant } = dice.pick(own);
    const { description, preview } = make(id);
    const body = dice.pick([
      { description },
      { preview, tags: tags() },
      { tags: tags() },
      { aisle: dice.pick(sellable) },
    ]);
    return { name: 'edit', method: 'PATCH', path: `/api/listing/${id}`, key: keyOf(merchant), body };
  };
  const list = (): Write => {
    made += 1;
    const { title, description, preview, priceUnits, tags: chosen } = make(made);
    const body = {
      title: `${title.slice(0, 100)} ${made}`,
      description,
      preview,
      artifact: `goods ${made} ${dice.hex(8)}`,
      price_usdc: priceUnits / 1e6,
      seller_wallet: '0x00000000000000000000000000000000000b3c1e',
      tags: chosen,
      aisle: dice.pick(sellable),
    };
    return { name: 'listing', method: 'POST', path: '/api/listing', key: keyOf(1), body };
  };
  const vote = (): Write => {
    const merchant = 1 + dice.int(keys.length);
    const body = { listing_id: 1 + dice.int(listings) };
    return { name: 'vote', method: 'POST', path: '/api/vote', key: keyOf(merchant), body };
  };
  const comment = (): Write => {
    const body = { listing_id: 1 + dice.int(listings), body: `A word or two, ${dice.hex(8)}.` };
    return { name: 'comment', method: 'POST', path: '/api/comment', key: keyOf(1 + dice.int(keys.length)), body };
  };
  const withdraw = (): Write => {
    const [{ id, merchant } = { id: 0, merchant: 0 }] = own.splice(dice.int(own.length), 1);
    return { name: 'withdrawal', method: 'DELETE', path: `/api/listing/${id}`, key: keyOf(merchant), body: null };
  };
  const pin = (): Write => {
    const body = { listing_id: dice.pick(own).id, pinned: dice.share() < 0.4 };
    return { name: 'pin', method: 'POST', path: '/api/mod/pin', key: keyOf(1), body };
  };
  const mixed = (): Write => {
    const chance = dice.share();
    if (chance < 0.74) return vote();
    if (chance < 0.92) return edit();
    if (chance < 0.98) return list();
    return chance < 0.99 && own.length > 1_000 ? withdraw() : pin();
  };
  return { mixed, of: { vote, comment, edit, listing: list } };
}
