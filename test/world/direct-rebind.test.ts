import { describe, expect, it } from 'vitest';
import type { Hex } from '../../src/platform/hex.ts';
import { createWorldTime, signChallenge, transfer } from '../support/direct.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { directCases, someHash } from './direct-cases.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 16 } });
const { world } = trade;
const { begin, claimWith, statusOf, hashesOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(18);

/** Claims an unknown transaction with the wrong wallet's signature, which keeps the claim open. Then the right wallet transfers. */
async function wronglySigned(units: bigint) {
  const given = await begin();
  const right = await trade.wallet(8n * PRICE, GAS_WEI);
  const open = someHash();
  expect((await claimWith(given, open)).status).toBe(202);
  const sent = await transfer(world, right, given.intent.seller_wallet, units);
  await finalize();
  return { given, right, sent, open, byRight: await signChallenge(right, given.intent) };
}

const refused = (reason: string) => ({ status: 422, body: { reason, do_not_pay_again: true } });

describe('a claim that another wallet takes over', () => {
  it('is paid by what was refused as the other wallet’s, without that being named again', async () => {
    const { given, sent, open, byRight } = await wronglySigned(PRICE);
    expect(await claimWith(given, sent)).toMatchObject(refused('wrong_payer'));
    expect(await claimWith(given, open, byRight)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await statusOf(given)).toMatchObject({ payment_status: 'completed', tx_hash: sent });
  });

  it('comes to a review by what was too little to be seen as the other wallet’s', async () => {
    const { given, sent, open, byRight } = await wronglySigned(PRICE - 1n);
    expect(await claimWith(given, sent)).toMatchObject(refused('transfer_not_found'));
    expect((await claimWith(given, open, byRight)).status).toBe(202);
    expect(await hashesOf(given)).toEqual([open, sent]);
    await time.moveTo(world, Date.parse(given.intent.expires_at) / 1000);
    await finalize();
    await world.running.payments.reconcileOnce();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'needs_review', outcome: 'amount_too_little' });
  });

  it('takes nothing of a wallet that did not sign, however often it changes hands', async () => {
    const { given, sent, open } = await wronglySigned(PRICE);
    expect(await claimWith(given, sent)).toMatchObject(refused('wrong_payer'));
    for (let turn = 0; turn < 3; turn += 1) {
      const other = await trade.wallet(PRICE, GAS_WEI);
      const byOther = await signChallenge(other, given.intent);
      expect((await claimWith(given, open, byOther)).status).toBe(202);
      expect(await hashesOf(given)).toEqual([open]);
    }
  });

  it('keeps the place of the transaction that is named with it, whatever was refused before', async () => {
    const given = await begin();
    const open = [someHash(), someHash()];
    for (const hash of open) expect((await claimWith(given, hash)).status).toBe(202);
    const right = await trade.wallet(8n * PRICE, GAS_WEI);
    const sent: Hex[] = [];
    for (let n = 0; n < 4; n += 1) sent.push(await transfer(world, right, given.intent.seller_wallet, 1n + BigInt(n)));
    await finalize();
    for (const hash of sent) expect(await claimWith(given, hash)).toMatchObject(refused('transfer_not_found'));
    // Two of the five slots stay taken, which leaves room for the newest two and the one claimed now.
    const fitting = await transfer(world, right, given.intent.seller_wallet, PRICE);
    expect((await claimWith(given, fitting, await signChallenge(right, given.intent))).status).toBe(202);
    expect(await hashesOf(given)).toEqual([...open, ...sent.slice(2), fitting]);
    await finalize();
    expect(await claimWith(given, fitting)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });
});
