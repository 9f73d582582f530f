import sql from 'sql-template-tag';
import { beforeAll, expect, it, vi } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { issueDownloadToken } from '../../src/market/goods/downloads/download-token.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeDeliveryToken, makeDownloadToken, makeMerchantKey, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { usdcAdmin } from '../support/chain.ts';
import { type Member, signProof } from '../support/market-world.ts';
import { removeListing, seedPaidPurchase, withdrawListing } from '../support/seed.ts';
import { PRICE, signCollecting } from '../support/trade.ts';
import { seedWorldListing } from '../support/world-listing.ts';
import { type Asked, type Downloaded, downloadFrom, downloadTrade, type FileGoods } from './download-stage.ts';
import { seedVersion } from './version-stage.ts';

// Attempts to read goods without the right to. Each is made against goods that somebody else has bought.

let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };
const { world, keeper, seller, buyer, file, download, bought, wallet } = downloadTrade({ clock });
const at = '/api/download';

let goods: FileGoods;
let free: FileGoods;
let other: Member;
let otherSeller: Member;
/** Collects `goods` by a signature of its payer. */
let downloadToken: string;
/** Collects another file. */
let tokens: { download: string; delivery: string };

async function downloadTokenFor(listing: FileGoods): Promise<string> {
  const payer = await bought(listing);
  const { v2, body } = await signCollecting(world.chain, listing, { payer: payer.address, signer: payer });
  const { body: answered } = await world.buy(listing.id, { proof: v2, body });
  return (answered['download'] as { download_token: string }).download_token;
}

beforeAll(async () => {
  goods = await file({ size: 600_000 });
  free = await file({ units: 0n, size: 600_000 });
  other = await world.join('bought-nothing');
  otherSeller = await world.join('seller-two');
  await bought(goods, { key: buyer.key });
  downloadToken = await downloadTokenFor(goods);
  const second = await file();
  const delivery = makeDeliveryToken(systemRandom, 'aisle');
  await bought(second, { token: delivery });
  await bought(second, { key: other.key });
  tokens = { download: await downloadTokenFor(second), delivery };
});

/** Starts a purchase that is not final yet. */
async function pending(by: { key?: string; token?: string }): Promise<FileGoods> {
  const listing = await file();
  const proof = await signProof(world.chain, await wallet(), listing.terms);
  const opened = await world.buy(listing.id, {
    proof: proof.v2,
    ...(by.key === undefined ? {} : { key: by.key }),
    ...(by.token === undefined ? {} : { headers: { 'x-delivery-token': by.token } }),
  });
  expect(opened.status).toBe(202);
  return listing;
}

/** Pays for a listing that was removed before, so that its seller decides. Returns the payment's id. */
async function inReview(key: string): Promise<{ listing: FileGoods; payment: number; payer: string }> {
  const listing = await file();
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, listing.terms);
  expect((await world.buy(listing.id, { key, proof: proof.v2 })).status).toBe(202);
  await removeListing(world.db.database, listing.id);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  const { id } = await world.db.database.one<{ id: bigint }>(
    sql`select id from payments where listing_id = ${listing.id} and status = 'needs_review'`,
  );
  return { listing, payment: Number(id), payer: payer.address };
}

async function decided(outcome: 'declined' | 'refunded'): Promise<FileGoods> {
  const { listing, payment, payer } = await inReview(other.key);
  let body: Record<string, unknown> = { outcome, note: 'no' };
  if (outcome === 'refunded') {
    const { transactionHash } = await usdcAdmin(world.chain).transfer(
      WORLD_ACCOUNTS.sellerOne,
      payer as `0x${string}`,
      PRICE,
    );
    await world.finalize();
    body = { outcome, tx_hash: transactionHash };
  }
  const answer = await world.ask('POST', `/api/review/${payment}`, { key: seller.key, body });
  expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
  return listing;
}

async function unpaid(): Promise<FileGoods> {
  const listing = await pending({ key: other.key });
  await world.db.database.run(
    sql`update payments set status = 'unpaid', end_reason = 'expired', ended_at = now() where listing_id = ${listing.id}`,
  );
  return listing;
}

async function payerOnly(given: { merchantId?: bigint }): Promise<FileGoods> {
  const listing = await file();
  await seedPaidPurchase(world.db.database, listing.id, { ...given, payerCollectsOnly: true });
  return listing;
}

/** A version that the buyer of `goods` gets free, until it is removed. */
async function removedVersion(): Promise<bigint> {
  const first = await file();
  const payer = await bought(first);
  const id = await seedVersion(world.db.database, {
    supersedes: first.id,
    artifact: 'a newer version',
    createdAt: new Date(clock.now()),
  });
  await world.running.eventsSettled();
  const { token } = await issueDownloadToken(world.running.market, id, payer.address);
  expect((await download(id, { downloadToken: token })).bytes.toString()).toBe('a newer version');
  await removeListing(world.db.database, id);
  versionToken = token;
  return id;
}
let versionToken = '';

async function rotated(): Promise<{ key: string; listing: FileGoods }> {
  const member = await world.join('rotates-its-key');
  const listing = await file();
  await bought(listing, { key: member.key });
  expect((await download(listing.id, { key: member.key })).status).toBe(200);
  const begun = await world.ask('POST', '/api/rotate', { key: member.key, body: { action: 'begin' } });
  const { session, csrf, merchant_key: key } = begun.body;
  const confirmed = await world.ask('POST', '/api/rotate', {
    key: String(key),
    body: { action: 'confirm', session, csrf },
  });
  expect(confirmed.status).toBe(200);
  expect((await download(listing.id, { key: String(key) })).status).toBe(200);
  return { key: member.key, listing };
}

/** Buys with a key that its merchant then replaces by a recovery code. */
async function recovered(): Promise<{ key: string; listing: FileGoods }> {
  const registration = {
    handle: 'recovers-its-key',
    model: 'test',
    client_class: 'coding_ephemeral',
    human_approved: true,
  };
  const staged = await confirmed('register', { action: 'stage', ...registration });
  const listing = await file();
  await bought(listing, { key: staged.key });
  const [recovery_code] = staged.recoveryCodes;
  const { key } = await confirmed('recovery', { action: 'begin', recovery_code });
  expect((await download(listing.id, { key })).status).toBe(200);
  return { key: staged.key, listing };
}

/** Carries out both steps of a change of keys. */
async function confirmed(door: string, begin: object): Promise<{ key: string; recoveryCodes: string[] }> {
  const { body } = await world.ask('POST', `/api/${door}`, { body: begin });
  const { session, csrf } = body;
  const key = String(body['merchant_key']);
  const { status } = await world.ask('POST', `/api/${door}`, { key, body: { action: 'confirm', session, csrf } });
  expect([door, status]).toEqual([door, 200]);
  return { key, recoveryCodes: body['recovery_codes'] as string[] };
}

type Attempt = [name: string, expected: string, act: () => Promise<Downloaded>];

const by = (asked: Asked, reason: string, name: string): Attempt => [name, reason, () => download(goods.id, asked)];
const lazily = (name: string, reason: string, asked: () => Asked, id = (): bigint => goods.id): Attempt => [
  name,
  reason,
  () => download(id(), asked()),
];
const path = (name: string, reason: string, suffix: () => string, asked: () => Asked = () => ({})): Attempt => [
  name,
  reason,
  () => downloadFrom(world, suffix(), asked()),
];

/** Sends POST /api/buy for bytes. */
const octets = (name: string, reason: string, asked: () => Asked, body: object): Attempt => [
  name,
  reason,
  async () => {
    const { key, headers } = asked();
    const response = await fetch(`${world.url}/api/buy/${goods.id}`, {
      method: 'POST',
      headers: {
        accept: 'application/octet-stream',
        'content-type': 'application/json',
        ...headers,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const { reason: given } = JSON.parse(bytes.toString('utf8')) as { reason: unknown };
    return { status: response.status, headers: response.headers, bytes, reason: given };
  },
];

const ATTEMPTS: Attempt[] = [
  // Keys
  by({}, '401 key_required', 'with nothing'),
  lazily('with the key of a merchant who bought other goods', '404 nothing_to_collect', () => ({ key: other.key })),
  lazily('with the key of another seller', '404 nothing_to_collect', () => ({ key: otherSeller.key })),
  lazily("with the maintainer's key", '404 nothing_to_collect', () => ({ key: keeper.key })),
  by({ key: makeMerchantKey(systemRandom, 'aisle') }, '401 key_invalid', 'with a key that nobody has'),
  by({ key: makeMerchantKey(systemRandom, 'city') }, '401 key_invalid', 'with a key of the city'),
  by({ key: makeRecoveryCode(systemRandom, 'aisle') }, '400 secret_in_payload', 'with a code as the key'),
  by({ headers: { authorization: 'Basic YTpi' } }, '401 key_invalid', 'with a name and a password'),
  [
    'with the key that was replaced',
    '401 key_invalid',
    async () => {
      const { key, listing } = await rotated();
      return await download(listing.id, { key });
    },
  ],
  [
    'with the key that a recovery ended',
    '401 key_invalid',
    async () => {
      const { key, listing } = await recovered();
      return await download(listing.id, { key });
    },
  ],
  // Tokens
  lazily('with the delivery token of other goods', '404 payment_not_found', () => ({ deliveryToken: tokens.delivery })),
  by(
    { deliveryToken: makeDeliveryToken(systemRandom, 'aisle') },
    '404 payment_not_found',
    'with an unknown delivery token',
  ),
  by({ deliveryToken: 'x'.repeat(43) }, '404 payment_not_found', 'with an invented delivery token'),
  lazily('with the download token of other goods', '409 sign_to_collect', () => ({ downloadToken: tokens.download })),
  by(
    { downloadToken: makeDownloadToken(systemRandom, 'aisle') },
    '409 sign_to_collect',
    'with an unknown download token',
  ),
  by({ downloadToken: 'true' }, '409 sign_to_collect', 'with an invented download token'),
  lazily('with two tokens', '400 two_proofs', () => ({ downloadToken, deliveryToken: tokens.delivery })),
  lazily('with a download token as delivery token', '400 secret_in_payload', () => ({ deliveryToken: downloadToken })),
  lazily('with a delivery token as download token', '400 secret_in_payload', () => ({
    downloadToken: tokens.delivery,
  })),
  [
    'with a download token of a payer who bought nothing',
    '404 nothing_to_collect',
    async () => {
      const { token } = await issueDownloadToken(world.running.market, goods.id, toHex(systemRandom.bytes(20)));
      return await download(goods.id, { downloadToken: token });
    },
  ],
  [
    'with a download token after its hour',
    '409 sign_to_collect',
    async () => {
      expect((await download(goods.id, { downloadToken })).status).toBe(200);
      ahead += 3_600_001;
      return await download(goods.id, { downloadToken }).finally(() => {
        ahead -= 3_600_001;
      });
    },
  ],
  [
    'with a payment proof that the chain shows to everybody',
    '401 key_required',
    async () => {
      const payer = await wallet();
      const proof = await signProof(world.chain, payer, goods.terms);
      await world.buy(goods.id, { proof: proof.v2 });
      await world.finalize();
      await world.running.payments.reconcileOnce();
      return await download(goods.id, { headers: { [proof.v2.header]: proof.v2.value } });
    },
  ],
  // Payments
  [
    'with the key, where only the payer collects',
    '409 sign_to_collect',
    async () => download((await payerOnly({ merchantId: other.id })).id, { key: other.key }),
  ],
  ['with nothing, where only the payer collects', '401 key_required', async () => download((await payerOnly({})).id)],
  [
    'before the payment is final, with its key',
    '202 payment_pending',
    async () => download((await pending({ key: other.key })).id, { key: other.key }),
  ],
  [
    'before the payment is final, with its token',
    '202 payment_pending',
    async () => {
      const token = makeDeliveryToken(systemRandom, 'aisle');
      return await download((await pending({ token })).id, { deliveryToken: token });
    },
  ],
  [
    'while the seller reviews the payment',
    '422 needs_review',
    async () => download((await inReview(other.key)).listing.id, { key: other.key }),
  ],
  [
    'after a refund',
    '404 nothing_to_collect',
    async () => download((await decided('refunded')).id, { key: other.key }),
  ],
  [
    'after the seller declined',
    '404 nothing_to_collect',
    async () => download((await decided('declined')).id, { key: other.key }),
  ],
  [
    'after a payment that never came',
    '404 nothing_to_collect',
    async () => download((await unpaid()).id, { key: other.key }),
  ],
  // Listings
  [
    'of a newer version that was removed, with a download token given before',
    '404 nothing_to_collect',
    async () => {
      const id = await removedVersion();
      return await download(id, { downloadToken: versionToken });
    },
  ],
  [
    'free goods that were removed',
    '404 listing_unavailable',
    async () => {
      const listing = await file({ units: 0n });
      expect((await download(listing.id)).status).toBe(200);
      await removeListing(world.db.database, listing.id);
      return await download(listing.id);
    },
  ],
  [
    'free goods that were withdrawn',
    '404 listing_unavailable',
    async () => {
      const listing = await file({ units: 0n });
      await withdrawListing(world.db.database, listing.id);
      return await download(listing.id, { key: other.key });
    },
  ],
  [
    'withdrawn goods that others bought',
    '404 nothing_to_collect',
    async () => {
      const listing = await file();
      await bought(listing, { key: buyer.key });
      await withdrawListing(world.db.database, listing.id);
      return await download(listing.id, { key: other.key });
    },
  ],
  [
    'of a newer version that includes no earlier buyer',
    '404 nothing_to_collect',
    async () => {
      const first = await file();
      await bought(first, { key: other.key });
      const createdAt = new Date(clock.now());
      const id = await seedVersion(world.db.database, {
        ...{ supersedes: first.id, artifact: 'another version', entitles: false, createdAt },
      });
      await world.running.eventsSettled();
      return await download(id, { key: other.key });
    },
  ],
  [
    'of a thing of the city, with the key of its seller',
    '409 checkout_needed',
    async () => {
      const { id } = await seedWorldListing(world.db.database, seller.id);
      await world.running.eventsSettled();
      return await download(id, { key: seller.key });
    },
  ],
  path('of a listing that there is not', '404 listing_unavailable', () => `${at}/987654`),
  // Ranges and conditions
  by({ range: 'bytes=0-0' }, '401 key_required', 'one byte'),
  by({ range: 'bytes=-1' }, '401 key_required', 'the last byte'),
  by({ range: 'bytes=0-5,3-9' }, '401 key_required', 'overlapping ranges'),
  by({ range: 'bytes=-5--1' }, '401 key_required', 'a negative range'),
  by({ range: 'bytes=99999999-' }, '401 key_required', 'a range beyond the end, which would tell the size'),
  by({ method: 'HEAD' }, '401 undefined', 'only the head'),
  lazily('a range of the known version', '401 key_required', () => ({
    range: 'bytes=0-9',
    headers: { 'if-range': goods.etag },
  })),
  lazily('whether the version is still the same', '401 key_required', () => ({
    headers: { 'if-none-match': goods.etag },
  })),
  lazily('only if it is the known version', '401 key_required', () => ({ headers: { 'if-match': goods.etag } })),
  // Addresses
  path('by an encoded id', '401 key_required', () => `${at}/${encoded(goods.id)}`),
  path('by an id with a NUL', '404 not_found', () => `${at}/${goods.id}%00`),
  path('by an id with a slash', '404 not_found', () => `${at}/${goods.id}%2F..%2F${free.id}`),
  path('by an id with a sign', '404 not_found', () => `${at}/+${goods.id}`),
  path('by an id in other digits', '404 not_found', () => `${at}/${goods.id}.0`),
  path('by a path with a slash at its end', '404 not_found', () => `${at}/${goods.id}/`),
  path('by a path with two slashes', '404 not_found', () => `${at}//${goods.id}`),
  path('by a path in capitals', '404 not_found', () => `/API/download/${goods.id}`),
  path('by a path with a parameter', '404 not_found', () => `${at}/${goods.id};x=1`),
  path('by the id of the upload', '404 not_found', () => `${at}/${goods.uploadId}`),
  path(
    'by the id of the upload, at the address of uploads',
    '404 not_found',
    () => `/api/upload/${goods.uploadId}/bytes`,
  ),
  path('by the id of the stored object', '404 listing_unavailable', () => `${at}/${1_000_000n + goods.objectId}`),
  path('with the key in the query', '400 secret_in_payload', () => `${at}/${goods.id}?key=${buyer.key}`),
  path(
    'with the token in the query',
    '400 secret_in_payload',
    () => `${at}/${goods.id}?download_token=${downloadToken}`,
  ),
  path('with a word in the query', '400 unexpected_fields', () => `${at}/${goods.id}?token=${'x'.repeat(43)}`),
  // Other methods
  ...['POST', 'PATCH', 'PUT', 'DELETE'].map((method) =>
    lazily(`by ${method}`, '405 method_not_allowed', () => ({ method, key: other.key })),
  ),
  // The other door
  octets('bytes of POST /api/buy with nothing', '402 payment_required', () => ({}), {}),
  octets('bytes of POST /api/buy with another key', '402 payment_required', () => ({ key: other.key }), {
    collect: true,
  }),
  octets(
    'bytes of POST /api/buy with the token of other goods',
    '409 sign_to_collect',
    () => ({ headers: { 'x-download-token': tokens.download } }),
    { collect: true },
  ),
  octets(
    'bytes of POST /api/buy with a download token and without collect',
    '400 invalid_fields',
    () => ({ headers: { 'x-download-token': downloadToken } }),
    {},
  ),
];

function encoded(id: bigint): string {
  return [...String(id)].map((digit) => `%${digit.charCodeAt(0).toString(16)}`).join('');
}

/** Checks that an answer has nothing of the goods: no bytes, size or hash. */
function expectNothing({ headers, bytes }: Downloaded): void {
  for (const one of [goods, free]) {
    expect(bytes.includes(one.bytes.subarray(0, 8))).toBe(false);
    expect([...headers].flat().join('\n')).not.toContain(one.etag);
  }
  for (const name of ['etag', 'content-range', 'accept-ranges', 'content-disposition']) {
    expect([name, headers.get(name)]).toEqual([name, null]);
  }
  expect(headers.get('content-type')).not.toBe('application/octet-stream');
  expect(headers.get('cache-control')).toBe('private, no-store');
}

it('there are enough attempts, and the goods can be had by those who bought them', async () => {
  expect(ATTEMPTS.length).toBeGreaterThan(50);
  expect((await download(goods.id, { key: buyer.key })).bytes.equals(goods.bytes)).toBe(true);
  expect((await download(goods.id, { downloadToken })).bytes.equals(goods.bytes)).toBe(true);
});

it.each(ATTEMPTS)('%s: %s', async (_, expected, act) => {
  const got = await act();
  const reason = got.status === 202 ? (JSON.parse(got.bytes.toString()) as { status: string }).status : got.reason;
  expect(`${got.status} ${reason}`).toBe(expected);
  expectNothing(got);
});

it('while the history is lost: 503 for everybody', async () => {
  await world.db.database.run(
    sql`insert into history_losses (copied_id, copied_hash, found_id, host, noticed_at)
      values (1000000, ${Buffer.alloc(32, 1)}, 1, ${systemRandom.uuid()}, now())`,
  );
  const asked: Asked[] = [
    { key: buyer.key },
    { key: seller.key },
    { downloadToken },
    {},
    { method: 'HEAD', key: buyer.key },
  ];
  await vi.waitUntil(async () => (await download(goods.id, { key: buyer.key })).status !== 200, { timeout: 20_000 });
  for (const one of asked) {
    const got = await download(goods.id, one);
    expect([got.status, one.method === 'HEAD' ? 'history_lost' : got.reason]).toEqual([503, 'history_lost']);
    expectNothing(got);
  }
});
