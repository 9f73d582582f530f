import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { testAccount } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { Member } from '../support/market-world.ts';
import { type SeededUpload, seedUpload } from '../support/seed-upload.ts';
import { fundedWallet, type GoodsBody, listGoods, signFee } from '../support/trade.ts';
import { artifactOf, bytesOf, uploadedBody, uploadRow } from '../support/uploaded-goods.ts';
import { feeStage, statusAndReason } from './fee-stage.ts';

const stage = feeStage();
const { merchant, payFee, finalize, countOf, creditsOf } = stage;
const DAY_MS = 86_400_000;
let made = 0;

const storing = () => ({
  ...{ database: stage.world.db.database, objectStore: null },
  ...{ clock: systemClock, random: systemRandom },
});
const bytes = () => systemRandom.bytes(700_000);
const upload = (member: Member, content = bytes()): Promise<SeededUpload> =>
  seedUpload(storing(), member.id, { bytes: content, filename: 'goods.zip' });
const row = (id: string) => uploadRow(stage.world.db.database, id);
const list = (member: Member, body: object, paid: Parameters<typeof stage.list>[2]) =>
  stage.list(member, body as GoodsBody, paid);

async function reconcile(): Promise<void> {
  await finalize();
  await stage.world.running.payments.reconcileOnce();
}

/** Makes the upload expire now. */
const expire = (id: string) =>
  stage.world.db.database.run(sql`update uploads set expires_at = now() - interval '1 hour' where id = ${id}`);

describe('a fee for an upload by x402', () => {
  it('holds the bytes, past their time, until its listing has them', async () => {
    const member = await merchant();
    const content = bytes();
    const { id, objectId } = await upload(member, content);
    const body = uploadedBody(id);
    expect((await listGoods(stage.world, member, body)).status).toBe(402);
    expect(await row(id)).toMatchObject({ payment_id: null });
    const proof = await signFee(stage.world, await fundedWallet(stage.world));
    expect((await listGoods(stage.world, member, body, { proof: proof.v2 })).status).toBe(202);
    expect(await row(id)).toMatchObject({ payment_id: expect.any(BigInt), object_id: objectId });
    await expire(id);
    expect((await listGoods(stage.world, member, body)).status).toBe(202);
    const other = await listGoods(stage.world, member, { ...body, title: 'Another title' });
    expect(statusAndReason(other)).toEqual([409, 'upload_in_use']);
    await reconcile();
    const listed = await listGoods(stage.world, member, body);
    expect(listed).toMatchObject({ status: 201, body: { fee: { amount_usdc: 1, verified_via: 'x402' } } });
    const listingId = BigInt(listed.body['listing_id'] as number);
    expect(await row(id)).toMatchObject({ payment_id: null, listing_id: listingId, object_id: null });
    expect((await bytesOf(storing(), listingId)).equals(content)).toBe(true);
    expect(await artifactOf(stage.world.db.database, listingId)).toMatchObject({ filename: 'goods.zip' });
    expect((await listGoods(stage.world, member, body, { proof: proof.v2 })).status).toBe(200);
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([1, 1]);
    expect([await countOf('pending_listings', member), await countOf('payments', member)]).toEqual([0, 1]);
  });

  it('is one fee and one listing for copies of a request that come at once', async () => {
    const member = await merchant();
    const body = uploadedBody((await upload(member)).id);
    const proofs = await Promise.all(
      Array.from({ length: 4 }, async () => signFee(stage.world, await fundedWallet(stage.world))),
    );
    const answers = await Promise.all(proofs.map(({ v2 }) => listGoods(stage.world, member, body, { proof: v2 })));
    // 503 says that another copy is still submitting the payment.
    expect(answers.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
    await reconcile();
    await expect.poll(async () => (await listGoods(stage.world, member, body)).status).toBe(201);
    const counts = [
      await countOf('payments', member),
      await countOf('fees', member),
      await countOf('listings', member),
    ];
    expect(counts).toEqual([1, 1, 1]);
  });

  it('keeps the near guard for small goods, whose bytes it does not read again', async () => {
    const member = await merchant();
    const text = Buffer.from(Array.from({ length: 120 }, (_, at) => `near${at}`).join(' '));
    const body = uploadedBody((await upload(member, text)).id);
    const proof = await signFee(stage.world, await fundedWallet(stage.world));
    await listGoods(stage.world, member, body, { proof: proof.v2 });
    await reconcile();
    expect((await listGoods(stage.world, member, body)).status).toBe(201);
    const near = uploadedBody((await upload(member, Buffer.from(text.toString().toUpperCase()))).id);
    expect(statusAndReason(await listGoods(stage.world, member, near))).toEqual([409, 'duplicate_listing']);
  });
});

describe('a fee for an upload by transfer', () => {
  it('lists it once it is final, and says the same again', async () => {
    const member = await merchant();
    const body = uploadedBody((await upload(member)).id);
    const paid = await payFee(member);
    expect((await list(member, body, paid)).status).toBe(202);
    expect(await row(body.artifact_upload)).toMatchObject({ payment_id: expect.any(BigInt) });
    await finalize();
    expect(await list(member, body, paid)).toMatchObject({ status: 201, body: { fee: { tx_hash: paid.txHash } } });
    expect((await list(member, body, paid)).status).toBe(200);
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([1, 1]);
  });

  it('is not taken up after the upload has expired, and pays for the goods uploaded again', async () => {
    const member = await merchant();
    const content = bytes();
    const body = uploadedBody((await upload(member, content)).id);
    const paid = await payFee(member);
    await expire(body.artifact_upload);
    const late = await list(member, body, paid);
    expect(statusAndReason(late)).toEqual([410, 'upload_ended']);
    expect(late.body).toMatchObject({
      do_not_pay_again: true,
      next_step: expect.stringMatching(/^Upload the goods again.*not due again/),
    });
    expect(await countOf('payments', member)).toBe(0);
    const again = { ...body, artifact_upload: (await upload(member, content)).id };
    await finalize();
    expect((await list(member, again, paid)).status).toBe(201);
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([1, 1]);
  });

  it('is not taken up for an unfinished upload', async () => {
    const member = await merchant();
    const open = await seedUpload(storing(), member.id, { bytes: bytes(), received: 100 });
    const early = await list(member, uploadedBody(open.id), await payFee(member));
    expect(statusAndReason(early)).toEqual([409, 'upload_unfinished']);
    expect(early.body['do_not_pay_again']).toBe(true);
    expect(await countOf('payments', member)).toBe(0);
  });

  it('that goes to review gives the bytes back', async () => {
    const member = await merchant();
    const { id } = await upload(member);
    const body = uploadedBody(id);
    const paid = await payFee(member, { units: 999_999n });
    expect((await list(member, body, paid)).status).toBe(202);
    await expire(id);
    await finalize();
    expect((await list(member, body, paid)).status).toBe(422);
    const { payment_id, expires_at } = await row(id);
    expect(payment_id).toBeNull();
    expect(expires_at.getTime()).toBeGreaterThan(Date.now() + DAY_MS - 60_000);
  });
});

describe('a fee that cannot be spent on its upload', () => {
  it('is a credit, and the upload is free for another 24 hours, in which the same body spends it', async () => {
    made += 1;
    const member = await merchant();
    const wallet: Hex = testAccount(`taken by a thing, with an upload ${made}`).address;
    const { id } = await upload(member);
    const body = uploadedBody(id, { seller_wallet: wallet });
    const paid = await payFee(member);
    expect((await list(member, body, paid)).status).toBe(202);
    const { database } = stage.world.db;
    await database.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(wallet)}, 'world')`);
    await expire(id);
    await reconcile();
    expect(await creditsOf(member)).toBe(1);
    const { payment_id, listing_id, expires_at } = await row(id);
    expect([payment_id, listing_id]).toEqual([null, null]);
    expect(expires_at.getTime()).toBeGreaterThan(Date.now() + DAY_MS - 60_000);
    expect(statusAndReason(await list(member, body, paid))).toEqual([409, 'wallet_in_use']);
    await database.run(sql`delete from wallet_uses where wallet = ${toBytes(wallet)}`);
    expect((await list(member, body, paid)).status).toBe(201);
    expect(await creditsOf(member)).toBe(0);
  });

  it('is a credit if the bytes were lost, and says to upload them again', async () => {
    const member = await merchant();
    const content = bytes();
    const { id } = await upload(member, content);
    const body = uploadedBody(id);
    const paid = await payFee(member);
    expect((await list(member, body, paid)).status).toBe(202);
    // As an operator's erasure would.
    await stage.world.db.database.run(
      sql`update uploads set payment_id = null, object_id = null, ended_at = now() where id = ${id}`,
    );
    await reconcile();
    expect(await creditsOf(member)).toBe(1);
    const refused = await listGoods(stage.world, member, body);
    expect(refused).toMatchObject({ status: 410, body: { reason: 'upload_ended', do_not_pay_again: true } });
    const again = { ...body, artifact_upload: (await upload(member, content)).id };
    expect((await listGoods(stage.world, member, again)).status).toBe(201);
    expect(await creditsOf(member)).toBe(0);
  });
});

it('a fee that an older version ended, which does not know of uploads, holds the bytes no longer', async () => {
  const member = await merchant();
  const { id } = await upload(member);
  const body = uploadedBody(id);
  const paid = await payFee(member);
  expect((await list(member, body, paid)).status).toBe(202);
  const { database } = stage.world.db;
  const held = await row(id);
  // An older version does not understand the body, makes the fee a credit, and leaves the upload as it is.
  await database.run(sql`update pending_listings set body = '{}' where payment_id = ${held.payment_id}`);
  await reconcile();
  await database.run(sql`update uploads set payment_id = ${held.payment_id} where id = ${id}`);
  expect(await creditsOf(member)).toBe(1);
  expect((await list(member, body, paid)).status).toBe(201);
  expect(await creditsOf(member)).toBe(0);
});
