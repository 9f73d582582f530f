import type { ClientBase } from 'pg';
import { handleSkeleton } from '../../src/contract/handles.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { copyFile, copyLine, withCopyFolder, writeRows } from './copy-rows.ts';
import { thingWalletOf, walletOf } from './listing-line.ts';
import type { Vocabulary } from './vocabulary.ts';

interface SeedPlan {
  listings: number;
  sellers: number;
  vocabulary: Vocabulary;
}

const MAX_EVENTS = 50_000;
const JOINED = '2026-01-05T12:00:00Z';

/** Fills all tables around the listings. Merchants are also the voters and the takers of free goods. */
export async function seedAround(client: ClientBase, given: SeedPlan, begin: (what: string) => void): Promise<void> {
  begin('merchants');
  await seedMerchants(client, given);
  begin('artifacts');
  await seedArtifacts(client);
  begin('things of a city');
  await seedThings(client);
  begin('votes');
  await client.query(`
    insert into votes (listing_id, merchant_id, created_at)
    select l.id, voter.id, l.created_at
    from bench.counts c join listings l on l.id = c.id
    cross join lateral generate_series(0, least(c.votes, ${given.sellers} - 2) - 1) n
    cross join lateral (select ${memberOf(given.sellers)} as id) voter
    where voter.id <> l.merchant_id`);
  begin('what was taken for nothing');
  await client.query(`
    insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
    select l.id, buyer.id, 0, 0, 'free', l.created_at
    from bench.counts c join listings l on l.id = c.id and l.price_units = 0
    cross join lateral generate_series(0, least(c.sales * 3, ${given.sellers} - 2) - 1) n
    cross join lateral (select ${memberOf(given.sellers)} as id) buyer
    where buyer.id <> l.merchant_id`);
  begin('sales');
  await seedSales(client);
  begin('events');
  await seedEvents(client, given);
}

/** Returns SQL for a different merchant for each n of a listing, spread over all of them: the step is coprime to their number. */
function memberOf(merchants: number): string {
  const step = [7_919, 7_907, 7_901].find((prime) => merchants % prime !== 0) ?? 1;
  return `((l.id * 104729 + n::int8 * ${step}) % ${merchants}) + 1`;
}

/** Inserts the goods of all listings that are loaded. Must make the same bytes as listing-line.ts. */
export async function seedArtifacts(client: ClientBase): Promise<void> {
  await client.query(`
    insert into artifacts (listing_id, salt, content)
    select id, sha256(convert_to('salt ' || id, 'UTF8')), convert_to('goods of listing ' || id, 'UTF8') from listings
    where aisle <> 'world'`);
}

async function seedMerchants(client: ClientBase, { sellers, vocabulary }: SeedPlan): Promise<void> {
  const merchants = Array.from({ length: sellers }, (_, index) => {
    const id = index + 1;
    const line = `Made by ${vocabulary.words[(id * 7) % 2_000]} and ${vocabulary.words[(id * 13) % 2_000]}`;
    return { handle: handleOf(id, vocabulary), line };
  });
  await copyMerchants(client, merchants);
}

/** Inserts merchants with ids from 1 and their wallets. */
export async function copyMerchants(
  client: ClientBase,
  merchants: readonly { handle: string; line: string }[],
): Promise<void> {
  const rows = merchants.map(({ handle, line }, index) =>
    copyLine([index + 1, handle, handleSkeleton(handle), line, 'a model', 'coding_persistent', JOINED]),
  );
  const columns = ['id', 'handle', 'handle_skeleton', 'store_line', 'model', 'client_class', 'joined_at'];
  await withCopyFolder(async (folder) => {
    await copyFile(client, { table: 'merchants', columns }, await writeRows(folder, 'merchants', rows));
    const wallets = merchants.flatMap((_, index) => [
      copyLine([walletOf(index + 1), 'ordinary']),
      copyLine([thingWalletOf(index + 1), 'world']),
    ]);
    const file = await writeRows(folder, 'wallets', wallets);
    await copyFile(client, { table: 'wallet_uses', columns: ['wallet', 'kind'] }, file);
  });
}

/** Returns a unique handle, because each number at the end is used once. */
export function handleOf(merchant: number, { tags }: Vocabulary): string {
  const [word = ''] = (tags[merchant % tags.length] ?? '').split('-');
  return `${word}-${merchant}`;
}

/** Inserts things that are all unsold, so that all are on the shelves. */
async function seedThings(client: ClientBase): Promise<void> {
  await client.query(`
    insert into world_drafts (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, thing_id, state, offer_id,
      listing_id, held_wallet, created_at, expires_at, ended_at)
    select id, merchant_id, title, description, preview, price_units, seller_wallet, tags, id, 'listed', id, id, seller_wallet,
      created_at, created_at, created_at
    from listings where aisle = 'world'`);
  await client.query(`
    insert into world_listings (listing_id, draft_id, city_origin, offer_id, thing_id, seller_handle, offer_url, thing_url, phase,
      looked_at)
    select id, id, 'https://city.example', id, id, 'resident-' || merchant_id, 'https://city.example/offer/' || id,
      'https://city.example/thing/' || id, 'listed', created_at
    from listings where aisle = 'world'`);
}

/** Inserts paid purchases with payments and proofs, as if each had been paid on the chain. */
async function seedSales(client: ClientBase): Promise<void> {
  const { chainId, usdc } = NETWORKS.base;
  await client.query(`
    with sold as (
      select l.id as listing_id, l.seller_wallet, l.price_units, l.created_at, l.id * 1000 + n as place,
        sha256(convert_to('payer ' || l.id || ' ' || n, 'UTF8')) as digest
      from bench.counts c join listings l on l.id = c.id and l.price_units > 0
      cross join lateral generate_series(1, c.sales) n
    ), paid as (
      insert into payments (purpose, path, status, listing_id, chain_id, asset, payee, payer, value_units, nonce, valid_after,
        valid_before, opened_block, tx_hash, block_number, block_time, created_at, settling_at, ended_at, updated_at)
      select 'purchase', 'x402', 'completed', listing_id, ${chainId}, decode('${usdc.slice(2)}', 'hex'), seller_wallet,
        substring(digest for 20), price_units, digest, 0, 2000000000, place, sha256(digest), place + 1, created_at, created_at,
        created_at, created_at, created_at
      from sold
      returning id, listing_id, payer, value_units, tx_hash, block_number, created_at
    ), proven as (
      insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units,
        written_at)
      select tx_hash, 'purchase', id, block_number, sha256(tx_hash), created_at, 0, value_units, created_at from paid
    )
    insert into purchases (listing_id, payer, payment_id, price_units, paid_units, tx_hash, block_number, verified_via, created_at)
    select listing_id, payer, id, value_units, value_units, tx_hash, block_number, 'x402', created_at from paid`);
}

/** Inserts events of the newest listings only, which is enough for the pages that show the log. */
async function seedEvents(client: ClientBase, { listings }: SeedPlan): Promise<void> {
  const older = Math.max(0, listings - MAX_EVENTS);
  await client.query(`
    insert into events (id, kind, at, canonical, in_door, in_window, queued_at, nth_of_kind, nth_of_door, nth_of_window, numbered_at, nth,
      running_hash)
    select told.*, told.at, told.id, running_hash(null, told.id, told.canonical) over (order by told.id) from (
    select l.id - ${older} as id, 'listing' as kind, l.created_at as at, convert_to(
        '{"actor":"' || m.handle || '","at":"' || to_char(l.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') ||
        '","detail":{"aisle":"' || l.aisle || '","listing_id":' || l.id || ',"merchant_id":' || m.id ||
        ',"price_usdc":' || trim_scale(l.price_units / 1000000.0) || '},"kind":"listing"}', 'UTF8') as canonical,
      true, true, l.created_at, l.id - ${older}, l.id - ${older}, l.id - ${older}
    from listings l join merchants m on m.id = l.merchant_id where l.id > ${older} order by l.id) told`);
}
