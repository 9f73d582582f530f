import type { Hex } from '../../../src/platform/hex.ts';
import { settleData, signAuthorization } from '../../support/chain.ts';
import { sendBatch } from '../../world/batch-transaction.ts';
import type { Reference } from '../reference.ts';
import type { Run, SentProof } from '../run.ts';
import { Act, walletOf } from './act.ts';
import { Buy } from './buy.ts';
import { Finalize, Pass } from './trouble.ts';

export interface Batched {
  parts: readonly {
    wallet: number;
    listing: number;
    /** As it was signed for the market; or the same nonce, spent by its owner on nothing. */
    spend: 'as signed' | 'on nothing';
  }[];
  /** The first signer pays the seller once more in the same transaction, with a nonce that the market never saw. */
  paysSurplus: boolean;
  final: boolean;
}

/** Purchases that are not settled when their market dies, and one transaction of a stranger that uses all their nonces. */
export class SpendTogether extends Act<Batched> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const { parts, paysSurplus, final } = this.given;
    const before = run.proofs.length;
    const same = { version: 'v2' as const, nth: 0, ahead: 600, twice: false, crashAt: 'before_verify' as const };
    for (const [who, { wallet, listing }] of parts.entries()) {
      await new Buy({ ...same, who, wallet, listing, how: 'sign' }).run(run.reference, run);
    }
    const proofs = run.proofs.slice(before);
    const calls = await Promise.all(
      proofs.map(({ signed }, nth) =>
        parts[nth]?.spend === 'on nothing'
          ? this.#spendOnNothing(run, nth, signed)
          : settleData(signed.authorization, signed.signature),
      ),
    );
    const first = proofs[0]?.signed.authorization;
    if (paysSurplus && first !== undefined) {
      const other = { ...first, nonce: `0x${first.nonce.slice(2).split('').reverse().join('')}` as Hex };
      calls.push(
        settleData(other, await signAuthorization(run.stage.chain, walletOf(run, parts[0]?.wallet ?? 0), other)),
      );
    }
    // A call that the token refuses, as its nonce was used before, undoes nothing of the others.
    const hash = await sendBatch(run.stage, run.stage.seller, calls);
    run.sent.push(hash);
    run.reference.byStrangers.add(hash);
    await run.sync();
    if (!final) return;
    await new Finalize({}).run(run.reference, run);
    await new Pass({}).run(run.reference, run);
  }

  async #spendOnNothing(run: Run, nth: number, { authorization }: SentProof['signed']): Promise<Hex> {
    const payer = walletOf(run, this.given.parts[nth]?.wallet ?? 0);
    const nothing = { ...authorization, to: payer.address, value: 0n };
    return settleData(nothing, await signAuthorization(run.stage.chain, payer, nothing));
  }
}
