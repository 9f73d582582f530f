import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { canonicalJson } from '../../src/platform/canonical-json.ts';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import { type CopiedEvent, hashAfter } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { usdcAdmin } from '../support/chain.ts';
import { latestSecond, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory, until } from '../support/history-world.ts';
import {
  type Answer,
  type AskOptions,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  type World,
} from '../support/market-world.ts';
import { callTool } from '../support/mcp-ask.ts';
import type { PostgresServer } from '../support/standby-postgres.ts';
import { fundedWallet, GAS_WEI, listGoods, listPaid, newGoods, signCollecting, signFee } from '../support/trade.ts';

const FUNDS = 100_000_000n;
const PRICE = 2_500_000n;

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let maintainer: Member;
let seller: Member;
let buyer: Member;
let other: Member;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  maintainer = await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
  other = await world.join('buyer-two');
});
afterEach(() => history.stop());

async function list(): Promise<bigint> {
  const { body } = await listPaid(world, seller, newGoods(), WORLD_ACCOUNTS.sellerOne);
  return BigInt((body['listing'] as { id: number }).id);
}

const signFor = (payer: TestAccount, listing: bigint): Promise<SignedProof> =>
  signProof(world.chain, payer, {
    payTo: WORLD_ACCOUNTS.sellerOne.address,
    units: PRICE,
    resource: `${BASE_URL}/api/buy/${listing}`,
  });

const balanceOf = ({ address }: TestAccount): Promise<bigint> => {
  const { rpc, config } = world.running.market;
  return readBalance(rpc, config.network.usdc, address);
};

async function loseAndRecover(backup: PostgresServer, ...also: Record<string, string | number>[]): Promise<void> {
  await loseTo(backup, { history, world, place });
  await recoverHistory(world, place, (copied) => {
    for (const detail of also) copied.push(nextEvent(copied.at(-1) as CopiedEvent, detail));
    return copied;
  });
}

/** Builds the next event of the log, which records a seller's decision in a review. */
function nextEvent(before: CopiedEvent, detail: Record<string, string | number>): CopiedEvent {
  const told = { actor: seller.handle, at: new Date().toISOString(), detail, kind: 'review' };
  const next = { id: before.id + 1n, canonical: Buffer.from(canonicalJson(told)) };
  return { ...next, hash: hashAfter(before, next) };
}

interface Bought {
  listing: bigint;
  payer: TestAccount;
  proof: SignedProof;
  slip: string;
  token: string;
  artifact: unknown;
}

/** Buys until the goods are delivered, or only until the transfer is pending. */
async function buy(listing: bigint, key: string | null, upTo: 'delivered' | 'pending' = 'delivered'): Promise<Bought> {
  const payer = await fundedWallet(world, FUNDS);
  const proof = await signFor(payer, listing);
  const asked: AskOptions = { proof: proof.v2, ...(key === null ? {} : { key }) };
  const first = await world.buy(listing, asked);
  expect([first.status, first.body['reason']]).toEqual([202, undefined]);
  expect(first.body['recovery_slip']).toMatch(/^rs1_/);
  const token = (first.body['delivery_token'] as string | undefined) ?? '';
  if (upTo === 'pending')
    return { listing, payer, proof, token, slip: String(first.body['recovery_slip']), artifact: null };
  await world.finalize();
  const last = await world.buy(listing, key === null ? { headers: { 'x-delivery-token': token } } : asked);
  expect([last.status, last.body['reason']]).toEqual([200, undefined]);
  return { listing, payer, proof, token, slip: String(last.body['recovery_slip']), artifact: last.body['artifact'] };
}

const withSlip = (slip: string, asked: AskOptions = {}): AskOptions => ({
  ...asked,
  headers: { ...asked.headers, 'x-recovery-slip': slip },
});
const codesOf = ({ status, body }: Answer): unknown[] => [status, body['reason'], body['do_not_pay_again']];

test('a buyer who paid in what was lost gets the goods by the slip, by what collected before, and pays once', async () => {
  const goods = [await list(), await list(), await list(), await list()] as [bigint, bigint, bigint, bigint];
  const backup = await history.primary.copyWhileRunning();
  const byKey = await buy(goods[0], buyer.key);
  const byToken = await buy(goods[1], null);
  const pending = await buy(goods[2], buyer.key, 'pending');
  const bySignature = await buy(goods[3], null);
  await world.finalize();
  await loseAndRecover(backup);

  // Without the slip, the market answers that the old proof has already paid.
  const bare = await world.buy(byKey.listing, { key: buyer.key, proof: byKey.proof.v2 });
  expect(codesOf(bare)).toEqual([409, 'authorization_used_elsewhere', true]);

  // With the slip, each buyer gets the goods by the same right as before.
  const key = await world.buy(byKey.listing, withSlip(byKey.slip, { key: buyer.key, proof: byKey.proof.v2 }));
  expect([key.status, key.body['artifact'], key.body['collected_by']]).toEqual([200, byKey.artifact, 'key']);
  const token = await world.buy(
    byToken.listing,
    withSlip(byToken.slip, { headers: { 'x-delivery-token': byToken.token } }),
  );
  expect([token.status, token.body['artifact'], token.body['collected_by']]).toEqual([200, byToken.artifact, 'token']);
  const late = await world.buy(pending.listing, withSlip(pending.slip, { key: buyer.key }));
  expect([late.status, late.body['collected_by']]).toEqual([200, 'key']);
  // The proof alone is public by now and delivers nothing.
  const public_ = await world.buy(bySignature.listing, withSlip(bySignature.slip, { proof: bySignature.proof.v2 }));
  expect(public_.status).not.toBe(200);
  expect(public_.body['do_not_pay_again']).toBe(true);
  const fresh = await signFor(bySignature.payer, bySignature.listing);
  const signed = await world.buy(bySignature.listing, { proof: fresh.v2, body: { collect: true } });
  expect([signed.status, signed.body['artifact'], signed.body['collected_by']]).toEqual([
    200,
    bySignature.artifact,
    'signature',
  ]);

  // The slip does not work for another merchant.
  const stranger = await world.buy(byKey.listing, withSlip(byKey.slip, { key: other.key }));
  expect(stranger.status).toBe(402);
  // A repeated request returns the same purchase, and the log records each sale once.
  expect((await world.buy(byKey.listing, withSlip(byKey.slip, { key: buyer.key }))).status).toBe(200);
  for (const { payer } of [byKey, byToken, pending, bySignature]) expect(await balanceOf(payer)).toBe(FUNDS - PRICE);
  await world.running.eventsSettled();
  const { events } = (await world.ask('GET', '/api/events?kind=sale')).body as {
    events: { detail: { listing_id: number } }[];
  };
  expect(events.map(({ detail }) => detail.listing_id).sort()).toEqual(goods.map(Number).sort());
});

test('what a slip says is believed only where this market lost it, and a changed one never', async () => {
  const [sold, lapsed] = [await list(), await list()];
  const made = await buy(sold, buyer.key);
  const backup = await history.primary.copyWhileRunning();
  const lost = await buy(lapsed, buyer.key);
  const changed = `${lost.slip.slice(0, -2)}AA`;
  // Before any recovery, a slip changes nothing.
  expect((await world.buy(sold, withSlip(made.slip, { key: buyer.key }))).status).toBe(200);
  await loseAndRecover(backup);
  const refused = await world.buy(lapsed, withSlip(changed, { key: buyer.key }));
  expect(codesOf(refused).slice(0, 2)).toEqual([400, 'invalid_fields']);
  // A slip sent for other goods delivers only the goods it was made for.
  const elsewhere = await world.buy(sold, withSlip(lost.slip, { key: other.key }));
  expect(elsewhere.status).toBe(402);
  expect((await world.buy(lapsed, { key: buyer.key })).status).toBe(200);
});

test('what was refunded in what was lost buys nothing by its slip', async () => {
  const listing = await list();
  const backup = await history.primary.copyWhileRunning();
  const made = await buy(listing, buyer.key);
  const { id } = await history.db.database.one<{ id: number }>(
    sql`select payment_id::int4 as id from purchases where listing_id = ${listing}`,
  );
  await loseAndRecover(backup, { payment_id: id, listing_id: Number(listing), outcome: 'refunded' });
  const asked = withSlip(made.slip, { key: buyer.key, proof: made.proof.v2 });
  expect(codesOf(await world.buy(listing, asked))).toEqual([409, 'authorization_used_elsewhere', true]);
});

test('what was paid at another market, or after a removal, is reviewed at most', async () => {
  const [sold, removed] = [await list(), await list()];
  const backup = await history.primary.copyWhileRunning();
  const payer = await fundedWallet(world, FUNDS);
  const elsewhere = await signFor(payer, sold);
  const sender = await fundedWallet(world, FUNDS);
  await fund(world.chain, [{ address: sender.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const { authorization, signature } = elsewhere;
  const { transactionHash } = await usdcAdmin(world.chain).settleAuthorization(sender, authorization, signature);
  const intent = await openIntent(world, buyer, removed);
  const reason = { reason_code: 'spam', reason: 'It is spam' };
  const gone = await world.ask('POST', '/api/mod/remove', {
    key: maintainer.key,
    body: { listing_id: Number(removed), ...reason },
  });
  expect([gone.status, gone.body['reason']]).toEqual([200, undefined]);
  const { at } = await history.db.database.one<{ at: Date }>(
    sql`select removed_at as at from listings where id = ${removed}`,
  );
  await until(async () => {
    await world.chain.mine();
    return (await latestSecond(world)) * 1000 > at.getTime();
  });
  const txHash = await transfer(world, sender, intent.seller_wallet, PRICE);
  const claim = { intent_id: intent.id, tx_hash: txHash, payer_signature: await signChallenge(sender, intent) };
  await world.finalize();
  await loseAndRecover(backup);

  // The authorization has paid this price to this payee. The chain shows no more than that.
  const brought = await world.buy(sold, { key: other.key, proof: elsewhere.v2 });
  expect(codesOf(brought)).toEqual([409, 'authorization_used_elsewhere', true]);
  expect(brought.body['tx_hash']).toBe(transactionHash);
  const goods = {
    id: sold,
    terms: { payTo: WORLD_ACCOUNTS.sellerOne.address, resource: `${BASE_URL}/api/buy/${sold}` },
  };
  const signed = await signCollecting(world.chain, goods, { payer: payer.address, signer: payer });
  const body = { ...signed.body, tx_hash: transactionHash };
  const asked = await world.buy(sold, { key: buyer.key, proof: signed.v2, body });
  expect(codesOf(asked)).toEqual([422, 'needs_review', true]);

  const late = withSlip(String(intent['recovery_slip']), { key: buyer.key, body: claim });
  expect(codesOf(await world.ask('POST', `/api/claim/${removed}`, late))).toEqual([422, 'paid_after_removal', true]);
});

test('a fee comes back as a credit, and pays for the listing; an intent is claimed by its slip', async () => {
  const listing = await list();
  const backup = await history.primary.copyWhileRunning();
  const goods = newGoods();
  const payer = await fundedWallet(world, FUNDS);
  const fee = await signFee(world, payer);
  await listGoods(world, other, goods, { proof: fee.v2 });
  await world.finalize();
  const listed = await listGoods(world, other, goods);
  expect(listed.body['recovery_slip']).toMatch(/^rs1_/);
  const intent = await openIntent(world, buyer, listing);
  const sender = await fundedWallet(world, FUNDS);
  await fund(world.chain, [{ address: sender.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const txHash = await transfer(world, sender, intent.seller_wallet, PRICE);
  const signature = await signChallenge(sender, intent);
  await world.finalize();
  await loseAndRecover(backup);

  const slip = String(listed.body['recovery_slip']);
  const again = await world.ask('POST', '/api/listing', withSlip(slip, { key: other.key, body: goods }));
  const answer =
    again.status === 201 ? again : await world.ask('POST', '/api/listing', { key: other.key, body: goods });
  expect([answer.status, answer.body['reason']]).toEqual([201, undefined]);
  expect(await balanceOf(payer)).toBe(FUNDS - 1_000_000n);
  const treasury = (await world.ask('GET', '/treasury')).body as {
    fees_count: number;
    recent_fees: { tx_hash: string }[];
  };
  expect(treasury.fees_count).toBe(treasury.recent_fees.length);

  const body = { intent_id: intent.id, tx_hash: txHash, payer_signature: signature };
  const bare = await world.ask('POST', `/api/claim/${listing}`, { key: buyer.key, body });
  expect(bare.status).toBeGreaterThanOrEqual(400);
  const claimed = await callTool(
    world,
    'claim_purchase',
    { id: Number(listing), ...body },
    { headers: { authorization: `Bearer ${buyer.key}` }, meta: { 'openaisle/recovery-slip': intent['recovery_slip'] } },
  );
  expect([claimed.isError, claimed.body['reason']]).toEqual([false, undefined]);
  expect(await balanceOf(sender)).toBe(FUNDS - PRICE);
});
