import type { CrashPoint } from '../../../src/market/context.ts';
import { signChallenge } from '../../support/direct.ts';
import type { Reference } from '../reference.ts';
import type { Run } from '../run.ts';
import { Act, recent, sign, walletOf } from './act.ts';
import { claimBody, openIntent, type Sending, transfer } from './claim.ts';

export interface Listed {
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
    // One that was opened before, with what was sent for it, or a new one.
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
