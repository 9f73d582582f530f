import { describe, expect, it } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { usdcAdmin } from '../support/chain.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import type { Script } from '../support/scripted-facilitator.ts';
import { GAS_WEI, PRICE, scriptedTrade } from '../support/trade.ts';

const { sellerOne, stranger } = WORLD_ACCOUNTS;

/** Offset of the market's and the chain's time from real time. It only grows. */
let offsetMs = 0;
const clock = { now: () => systemClock.now() + offsetMs, sleep: systemClock.sleep };
const { facilitator, forward, world, buyer, goods, wallet, statusOf } = await scriptedTrade({ clock });

async function moveTime(seconds: number): Promise<void> {
  offsetMs += seconds * 1000;
  await world.chain.rpc.call('evm_increaseTime', [seconds]);
  await world.chain.mine(1);
}

async function openAttempt(script: Script) {
  facilitator.script(script);
  const payer = await wallet(4n * PRICE, GAS_WEI);
  const listing = await goods();
  const sign = () => signProof(world.chain, payer, { ...listing.terms, secondsAhead: 60 });
  return { ...listing, payer, sign, proof: await sign() };
}

async function expectPaidAnew(made: Awaited<ReturnType<typeof openAttempt>>): Promise<void> {
  forward();
  const lapsed = await world.buy(made.id, { key: buyer.key, proof: made.proof.v1 });
  expect([lapsed.status, lapsed.body['reason'], lapsed.body['do_not_pay_again']]).toEqual([
    402,
    'authorization_lapsed',
    false,
  ]);
  expect(lapsed.headers.get('payment-required')).not.toBeNull();
  const newProof = await made.sign();
  expect((await world.buy(made.id, { key: buyer.key, proof: newProof.v2 })).status).toBe(202);
  await world.finalize();
  const delivered = await world.buy(made.id, { key: buyer.key });
  expect([delivered.status, delivered.body['artifact']]).toEqual([200, made.artifact]);
  expect(await paidUnits(world.chain, made.payer.address, sellerOne.address)).toEqual([PRICE]);
}

describe('an authorization that expires unused', () => {
  it('once submitted: only a final block at validBefore ends it, and the buyer can pay again', async () => {
    const made = await openAttempt({ verify: 'valid', settle: 'garbage' });
    expect((await world.buy(made.id, { key: buyer.key, proof: made.proof.v2 })).body['reason']).toBe(
      'settlement_pending',
    );
    await moveTime(61);
    await world.running.payments.reconcileOnce();
    expect(await statusOf(made.proof)).toMatchObject({ payment_status: 'payment_pending', do_not_pay_again: true });
    const undecided = await world.buy(made.id, { key: buyer.key, proof: (await made.sign()).v2 });
    expect([undecided.status, undecided.body['do_not_pay_again']]).toEqual([503, true]);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await statusOf(made.proof)).toMatchObject({
      payment_status: 'unpaid',
      outcome: 'expired',
      do_not_pay_again: false,
    });
    await expectPaidAnew(made);
  });

  it('never submitted: the latest block past validBefore is enough', async () => {
    const made = await openAttempt({ verify: 'garbage', settle: 'garbage' });
    expect((await world.buy(made.id, { key: buyer.key, proof: made.proof.v2 })).body['reason']).toBe(
      'verification_pending',
    );
    await moveTime(62);
    await world.running.payments.reconcileOnce();
    expect(await statusOf(made.proof)).toMatchObject({ payment_status: 'unpaid', outcome: 'expired' });
    await expectPaidAnew(made);
  });
});

describe('a payment that the token refuses', () => {
  const admin = () => usdcAdmin(world.chain);
  const causes = {
    'a drained balance': {
      cause: (payer: TestAccount) => admin().transfer(payer, stranger.address, 4n * PRICE),
      mend: (payer: TestAccount) => fund(world.chain, [{ address: payer.address, usdcUnits: 4n * PRICE }]),
      words: 'holds less',
    },
    'a pause': { cause: () => admin().pause(), mend: () => admin().unpause(), words: 'paused' },
    'a blocked payer': {
      cause: (payer: TestAccount) => admin().blacklist(payer.address),
      mend: (payer: TestAccount) => admin().unBlacklist(payer.address),
      words: 'payer is blocked',
    },
  };
  it.each(Object.entries(causes))(
    '%s, found at verify: 402 with the reason, then unpaid, then paid again',
    async (_what, { cause, mend, words }) => {
      const made = await openAttempt({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
      facilitator.before('verify', async () => {
        await cause(made.payer);
      });
      const refused = await world.buy(made.id, { key: buyer.key, proof: made.proof.v2 });
      expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
        402,
        'payment_rejected',
        true,
      ]);
      expect(refused.body['detail']).toContain(words);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
      await mend(made.payer);
      await moveTime(62);
      await world.running.payments.reconcileOnce();
      expect(await statusOf(made.proof)).toMatchObject({ payment_status: 'unpaid', outcome: 'expired' });
      await expectPaidAnew(made);
    },
  );

  it('a drained balance after verify: the refused settlement is never taken for the end', async () => {
    const made = await openAttempt({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
    facilitator.before('settle', async () => {
      await admin().transfer(made.payer, stranger.address, 4n * PRICE);
    });
    const refused = await world.buy(made.id, { key: buyer.key, proof: made.proof.v2 });
    expect([refused.status, refused.body['do_not_pay_again']]).toEqual([503, true]);
    await fund(world.chain, [{ address: made.payer.address, usdcUnits: 4n * PRICE }]);
    await moveTime(62);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await statusOf(made.proof)).toMatchObject({ payment_status: 'unpaid', outcome: 'expired' });
  });
});
