import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { FIELD_NAMES } from '../../src/contract/listing-fields.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { findWalletKind } from '../../src/market/listings/store.ts';
import { releaseWallet, reserveWallet } from '../../src/market/world/drafts/store.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { BASE_URL, type Member, signProof, startWorld, type World } from '../support/market-world.ts';
import { onServer } from '../support/run-postgres.ts';
import { seedFee, seedListing } from '../support/seed.ts';
import { endWorldListing, seedWorldListing, seedWorldSale } from '../support/world-listing.ts';

// Runs the market under a database role that owns no tables, as an operator may do.
const ROLE = `openaisle_app_${systemRandom.bytes(6).toString('hex')}`;
const PASSWORD = 'only-for-a-test';
const { buyerOne, sellerOne, treasury } = WORLD_ACCOUNTS;

let world: World;
let ownerUrl = '';
let roleUrl = '';
let seller: Member;
let buyer: Member;
let keeper: Member;

beforeAll(async () => {
  world = await startWorld({
    // This test never calls the city.
    cityUrl: 'http://127.0.0.1:1',
    databaseUrl: async (db) => {
      ownerUrl = db.url;
      await onServer(ownerUrl, `create role ${ROLE} login password '${PASSWORD}'`);
      const script = await readFile(fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url)), 'utf8');
      await onServer(ownerUrl, script.replaceAll('openaisle_app', ROLE));
      const address = new URL(ownerUrl);
      address.username = ROLE;
      address.password = PASSWORD;
      roleUrl = address.href;
      return roleUrl;
    },
  });
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(async () => {
  await onServer(ownerUrl, `drop owned by ${ROLE}`);
  await world.stop();
  await onServer(inject('testPostgres').adminUrl, `drop role ${ROLE}`);
});

it('may write every field of a listing that a merchant may edit', async () => {
  const { database } = world.db;
  const denied = await database.rows(sql`
    select name from unnest(${FIELD_NAMES}::text[]) name where not has_column_privilege(${ROLE}, 'listings', name, 'update')`);
  expect(denied).toEqual([]);
});

it('lists, sells and delivers with the rights of that role alone', async () => {
  const body = {
    title: 'Goods under a small role',
    description: 'They sell all the same',
    preview: '',
    artifact: 'delivered all the same',
    price_usdc: 2.5,
    seller_wallet: sellerOne.address,
  };
  const feeTerms = { payTo: treasury.address, units: 1_000_000n, resource: `${BASE_URL}/api/listing` };
  const fee = await signProof(world.chain, sellerOne, feeTerms);
  expect((await world.ask('POST', '/api/listing', { key: seller.key, body, proof: fee.v2 })).status).toBe(202);
  await world.finalize();
  const listed = await world.ask('POST', '/api/listing', { key: seller.key, body });
  expect(listed.status).toBe(201);
  const id = BigInt(Number(listed.body['listing_id']));
  const terms = { payTo: sellerOne.address, units: 2_500_000n, resource: `${BASE_URL}/api/buy/${id}` };
  const proof = await signProof(world.chain, buyerOne, terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  await world.finalize();
  const bought = await world.buy(id, { key: buyer.key });
  expect([bought.status, bought.body['artifact']]).toEqual([200, body.artifact]);
  const stage = {
    action: 'stage',
    handle: 'new-comer',
    model: 'm',
    client_class: 'coding_persistent',
    human_approved: true,
  };
  const staged = await world.ask('POST', '/api/register', { body: stage });
  expect(staged.status).toBe(200);
  const { session, csrf, merchant_key } = staged.body;
  const confirm = { action: 'confirm', session, csrf };
  const confirmed = await world.ask('POST', '/api/register', { key: String(merchant_key), body: confirm });
  expect(confirmed.body).toMatchObject({ status: 'confirmed', handle: 'new-comer' });
  await world.running.eventsSettled();
  const events = await world.ask('GET', '/api/events');
  expect(events.body).toMatchObject({ total: 3, has_more: false });
});

it('edits, votes, withdraws, pins and removes with them too', async () => {
  const { id } = await seedListing(world.db.database, seller.id, { priceUnits: 0n });
  const steps: [string, string, Member, object?][] = [
    ['PATCH', `/api/listing/${id}`, seller, { title: 'Edited', artifact: 'new goods '.repeat(30), tags: ['new'] }],
    ['POST', '/api/vote', buyer, { listing_id: Number(id) }],
    ['POST', '/api/mod/pin', keeper, { listing_id: Number(id), pinned: true }],
    ['POST', '/api/mod/pin', keeper, { listing_id: Number(id), pinned: false }],
    ['DELETE', `/api/listing/${id}`, seller],
    ['POST', `/api/listing/${id}/withdraw`, seller, { reason: 'again' }],
    ['POST', '/api/mod/remove', keeper, { listing_id: Number(id), reason_code: 'other', reason: 'a reason' }],
  ];
  for (const [method, path, { key }, body] of steps) {
    const { status, body: answer } = await world.ask(method, path, body ? { key, body } : { key });
    expect([status, answer['reason']], `${method} ${path}`).toEqual([200, undefined]);
    if (method === 'PATCH') expect(answer['listing']).toMatchObject({ tags: ['new'] });
  }
  const detail = await world.ask('GET', `/api/listing/${id}`);
  expect(detail.body['listing']).toMatchObject({ removed: true, withdrawn: true, pinned: false });
  expect((await world.ask('POST', '/api/mod/remove', { key: seller.key, body: {} })).status).toBe(403);
});

it('speaks, flags, appeals, decides and lists a newer version with them too', async () => {
  const { id } = await seedListing(world.db.database, seller.id);
  const about = { listing_id: Number(id) };
  const reason = { reason_code: 'other', reason: 'a reason' };
  const said = async (path: string, { key }: Member, body: object) => {
    const { status, body: answer } = await world.ask('POST', path, { key, body });
    expect([answer['reason'], status < 300], path).toEqual([undefined, true]);
    return answer;
  };
  const { comment } = await said('/api/comment', buyer, { ...about, body: 'A word' });
  const comment_id = (comment as { id: number }).id;
  await said('/api/comment', seller, { ...about, body: 'Another', parent_id: comment_id });
  await said('/api/flag', seller, { target_type: 'comment', target_id: comment_id, reason: 'look' });
  await said('/api/mod/comment', keeper, { comment_id, ...reason });
  await said('/api/store', seller, { line: 'What is here' });
  await said('/api/mod/text', keeper, { target_type: 'store_line', target_id: Number(seller.id), ...reason });
  await said('/api/mod/remove', keeper, { ...about, ...reason });
  const { appeal } = await said('/api/appeal', seller, { ...about, statement: 'It was good' });
  const appeal_id = (appeal as { id: number }).id;
  await said('/api/mod/text', keeper, { target_type: 'appeal', target_id: appeal_id, ...reason });
  const decision = { appeal_id, outcome: 'restored', reason: 'It was' };
  expect((await said('/api/mod/appeal', keeper, decision))['listing']).toMatchObject({ state: 'live' });
  const goods = {
    title: 'Newer goods',
    description: 'x',
    preview: '',
    artifact: 'newer goods '.repeat(40),
    price_usdc: 1,
  };
  const newer = { ...goods, seller_wallet: sellerOne.address, supersedes: Number(id), entitles_previous_buyers: true };
  await seedFee(world.db.database, seller.id);
  expect(await said('/api/listing', seller, newer)).toMatchObject({ listing: { supersedes: Number(id) } });
  const { body } = await world.ask('GET', '/api/me', { key: buyer.key });
  expect(body).toMatchObject({ replies_total: 1, quotas: { voices_per_merchant_day: { used: 1 } } });
});

it('names a resident, and records what becomes of a thing, with them too', async () => {
  const linked = await world.ask('POST', '/api/city-link', { key: seller.key, body: { city_handle: '@Resident-One' } });
  expect(linked.body['merchant']).toMatchObject({ city_handle: 'resident-one' });
  const database = await openDatabase({ url: roleUrl, allowUnsafe: true, poolSize: 1 });
  const [sold, lapsed] = [await seedWorldListing(database, seller.id), await seedWorldListing(database, seller.id)];
  await seedWorldSale(database, sold.id, { merchantId: buyer.id });
  await endWorldListing(database, lapsed.id, 'stale');
  // Reserve and release the wallet of a thing that was never listed.
  const wallet: Hex = `0x${'09'.repeat(20)}`;
  await database.transaction((tx) => reserveWallet(tx, wallet));
  expect(await findWalletKind(database, wallet)).toBe('world');
  await database.transaction((tx) => releaseWallet(tx, wallet));
  expect(await findWalletKind(database, wallet)).toBeNull();
  await database.run(
    sql`update world_listings set looked_at = now(), differs_since = now() where listing_id = ${sold.id}`,
  );
  await database.close();
  const shown = await world.ask('GET', '/api/purchases', { key: buyer.key });
  expect(shown.body['purchases']).toMatchObject([{ world_receipt: { offer_id: Number(sold.offerId) } }, {}]);
});

it.each([
  'update events set kind = kind',
  'delete from events',
  'truncate events',
  'update payment_proofs set log_index = 0',
  'delete from purchases',
  'update fees set amount_units = 1',
  'delete from payments',
  'update payments set value_units = 1',
  'update listings set price_units = 0',
  'update listings set edited_act = 0',
  'update votes set created_at = now()',
  'delete from votes',
  'delete from artifacts',
  "update comments set body = ''",
  'delete from comments',
  'truncate comments',
  'update removals set removed_by = 1',
  "update text_removals set reason = ''",
  'delete from text_removals',
  "update appeals set statement = ''",
  'delete from appeals',
  "update flags set reason = ''",
  'update listings set supersedes = null',
  'update catalog_changes set listing_id = 1',
  'delete from chain_watermarks',
  'update world_drafts set price_units = 1',
  'delete from world_drafts',
  'update world_listings set offer_id = 1',
  'delete from world_listings',
  'update world_checkouts set merchant_id = 1',
  'delete from world_checkouts',
  "update wallet_uses set kind = 'ordinary'",
  "update listings set wallet_kind = 'world'",
  'alter table events disable trigger all',
  'drop table events',
])('that role may not: %s', async (statement) => {
  const database = await openDatabase({ url: roleUrl, allowUnsafe: true, poolSize: 1 });
  const refused = await database.run(sql([statement])).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );
  await database.close();
  expect(refused).toBe('42501');
});

it('starts without the right to create tables, when there is nothing to migrate', async () => {
  const folder = fileURLToPath(new URL('../../migrations/market', import.meta.url));
  expect(await migrate(roleUrl, folder)).toEqual([]);
});
