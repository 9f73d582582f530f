import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { issueDownloadToken } from '../../src/market/goods/downloads/download-token.ts';
import { usdcAdmin } from '../support/chain.ts';
import { type Member, signProof } from '../support/market-world.ts';
import { removeListing, seedPaidPurchase } from '../support/seed.ts';
import { PRICE, signCollecting } from '../support/trade.ts';
import type { DownloadTrade, FileGoods } from './download-stage.ts';
import { seedVersion } from './version-stage.ts';

// Makes the cases in which goods may not be had, or not any more.

export async function takeDownloadToken(trade: DownloadTrade, listing: FileGoods): Promise<string> {
  const { world, bought } = trade;
  const payer = await bought(listing);
  const { v2, body } = await signCollecting(world.chain, listing, { payer: payer.address, signer: payer });
  const { body: answered } = await world.buy(listing.id, { proof: v2, body });
  return (answered['download'] as { download_token: string }).download_token;
}

/** Starts a purchase that is not final yet. */
export async function openPending(trade: DownloadTrade, by: { key?: string; token?: string }): Promise<FileGoods> {
  const { world, file, wallet } = trade;
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
export async function openReview(
  trade: DownloadTrade,
  { key }: Pick<Member, 'key'>,
): Promise<{ listing: FileGoods; payment: number; payer: string }> {
  const { world, file, wallet } = trade;
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

export async function decideReview(
  trade: DownloadTrade,
  by: Pick<Member, 'key'>,
  outcome: 'declined' | 'refunded',
): Promise<FileGoods> {
  const { world, seller } = trade;
  const { listing, payment, payer } = await openReview(trade, by);
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

export async function openUnpaid(trade: DownloadTrade, { key }: Pick<Member, 'key'>): Promise<FileGoods> {
  const { world } = trade;
  const listing = await openPending(trade, { key });
  await world.db.database.run(
    sql`update payments set status = 'unpaid', end_reason = 'expired', ended_at = now() where listing_id = ${listing.id}`,
  );
  return listing;
}

export async function sellToPayer(trade: DownloadTrade, given: { merchantId?: bigint }): Promise<FileGoods> {
  const { world, file } = trade;
  const listing = await file();
  await seedPaidPurchase(world.db.database, listing.id, { ...given, payerCollectsOnly: true });
  return listing;
}

/** A version that the buyer of `goods` gets free, until it is removed. */
export async function removeVersion(trade: DownloadTrade): Promise<{ id: bigint; token: string }> {
  const { world, file, download, bought } = trade;
  const first = await file();
  const payer = await bought(first);
  const id = await seedVersion(world.db.database, {
    supersedes: first.id,
    artifact: 'a newer version',
    createdAt: new Date(),
  });
  await world.running.eventsSettled();
  const { token } = await issueDownloadToken(world.running.market, id, payer.address);
  expect((await download(id, { downloadToken: token })).bytes.toString()).toBe('a newer version');
  await removeListing(world.db.database, id);
  return { id, token };
}

export async function rotateKey(trade: DownloadTrade): Promise<{ key: string; listing: FileGoods }> {
  const { world, file, download, bought } = trade;
  const member = await world.join('rotates-its-key');
  const listing = await file();
  await bought(listing, { key: member.key });
  expect((await download(listing.id, { key: member.key })).status).toBe(200);
  const { key } = await changeKey(trade, 'rotate', { action: 'begin' }, member.key);
  expect((await download(listing.id, { key })).status).toBe(200);
  return { key: member.key, listing };
}

/** Buys with a key that its merchant then replaces by a recovery code. */
export async function recoverKey(trade: DownloadTrade): Promise<{ key: string; listing: FileGoods }> {
  const { file, download, bought } = trade;
  const registration = {
    handle: 'recovers-its-key',
    model: 'test',
    client_class: 'coding_ephemeral',
    human_approved: true,
  };
  const staged = await changeKey(trade, 'register', { action: 'stage', ...registration });
  const listing = await file();
  await bought(listing, { key: staged.key });
  const [recovery_code] = staged.recoveryCodes;
  const { key } = await changeKey(trade, 'recovery', { action: 'begin', recovery_code });
  expect((await download(listing.id, { key })).status).toBe(200);
  return { key: staged.key, listing };
}

/** Carries out both steps of a change of keys. */
async function changeKey(
  trade: DownloadTrade,
  door: string,
  begin: object,
  by?: string,
): Promise<{ key: string; recoveryCodes: string[] }> {
  const { world } = trade;
  const { body } = await world.ask('POST', `/api/${door}`, { body: begin, ...(by === undefined ? {} : { key: by }) });
  const { session, csrf } = body;
  const key = String(body['merchant_key']);
  const { status } = await world.ask('POST', `/api/${door}`, { key, body: { action: 'confirm', session, csrf } });
  expect([door, status]).toEqual([door, 200]);
  return { key, recoveryCodes: body['recovery_codes'] as string[] };
}
