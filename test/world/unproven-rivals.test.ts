import { hashMessage } from 'viem';
import { describe, expect, it } from 'vitest';
import type { ShownIntent } from '../support/direct.ts';
import type { Answer, Member } from '../support/market-world.ts';
import { createSimpleAccount } from '../support/wallets/accounts-with-code.ts';
import { createSafe } from '../support/wallets/safe.ts';
import { type Subject, unprovenStage } from './unproven-stage.ts';

const stage = unprovenStage();
const { world } = stage.trade;
let made = 0;

const join = (): Promise<Member> => {
  made += 1;
  return world.join(`merchant-${made}`);
};

/** An owner and a rival open intents for the same wallet. The owner's transfer is a day old. */
async function contest(
  subject: Subject,
  wallet: { address: `0x${string}`; transfer(to: string, units: bigint): Promise<string> },
  exact: boolean,
) {
  await world.finalize();
  const [owner, rival] = [await join(), await join()];
  const intent = await subject.open(owner, wallet.address);
  const foreign = await subject.open(rival, wallet.address);
  const units = exact ? BigInt(String(intent['exact_amount_units'])) : subject.units;
  const txHash = await wallet.transfer(intent.seller_wallet, units);
  await stage.waitADay();
  const steal = async (): Promise<Answer> =>
    subject.claim(rival, { intent: foreign, txHash, signature: await stage.sign(foreign) });
  return { owner, rival, intent, foreign, txHash, steal };
}

const openReviews = async ({ decider }: Subject, txHash: string) =>
  (await stage.reviewsOf(decider)).filter((review) => review['tx_hash'] === txHash);

const statusOf = async (intent: ShownIntent): Promise<Record<string, unknown>> =>
  (await world.ask('GET', `/api/payment?intent_id=${intent.id}`)).body['payment'] as Record<string, unknown>;

const attempts = (['goods', 'fee'] as const).flatMap((kind) =>
  (['first', 'after', 'at once'] as const).flatMap((when) => [true, false].map((exact) => ({ kind, when, exact }))),
);

describe('a transfer of a wallet that can sign is neither taken nor blocked by who cannot sign for it', () => {
  it.each(attempts)('$kind, the rival $when, exact amount: $exact', async ({ kind, when, exact }) => {
    const subject = kind === 'goods' ? await stage.goods() : await stage.fee();
    const safe = await createSafe(world.chain, { owners: 3, threshold: 2, usdcUnits: 20_000_000n });
    await safe.deploy();
    const { owner, intent, foreign, txHash, steal } = await contest(subject, safe, exact);
    const signature = await safe.sign(hashMessage(intent.challenge));
    const own = () => subject.claim(owner, { intent, txHash, signature });
    const stolen: Answer[] = [];
    if (when === 'first') {
      stolen.push(await steal());
      expect(stolen[0]?.body).toMatchObject({ reason: 'payer_unproven', payment_status: 'needs_review' });
      expect(await openReviews(subject, txHash)).toHaveLength(1);
    }
    const [answer, meanwhile] = await Promise.all([own(), when === 'at once' ? steal() : null]);
    if (meanwhile !== null) stolen.push(meanwhile);
    stolen.push(await steal());
    expect([answer.status, subject.isTaken(answer)]).toEqual([kind === 'goods' ? 200 : 201, true]);
    for (const one of stolen) {
      expect([409, 422]).toContain(one.status);
      expect([subject.isTaken(one), one.body['do_not_pay_again']]).toEqual([false, true]);
    }
    // The wallet's signature closes every review of the rival.
    expect(await openReviews(subject, txHash)).toEqual([]);
    const { payment_status } = await statusOf(foreign);
    expect(['rejected', 'unsubmitted']).toContain(payment_status);
  });
});

it('a decision for the rival and the signature of the wallet that come at once: one of them counts, and the transfer pays once', async () => {
  for (let round = 0; round < 6; round += 1) {
    const subject = round % 2 === 0 ? await stage.goods() : await stage.fee();
    const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 20_000_000n });
    await safe.deploy();
    const { owner, intent, foreign, txHash, steal } = await contest(subject, safe, false);
    const { payment } = (await steal()).body as { payment: { id: number } };
    const signature = await safe.sign(hashMessage(intent.challenge));
    const [decided, claimed] = await Promise.all([
      stage.review(subject.decider, payment.id, { outcome: 'deliver' }),
      subject.claim(owner, { intent, txHash, signature }),
    ]);
    const wasDelivered = decided.status === 200;
    expect([round, subject.isTaken(claimed)]).toEqual([round, !wasDelivered]);
    const loser = wasDelivered ? claimed : decided;
    expect([round, loser.status, ['transaction_used', 'already_decided']]).toEqual([
      round,
      409,
      expect.arrayContaining([loser.body['reason']]),
    ]);
    expect(await openReviews(subject, txHash)).toEqual([]);
    expect((await statusOf(foreign))['payment_status']).toBe(wasDelivered ? 'completed' : 'rejected');
  }
});

it('a decision for the rival after the wallet has signed is told that it comes too late', async () => {
  for (const subject of [await stage.goods(), await stage.fee()]) {
    const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 20_000_000n });
    await safe.deploy();
    const { owner, intent, foreign, txHash, steal } = await contest(subject, safe, false);
    const { payment } = (await steal()).body as { payment: { id: number } };
    const signature = await safe.sign(hashMessage(intent.challenge));
    expect(subject.isTaken(await subject.claim(owner, { intent, txHash, signature }))).toBe(true);
    expect(await stage.review(subject.decider, payment.id, { outcome: 'deliver' })).toMatchObject({
      status: 409,
      body: { reason: 'already_decided' },
    });
    expect((await statusOf(foreign))['payment_status']).toBe('rejected');
  }
});

describe('of a wallet that can sign nothing', () => {
  it.each(attempts)(
    'the payee decides, $kind, the rival $when, exact amount: $exact',
    async ({ kind, when, exact }) => {
      const subject = kind === 'goods' ? await stage.goods() : await stage.fee();
      const account = await createSimpleAccount(world.chain, 20_000_000n);
      const { owner, rival, intent, foreign, txHash, steal } = await contest(subject, account, exact);
      const own = async () => subject.claim(owner, { intent, txHash, signature: await stage.sign(intent) });
      const answers =
        when === 'at once'
          ? await Promise.all([own(), steal()])
          : when === 'first'
            ? [await steal(), await own()]
            : [await own(), await steal()];
      for (const one of answers)
        expect(one).toMatchObject({ status: 422, body: { reason: 'payer_unproven', payment_status: 'needs_review' } });
      const reviews = await openReviews(subject, txHash);
      const unproven = reviews.map((review) => review['unproven'] as Record<string, unknown>);
      expect(new Set(unproven.map(({ merchant }) => merchant))).toEqual(new Set([owner.handle, rival.handle]));
      const ids = reviews.map((review) => review['payment_id']);
      reviews.forEach((review, at) => {
        const said = unproven[at];
        expect(said?.['warning']).toContain('has not shown that the wallet is its own');
        expect(said?.['same_transaction']).toEqual(ids.filter((id) => id !== review['payment_id']));
        expect(said?.['exact_amount']).toBe(exact && said?.['merchant'] === owner.handle);
      });
      const mine = (await statusOf(intent))['id'];
      expect(await stage.review(subject.decider, mine, { outcome: 'deliver' })).toMatchObject({
        status: 200,
        body: { payment: { payment_status: 'completed', tx_hash: txHash } },
      });
      expect(await openReviews(subject, txHash)).toEqual([]);
      expect(await statusOf(foreign)).toMatchObject({ payment_status: 'rejected', outcome: 'superseded' });
      const late = await steal();
      expect([late.status, late.body['reason'], subject.isTaken(late)]).toEqual([409, 'transaction_used', false]);
      // Goods are delivered to the key. A fee becomes a credit, which this listing spends.
      const taken = await own();
      expect([taken.status, subject.isTaken(taken)]).toEqual([kind === 'goods' ? 200 : 201, true]);
      expect(await stage.review(subject.decider, mine, { outcome: 'declined' })).toMatchObject({
        status: 409,
        body: { reason: 'already_decided' },
      });
    },
  );
});
