import type { CrashPoint } from '../../../src/market/context.ts';
import type { Hex } from '../../../src/platform/hex.ts';
import { usdcAdmin } from '../../support/chain.ts';
import { signChallenge } from '../../support/direct.ts';
import type { Reference } from '../reference.ts';
import type { Run } from '../run.ts';
import type { Payment } from '../terms.ts';
import { Act, at, listingOf, recent, sign, walletOf } from './act.ts';
import { claimBody, openIntent, type Sending, transfer } from './claim.ts';

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

/** Finds a payment by its authorization or transaction, not by its intent, because an intent shows only its newest claim. */
async function paymentId(run: Run, { transfer, proof }: Payment): Promise<number> {
  const [payer, nonce] = proof?.authorization.split(' ') ?? [];
  const query = proof === null ? `tx_hash=${transfer?.hash}` : `payer=${payer}&nonce=${nonce}`;
  const { body } = await run.ask('GET', `/api/payment?${query}`, {});
  return (body['payment'] as { id: number }).id;
}

interface Listed {
  body: number;
  how: 'bare' | 'x402' | 'again' | 'transfer';
  wallet: number;
  nth: number;
  amount: Sending['amount'];
  final: boolean;
  crashAt: CrashPoint | null;
}

export class List extends Act<Listed> {
  async run(reference: Reference, run: Run): Promise<void> {
    const { how, wallet, nth, crashAt } = this.given;
    const { name, body } = run.body(this.given.body);
    const { treasury, feeUnits } = run.payees;
    const terms = { payee: treasury.address as string, units: feeUnits };
    const to = { payee: treasury.address, units: feeUnits, listing: null, ahead: 120 };
    const proof =
      how === 'x402'
        ? await sign(run, walletOf(run, wallet), to)
        : how === 'again'
          ? recent(run.proofs, nth)
          : undefined;
    const paid = how === 'transfer' ? await this.#transfer(run) : null;
    if (how === 'transfer' && paid === null) return;
    const { key, handle } = run.seller;
    const claim = paid && { intent: paid.intent.terms, hash: paid.hash, signer: walletOf(run, wallet).address };
    const answer = await run.step({
      method: 'POST',
      path: '/api/listing',
      asked: {
        key,
        body: paid === null ? body : { ...body, fee_payment: paid.payment },
        ...(proof === undefined ? {} : { proof: proof.signed.v1 }),
      },
      expect: () => reference.list({ who: handle, body: name, fee: terms, proof: proof?.terms ?? null, claim }),
      crashAt: crashAt ?? undefined,
      asker: { subject: name, who: handle, payer: null },
    });
    if (answer !== null) run.noteListed(name, answer);
    if (how === 'again') await run.stage.tend();
    if (how === 'again') await run.sync();
  }

  async #transfer(run: Run) {
    const { wallet, amount, final, nth } = this.given;
    // Use an earlier intent with the transfers sent for it, or a new one.
    const intent =
      nth % 2 === 0
        ? await openIntent(run, { who: 0, listing: 0, named: null, fee: true })
        : run.intents.findLast(({ terms }) => terms.isFee);
    if (intent == null) return null;
    const standing = run.reference.claimPaymentOf(intent.terms);
    const before = standing?.named.at(-1)?.hash;
    const hash = before ?? (await transfer(run, intent, { wallet, amount, to: 'payee', authorized: false }));
    if (final) await run.stage.finalize();
    await run.sync();
    const signature = await signChallenge(walletOf(run, wallet), intent);
    return { intent, hash, payment: claimBody(intent, hash, signature) };
  }
}
