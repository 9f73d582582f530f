import { isDecided, isHolding, isSale, isUndecided, Ledger } from './ledger.ts';
import type { Begun, Buying, Claiming, Intent, Listed, Listing, Payment, Proof } from './terms.ts';

/**
 * What the market has to answer, said once more and as simply as possible, from W6 to W9 alone: `delivered`, `listed`, `pending`, `done`,
 * or the reason of a refusal; where several will do, `|` stands between them. It shares no code with the market.
 */
export class Reference extends Ledger {
  // Buying by x402 (W7)

  buy(buying: Buying): string {
    const { listing, proof, token, who } = buying;
    const known = proof === null ? token : (this.byProof(proof.authorization) ?? null);
    if (known && known.subject !== listing.name) return proof ? 'payment_bound_elsewhere' : 'payment_not_found';
    const first = known && this.#answer(known, buying, null);
    if (first) return first;
    const lapsed = known ? proof : null;
    const fault = lapsed ? null : this.#faultOf(proof, listing, buying.isNamed ? listing.name : null);
    const signedBy = lapsed || fault ? null : (proof?.payer ?? null);
    for (const held of this.#held(listing.name, { who, payer: lapsed?.payer ?? signedBy, signedBy })) {
      const answer = this.#answer(held, buying, signedBy);
      if (answer !== null) return answer;
    }
    return lapsed ? 'authorization_lapsed' : this.#begin(buying, fault);
  }

  #begin(buying: Buying, fault: string | null): string {
    const { listing, proof, who, collect } = buying;
    if (collect) return fault ?? 'nothing_to_collect';
    if (listing.state !== 'live') return 'listing_unavailable';
    if (this.isFirstDark) return 'payment_check_unavailable';
    if (proof === null || fault !== null) return fault ?? '';
    const opened = this.#open({ ...proof, subject: listing.name, isFee: false, merchant: who, proof });
    return this.#answer(opened, { ...buying, token: who === null ? opened : null }, null) ?? '';
  }

  #faultOf(proof: Proof | null, asked: { payee: string; units: bigint }, resource: string | null): string | null {
    if (proof === null) return 'payment_required';
    if (resource !== null && resource !== proof.resource) return 'payment_bound_elsewhere';
    const isInTime = proof.validBefore - Math.floor(this.now / 1000) >= 20;
    if (!isInTime || proof.payee !== asked.payee || proof.units !== asked.units) return 'payment_invalid';
    return this.isFirstDark ? 'payment_check_unavailable' : null;
  }

  /** Of the merchant, then of the wallet; what is completed before what is not. */
  #held(subject: string, by: { who: string | null; payer: string | null; signedBy: string | null }): Payment[] {
    const holding = this.payments.filter((one) => one.subject === subject && isHolding(one));
    const ofMerchant = holding.filter(({ merchant }) => by.who !== null && merchant === by.who);
    const rank = (one: Payment): number => (one.status !== 'completed' ? 2 : one.payer === by.signedBy ? 0 : 1);
    return [...ofMerchant, ...holding.filter(({ payer }) => payer === by.payer)].sort((a, b) => rank(a) - rank(b));
  }

  #open(given: Begun): Payment {
    const begun = { status: 'open', reason: '', named: [], seen: null, transfer: null } as const;
    const defaults = { proof: null, intent: null, surplus: false, submitted: !given.proof };
    const opened: Payment = { ...defaults, ...given, ...begun, named: [] };
    this.payments.push(opened);
    return opened;
  }

  #answer(payment: Payment, { proof, collect, who, token }: Buying, signedBy: string | null): string | null {
    const mayCollect = signedBy === payment.payer || (who !== null && who === payment.merchant) || token === payment;
    const isStopped = !payment.submitted && this.removedAt(payment.subject) < Infinity;
    const unseen = isStopped ? 'listing_removed' : collect ? 'pending' : 'settlement_pending|facilitator_refused';
    const delivery = mayCollect ? 'delivered' : 'sign_to_collect';
    return this.#goOn(payment, collect ? null : proof, unseen, () => delivery);
  }

  /** Null when it ended unpaid. */
  #goOn(payment: Payment, proof: Proof | null, unseen: string, deliver: () => string): string | null {
    const refused = this.#drive(payment, proof);
    this.settle(payment);
    if (payment.status === 'review') return 'needs_review';
    if (payment.status === 'completed') {
      this.point('after_commit_before_answer');
      return deliver();
    }
    if (payment.status !== 'open') return null;
    if (payment.seen !== null) return 'pending';
    return payment.submitted || unseen === 'pending' || unseen === 'listing_removed'
      ? (refused ?? unseen)
      : 'verification_pending';
  }

  /** A proof is handed on for the payment alone that it opened. */
  #drive(payment: Payment, proof: Proof | null): string | null {
    if (proof === null || payment.proof !== proof || payment.status !== 'open') return null;
    if (payment.submitted || this.isFirstDark) return null;
    if (this.removedAt(payment.subject) < Infinity) return 'listing_removed';
    if (this.now >= proof.validBefore * 1000) return 'verification_pending';
    this.point('before_verify');
    payment.submitted = true;
    this.point('after_settling_committed');
    this.point('after_settle_before_answer');
    return null;
  }

  // A transfer, and the claim that it was made (W8)

  openIntent(terms: Omit<Intent, 'from' | 'to'>, listing: Listing | null): Intent | string {
    const { who, subject, payer, isFee } = terms;
    const ofWho = this.#held(subject, { who, payer: null, signedBy: null });
    const [held] = isFee ? [] : [...ofWho, ...this.#held(subject, { who: null, payer, signedBy: null })];
    if (held) return held.status === 'completed' ? 'purchase_exists' : 'payment_undecided';
    if (listing !== null && listing.state !== 'live') return 'listing_unavailable';
    if (isFee && this.credits > 0) return 'fee_not_due';
    if (this.isFirstDark) return 'payment_check_unavailable';
    const claimed = new Set(this.payments.map(({ intent }) => intent));
    const open = this.intents.filter(
      (one) => one.who === who && one.subject === subject && this.now < one.to * 1000 && !claimed.has(one),
    );
    if (payer !== null && open.some((one) => one.payer !== null && one.payer !== payer)) return 'other_payer_open';
    const inTime = open.filter((one) => one.to * 1000 - this.now >= 300_000 && (payer === null || one.payer === payer));
    const usable = inTime.findLast((one) => one.payer !== null) ?? inTime.at(-1);
    if (usable !== undefined) return usable;
    const from = Math.min(Math.floor(this.now / 1000), this.view.latest.time);
    const intent = { ...terms, from, to: from + 600 };
    this.intents.push(intent);
    return intent;
  }

  claim(claiming: Claiming): string {
    const { intent, who, subject } = claiming;
    if (intent.who !== who) return 'intent_not_found';
    if (!intent.isFee && intent.subject !== subject) return 'intent_changed';
    for (let round = 0; round < 4; round += 1) {
      const answer = this.#claimOnce(claiming);
      if (answer !== null) return answer;
    }
    return 'payment_preserved';
  }

  /** Null: what stood in the way is over. */
  #claimOnce(claiming: Claiming): string | null {
    const { intent, hash, signer } = claiming;
    const standing = this.payments.findLast((one) => one.intent === intent);
    if (standing !== undefined && isDecided(standing)) return this.#ended(standing, claiming);
    if (intent.payer !== null && signer !== intent.payer) return this.#unsigned(intent, hash);
    const used = this.proven.get(hash);
    if (used !== undefined) return used === standing && standing.status !== 'rejected' ? null : 'transaction_used';
    if (standing !== undefined && standing.payer !== signer) this.settle(standing);
    if (isDecided(standing)) return null;
    const claim = this.#openOrJoin(claiming, standing?.status === 'open' ? standing : null);
    if (claim === null) return 'payment_undecided';
    const before = claim.named.find((one) => one.hash === hash);
    if (before) before.refused = null;
    else claim.named.push({ hash, refused: null, seen: null });
    this.point('after_claim_committed');
    this.settle(claim);
    return this.#ended(claim, claiming);
  }

  #ended(claim: Payment, { hash, subject }: Claiming): string | null {
    if (claim.status === 'review') return claim.reason;
    if (claim.status === 'completed') return this.#deliver(claim, subject);
    return claim.named.find((one) => one.hash === hash)?.refused ?? (claim.status === 'open' ? 'pending' : null);
  }

  /** Null: another payment is undecided. */
  #openOrJoin({ who, subject, intent, signer }: Claiming, standing: Payment | null): Payment | null {
    const mine = (one: Payment): boolean => one.merchant === who || one.payer === signer;
    const others = this.payments.filter((one) => one !== standing && one.subject === subject);
    const surplus = !intent.isFee && others.some((one) => isSale(one) && mine(one));
    const isTaken = !surplus && others.some((one) => (intent.isFee ? isUndecided(one) : isHolding(one) && mine(one)));
    if (standing?.payer === signer && standing.subject === subject) return standing;
    if (isTaken || (standing !== null && standing.subject !== subject)) return null;
    if (standing === null) return this.#open({ ...intent, subject, merchant: who, payer: signer, intent, surplus });
    const isBound = standing.named.some(({ refused, seen }) => refused === null && seen !== null && this.isFinal(seen));
    return isBound || surplus !== standing.surplus ? null : Object.assign(standing, { payer: signer });
  }

  #deliver(payment: Payment, subject: string): string {
    if (payment.subject !== subject) return 'transaction_used';
    this.point('after_commit_before_answer');
    if (!payment.isFee) return 'delivered';
    return this.listings.some(({ name }) => name === subject) ? 'listed' : 'duplicate_listing|transaction_used';
  }

  /** The wallet that the intent names did not sign, and is no contract. */
  #unsigned(intent: Intent, hash: string): string {
    const found = this.find(hash);
    if (found !== undefined) return this.isFinal(found.block) ? 'signature_invalid' : 'pending';
    return this.view.finalized.time >= intent.to ? 'transfer_not_found' : 'pending';
  }

  // Listing, and its fee (W6)

  list({ who, body, fee, proof, claim }: Listed): string {
    if (this.listings.some(({ name }) => name === body)) return 'listed';
    const open = this.payments.find((one) => one.isFee && one.subject === body && isUndecided(one));
    const known = proof ? this.byProof(proof.authorization) : undefined;
    if (known && known.subject !== body) return 'payment_bound_elsewhere';
    const claims = (): string | null => claim && this.claim({ ...claim, who, subject: body });
    const isSame = open !== undefined && open.intent === claim?.intent;
    const going = isSame ? claims() : this.#continueFee(open ?? known, proof);
    if (going !== null) return going;
    if (this.isFirstDark) return 'payment_check_unavailable';
    if (this.credits > 0) {
      this.credits -= 1;
      this.goLive(body);
      return 'listed';
    }
    if (known) return known.status === 'completed' ? 'payment_bound_elsewhere' : 'authorization_lapsed';
    const refused = claims() ?? this.#faultOf(proof, fee, null);
    if (proof === null || refused !== null) return refused ?? '';
    return this.#continueFee(this.#open({ ...proof, subject: body, isFee: true, merchant: who, proof }), proof) ?? '';
  }

  #continueFee(payment: Payment | undefined, proof: Proof | null): string | null {
    if (payment === undefined) return null;
    return this.#goOn(payment, proof, 'pending|facilitator_refused', () => this.#deliver(payment, payment.subject));
  }

  // What seller and maintainer do

  edit({ name, state }: Listing): string {
    const ofListing = this.payments.filter(({ subject }) => subject === name);
    if (state !== 'live' || ofListing.some(isSale)) return 'listing_closed';
    return ofListing.some(({ status }) => status === 'open') ? 'purchase_pending' : 'done';
  }

  withdraw(listing: Listing, wasWithdrawn: boolean): string {
    if (listing.state === 'removed' && !wasWithdrawn) return 'listing_closed';
    if (listing.state === 'live') listing.state = 'withdrawn';
    return 'done';
  }

  remove(listing: Listing): string {
    listing.removedAt ??= this.now;
    listing.state = 'removed';
    return 'done';
  }

  /** By who got the money; a refund has to be final, later, and enough. */
  review(payment: Payment, outcome: 'deliver' | 'declined' | 'refunded', refund: string): string {
    if (payment.status !== 'review') return 'already_decided';
    const { transfer, payee, payer } = payment;
    if (outcome === 'refunded' && transfer !== null) {
      const back = this.find(refund);
      if (this.proven.has(refund)) return 'transaction_used';
      if (back === undefined || !this.isFinal(back.block)) return 'refund_not_final';
      const isEnough = back.from === payee && back.to === payer && back.units >= transfer.units;
      if (!isEnough || back.block <= transfer.block) return 'refund_not_found';
      this.proven.set(refund, payment);
    }
    payment.status = outcome === 'deliver' ? 'completed' : 'rejected';
    if (outcome === 'deliver' && payment.isFee) this.credits += 1;
    return 'done';
  }
}
