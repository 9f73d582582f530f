import type { CrashPoint } from '../../../src/market/context.ts';
import type { Answer, AskOptions } from '../../support/market-world.ts';
import type { Reference } from '../reference.ts';
import type { Run, SentProof } from '../run.ts';
import type { Listing, Payment } from '../terms.ts';
import { Act, at, buyerOf, listingOf, recent, sign, walletOf } from './act.ts';

export interface Buying {
  who: number;
  wallet: number;
  listing: number;
  version: 'v1' | 'v2';
  /** A new proof, one that was sent before, or none. */
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
    // The facilitator may have found that a transaction of its own is gone.
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
