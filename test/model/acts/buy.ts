import type { CrashPoint } from '../../../src/market/context.ts';
import type { Hex } from '../../../src/platform/hex.ts';
import { settleData, signAuthorization } from '../../support/chain.ts';
import type { Answer, AskOptions } from '../../support/market-world.ts';
import { sendBatch } from '../../world/batch-transaction.ts';
import type { Reference } from '../reference.ts';
import type { Run, SentProof } from '../run.ts';
import type { Listing, Payment } from '../terms.ts';
import { Act, at, buyerOf, listingOf, recent, sign, walletOf } from './act.ts';
import { claim, type Opening, openIntent, type Sending, transfer } from './claim.ts';
import { ChangeListing, Review, type Reviewing } from './run-shop.ts';
import { Finalize, Pass, Wait } from './trouble.ts';

export interface Buying {
  who: number;
  wallet: number;
  listing: number;
  version: 'v1' | 'v2';
  /** The request sends a new proof, an earlier proof, neither of them, a signature to collect, or a delivery token. */
  how: 'sign' | 'again' | 'bare' | 'collect' | 'token';
  nth: number;
  ahead: number;
  twice: boolean;
  crashAt: CrashPoint | null;
}

export class Buy extends Act<Buying> {
  async run(reference: Reference, run: Run): Promise<void> {
    const { how, version, twice, crashAt, nth } = this.given;
    const buyer = buyerOf(run, this.given.who);
    const listing = listingOf(run, this.given.listing);
    const proof = await this.#proof(run, listing);
    const [token, secret] = (how === 'token' ? at([...run.tokens], nth) : undefined) ?? [null, null];
    const collect = how === 'collect';
    const asked: AskOptions = {
      ...(buyer === null ? {} : { key: buyer.key }),
      ...(proof === null ? {} : { proof: proof.signed[version] }),
      ...(secret === null ? {} : { headers: { 'x-delivery-token': secret } }),
      ...(collect ? { body: { collect } } : {}),
    };
    const who = buyer?.handle ?? null;
    const before = reference.payments.length;
    const answer = await run.step({
      method: 'POST',
      path: `/api/buy/${run.goodsOf(listing).id}`,
      asked,
      expect: () =>
        reference.buy({ who, listing, proof: proof?.terms ?? null, isNamed: version === 'v2', token, collect }),
      crashAt: crashAt ?? undefined,
      twice: twice && crashAt === null,
      asker: { subject: listing.name, who, payer: proof?.terms.payer ?? null },
    });
    noteToken(run, answer, reference.payments[before]);
    // The facilitator may notice that one of its own transactions is gone.
    if (how === 'again') await run.stage.tend();
    if (how === 'again') await run.sync();
  }

  async #proof(run: Run, listing: Listing): Promise<SentProof | null> {
    const { how, nth, wallet, ahead } = this.given;
    if (how === 'again') return recent(run.proofs, nth) ?? null;
    if (how !== 'sign' && how !== 'collect') return null;
    const to = { payee: run.stage.seller.address, units: listing.units, listing, ahead };
    return await sign(run, walletOf(run, wallet), to);
  }
}

function noteToken(run: Run, answer: Answer | null, payment: Payment | undefined): void {
  const token = answer?.body['delivery_token'];
  if (typeof token === 'string' && payment !== undefined) run.tokens.set(payment, token);
}

export interface Paying extends Omit<Opening, 'fee'>, Omit<Sending, 'intent'> {
  /** Event between the intent and the transfer. */
  meanwhile: 'nothing' | 'window over' | 'withdraw' | 'remove' | 'bought';
  /** Signer of the claim. Null: the sender signs. */
  signer: number | null;
  /** True to transfer and claim the whole price once more, for the same intent. */
  again: boolean;
  final: boolean;
  /** The seller's decision if there is a review. Null: not decided yet. */
  review: Reviewing['outcome'] | null;
  crashAt: CrashPoint | null;
}

/** Opens an intent, transfers and claims, as a buyer does. */
export class PayDirectly extends Act<Paying> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const { given } = this;
    const intent = await openIntent(run, { ...given, fee: false });
    if (intent === null) return;
    await this.#meanwhile(run);
    const hash = await transfer(run, intent, given);
    const more = given.again ? await transfer(run, intent, { ...given, amount: 'exact' }) : null;
    if (given.final) await run.stage.finalize();
    await run.sync();
    const { signer, crashAt, review } = given;
    const claiming = { who: null, listing: null, signer, twice: false };
    await claim(run, intent, hash, { ...claiming, crashAt });
    if (more !== null) await claim(run, intent, more, { ...claiming, crashAt: null });
    if (review === null) return;
    const decision = { nth: 0, outcome: review, byOther: false, enough: true, final: true };
    await new Review(decision).run(run.reference, run);
  }

  async #meanwhile(run: Run): Promise<void> {
    const { meanwhile, listing, who, wallet } = this.given;
    if (meanwhile === 'window over') await new Wait({ seconds: 601 }).run(run.reference, run);
    if (meanwhile === 'withdraw' || meanwhile === 'remove') {
      await new ChangeListing({ listing, what: meanwhile }).run(run.reference, run);
    }
    if (meanwhile !== 'bought') return;
    const same = { who, listing, version: 'v2' as const, nth: 0, ahead: 120, twice: false, crashAt: null };
    await new Buy({ ...same, wallet: wallet + 1, how: 'sign' }).run(run.reference, run);
    await new Finalize({}).run(run.reference, run);
    await new Buy({ ...same, wallet, how: 'bare' }).run(run.reference, run);
  }
}

interface Batched {
  parts: readonly {
    wallet: number;
    listing: number;
    /** Whether the authorization's nonce is used as signed for the market, or by its owner for a transfer of zero. */
    spend: 'as signed' | 'on nothing';
  }[];
  /** True if the first signer pays the seller once more in the same transaction, with an authorization that the market never saw. */
  paysSurplus: boolean;
  final: boolean;
}

/**
 * Opens several purchases, each in a market that dies before it submits the payment. The seller then submits all their authorizations in a
 * single transaction.
 */
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
    // The token refuses a call whose authorization was used before, but the other calls of the transaction still run.
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
