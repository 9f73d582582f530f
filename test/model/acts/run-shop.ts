import type { Hex } from '../../../src/platform/hex.ts';
import { usdcAdmin } from '../../support/chain.ts';
import type { Reference } from '../reference.ts';
import type { Run } from '../run.ts';
import type { Payment } from '../terms.ts';
import { Act, at, listingOf } from './act.ts';

export class ChangeListing extends Act<{ listing: number; what: 'edit' | 'withdraw' | 'remove' }> {
  async run(reference: Reference, run: Run): Promise<void> {
    const listing = listingOf(run, this.given.listing);
    const { id } = run.goodsOf(listing);
    const steps = {
      edit: {
        method: 'PATCH',
        path: `/api/listing/${id}`,
        asked: { key: run.seller.key, body: { description: `Said again, ${run.stage.now()}` } },
        expect: () => reference.edit(listing),
      },
      withdraw: {
        method: 'DELETE',
        path: `/api/listing/${id}`,
        asked: { key: run.seller.key },
        expect: () => {
          const said = reference.withdraw(listing, run.withdrawn.has(listing));
          if (said === 'done') run.withdrawn.add(listing);
          return said;
        },
      },
      remove: {
        method: 'POST',
        path: '/api/mod/remove',
        asked: { key: run.stage.keeper.key, body: { listing_id: Number(id), reason_code: 'fraud', reason: 'a test' } },
        expect: () => reference.remove(listing),
      },
    };
    await run.step(steps[this.given.what]);
  }
}

export interface Reviewing {
  nth: number;
  outcome: 'deliver' | 'declined' | 'refunded';
  byOther: boolean;
  enough: boolean;
  final: boolean;
}

export class Review extends Act<Reviewing> {
  async run(reference: Reference, run: Run): Promise<void> {
    const { nth, outcome, byOther, enough, final } = this.given;
    const payment = at(
      reference.payments.filter(({ status, reason }) => status === 'review' || (status !== 'unpaid' && reason !== '')),
      nth,
    );
    if (payment === undefined) return;
    const id = await paymentId(run, payment);
    const decider = payment.isFee ? run.stage.keeper : run.seller;
    const other = payment.isFee ? run.seller : run.stage.keeper;
    const refund = outcome === 'refunded' ? await this.#giveBack(run, payment, enough) : null;
    if (refund !== null && final) await run.stage.finalize();
    await run.sync();
    await run.step({
      method: 'POST',
      path: `/api/review/${id}`,
      asked: {
        key: (byOther ? other : decider).key,
        body: { outcome, ...(refund === null ? {} : { tx_hash: refund }) },
      },
      expect: () => (byOther ? 'payment_not_found' : reference.review(payment, outcome, refund ?? '')),
    });
  }

  async #giveBack(run: Run, payment: Payment, enough: boolean): Promise<string> {
    const from = payment.isFee ? run.payees.treasury : run.stage.seller;
    const units = (payment.transfer?.units ?? payment.units) - (enough ? 0n : 1n);
    const receipt = await usdcAdmin(run.stage.chain).transfer(from, payment.payer as Hex, units);
    run.sent.push(receipt.transactionHash);
    return receipt.transactionHash;
  }
}

/** By its authorization, or by its transaction: an intent that was claimed again is shown by its newest claim. */
async function paymentId(run: Run, { transfer, proof }: Payment): Promise<number> {
  const [payer, nonce] = proof?.authorization.split(' ') ?? [];
  const query = proof === null ? `tx_hash=${transfer?.hash}` : `payer=${payer}&nonce=${nonce}`;
  const { body } = await run.ask('GET', `/api/payment?${query}`, {});
  return (body['payment'] as { id: number }).id;
}
