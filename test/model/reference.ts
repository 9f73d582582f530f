import {
  type Asking,
  type Begun,
  BLANK,
  type Buying,
  type Claiming,
  changeSigner,
  endReview,
  type Intent,
  isDecided,
  isHeld,
  isHolding,
  isOpen,
  isPurchaseOf,
  isSale,
  keepForReview,
  type Listed,
  type Listing,
  type Named,
  type Payment,
  type Proof,
  type Transfer,
  type View,
} from './terms.ts';
import { faultOfProof, faultOfRefund, judgeClaim, paidBy } from './verdicts.ts';

export class Crash extends Error {}

/**
 * A second, minimal implementation of the market's answers, based only on the rules for listing, buying, claiming and reviewing. Answers
 * are `delivered`, `listed`, `pending`, `done`, or the reason for a refusal; `|` separates allowed answers. Shares no code with the market.
 */
export class Reference {
  readonly listings: Listing[] = [];
  readonly intents: Intent[] = [];
  readonly payments: Payment[] = [];
  /** Transactions that prove a payment or a refund. */
  readonly proven = new Map<string, Payment>();
  view: View = { latest: { number: 0, time: 0 }, finalized: { number: 0, time: 0 }, transfers: [] };
  /** Transfers before the act being judged. An authorization that a reorganization freed is submitted again. */
  before: View['transfers'] = [];
  /** Transactions with authorizations that the facilitator did not send. */
  readonly byStrangers = new Set<string>();
  /** The market's clock in milliseconds. */
  now = 0;
  /** Number of fees that are paid but not spent. */
  credits = 0;
  crashAt: string | null = null;
  /** True while the leading provider is cut. The market then asks for no payment, but the other provider still finds payments. */
  isFirstDark = false;

  point(name: string): void {
    if (this.crashAt === name) throw new Crash();
  }

  find = (hash: string) => this.view.transfers.find((one) => one.hash === hash);
  isFinal = (block: number): boolean => block <= this.view.finalized.number;
  byProof = (name: string) => this.payments.find(({ proof }) => proof?.authorization === name);
  claimPaymentOf = (intent: Intent) => this.payments.findLast((one) => one.intent === intent && !one.isSurplusRecord);
  removedAt = (subject: string): number => this.listings.find(({ name }) => name === subject)?.removedAt ?? Infinity;

  // Buying by x402

  buy(buying: Buying): string {
    const { listing, proof, token, who } = buying;
    const known = proof === null ? token : (this.byProof(proof.authorization) ?? null);
    if (known && !isPurchaseOf(known, listing)) return proof ? 'payment_bound_elsewhere' : 'payment_not_found';
    const first = known && this.#answer(known, buying, null);
    if (first) return first;
    const lapsed = known ? proof : null;
    const fault = lapsed ? null : faultOfProof(this, proof, listing, buying.isNamed ? listing.name : null);
    const signedBy = lapsed || fault ? null : (proof?.payer ?? null);
    const holding = this.#heldPayments(listing.name, who, lapsed?.payer ?? signedBy);
    // Sales come first, and among them the signer's own, because the signature can collect only that sale. Undecided payments come last.
    const rank = (held: Payment): number => (isSale(held) ? Number(held.payer !== signedBy) : 2);
    for (const held of holding.sort((a, b) => rank(a) - rank(b))) {
      const answer = this.#answer(held, buying, signedBy);
      if (answer !== null) return answer;
    }
    return lapsed ? 'authorization_lapsed' : this.#begin(buying, fault);
  }

  #begin({ listing, proof, who, collect }: Buying, fault: string | null): string {
    if (collect) return fault ?? 'nothing_to_collect';
    if (listing.state !== 'live') return 'listing_unavailable';
    if (this.isFirstDark) return 'payment_check_unavailable';
    if (proof === null || fault !== null) return fault ?? '';
    const opened = this.#open({ ...proof, subject: listing.name, isFee: false, merchant: who, proof });
    return this.#answer(opened, { proof, collect, who, token: who === null ? opened : null }, null) ?? '';
  }

  /** Returns payments held by the merchant, then those held by the wallet. */
  #heldPayments(subject: string, who: string | null, payer: string | null): Payment[] {
    const holding = this.payments.filter((one) => one.subject === subject && isHolding(one));
    const ofMerchant = holding.filter(({ merchant }) => who !== null && merchant === who);
    return [...ofMerchant, ...holding.filter((one) => one.payer === payer)];
  }

  #open(given: Begun): Payment {
    const opened: Payment = { ...BLANK, status: 'open', submitted: !given.proof, named: [], ...given };
    this.payments.push(opened);
    return opened;
  }

  #answer(payment: Payment, { proof, collect, who, token }: Asking, signedBy: string | null): string | null {
    const isRemoved = !payment.submitted && this.removedAt(payment.subject) < Infinity;
    const stopped = isRemoved ? 'listing_removed' : payment.stopped ? 'listing_changed' : null;
    const unseen = stopped ?? (collect ? 'pending' : 'settlement_pending|facilitator_refused');
    const said = this.#resume(payment, collect ? null : proof, unseen);
    const isOpener = (who !== null && who === payment.merchant) || token === payment;
    const mayCollect = signedBy === payment.payer || (isOpener && !payment.payerOnly);
    return said === 'delivered' && !mayCollect ? 'sign_to_collect' : said;
  }

  /** Continues an earlier payment. Returns null if it ended unpaid or rejected. */
  #resume(payment: Payment, proof: Proof | null, unseen = 'pending|facilitator_refused'): string | null {
    if (proof !== null && proof === payment.proof && isOpen(payment) && !this.isFirstDark) this.#submit(payment, proof);
    this.settle(payment);
    if (payment.status === 'review') return 'needs_review';
    if (payment.status === 'completed') return this.#deliver(payment, payment.subject);
    if (!isOpen(payment)) return null;
    if (payment.seen !== null) return 'pending';
    return payment.submitted || /^(pending|listing_removed|listing_changed)$/.test(unseen)
      ? unseen
      : 'verification_pending';
  }

  /** Submits a proof, but only for the payment that it opened. */
  #submit(payment: Payment, proof: Proof): void {
    if (this.now >= proof.validBefore * 1000) return;
    const isUsed = this.before.some(({ authorization }) => authorization === proof.authorization);
    if (!payment.submitted) {
      if (payment.stopped || this.removedAt(payment.subject) < Infinity) return;
      this.point('before_verify');
      // A simulation with a used authorization fails, and a proof that /verify refused is not submitted.
      if (isUsed) return;
      payment.submitted = true;
      this.point('after_settling_committed');
    } else if (isUsed) return;
    this.point('after_settle_before_answer');
  }

  // Transfers and their claims

  openIntent(terms: Omit<Intent, 'from' | 'to'>, listing: Listing | null): Intent | string {
    const { who, subject, payer, isFee } = terms;
    const [held] = this.#heldPayments(subject, who, payer);
    if (held) return held.status === 'completed' ? 'purchase_exists' : 'payment_undecided';
    if (listing !== null && listing.state !== 'live') return 'listing_unavailable';
    if (isFee && this.credits > 0) return 'fee_not_due';
    if (this.isFirstDark) return 'payment_check_unavailable';
    const ofWho = this.intents.filter((one) => one.who === who && one.subject === subject);
    const open = ofWho.filter((one) => this.now < one.to * 1000 && this.claimPaymentOf(one) === undefined);
    if (payer !== null && open.some((one) => one.payer !== null && one.payer !== payer)) return 'other_payer_open';
    const inTime = open.filter((one) => one.to * 1000 - this.now >= 300_000 && (payer === null || one.payer === payer));
    const usable = inTime.findLast((one) => one.payer !== null) ?? inTime.at(-1);
    const from = Math.min(Math.floor(this.now / 1000), this.view.latest.time);
    const intent = usable ?? { ...terms, from, to: from + 600 };
    if (usable === undefined) this.intents.push(intent);
    return intent;
  }

  claim(claiming: Claiming): string {
    const { intent, who, subject, hash, signer } = claiming;
    if (intent.who !== who) return 'intent_not_found';
    if (!intent.isFee && intent.subject !== subject) return 'intent_changed';
    const decided = this.#decidedBy(intent, hash);
    if (decided !== undefined) return this.#ended(decided, claiming);
    const standing = this.claimPaymentOf(intent);
    // The intent's named wallet did not sign and is not a contract.
    const found = this.find(hash);
    const isOver = found ? this.isFinal(found.block) : this.view.finalized.time >= intent.to;
    const unsigned = isOver ? (found ? 'signature_invalid' : 'transfer_not_found') : 'pending';
    if (intent.payer !== null && signer !== intent.payer) return unsigned;
    if (standing?.status === 'completed') return this.#claimPaid(standing, claiming);
    if (this.proven.has(hash)) return 'transaction_used';
    if (standing?.status === 'review') return keepForReview(standing, claiming, this.payments);
    if (standing !== undefined && standing.payer !== signer) this.settle(standing);
    if (isDecided(standing)) return this.claim(claiming);
    const claim = this.#openOrJoin(claiming, standing?.status === 'open' ? standing : null);
    if (claim === null) return 'payment_undecided';
    this.settle(this.#name(claim, hash));
    if (claim.status === 'completed') return this.#claimPaid(claim, claiming);
    return this.#ended(this.#decidedBy(intent, hash) ?? claim, claiming);
  }

  /** Judges a further claim for a paid intent. Another transaction is judged too, if the wallet of the earlier claim signed for it. */
  #claimPaid(claim: Payment, claiming: Claiming): string {
    const { intent, hash, signer } = claiming;
    const isOwn = claim.payer === signer && !isHeld(this.payments, claiming, claim);
    if (isOwn && !this.proven.has(hash)) this.settle(this.#name(claim, hash), true);
    return this.#ended(this.#besideOf(intent, hash) ?? claim, claiming);
  }

  /** Finds the review of a transaction, or the payment that the transaction made. Either one decides the answer, whoever signed. */
  #decidedBy(intent: Intent, hash: string): Payment | undefined {
    const claim = this.claimPaymentOf(intent);
    const isOwn = claim?.transfer?.hash === hash && (claim.status === 'review' || claim.status === 'completed');
    return this.#besideOf(intent, hash) ?? (isOwn ? claim : undefined);
  }

  #besideOf = (intent: Intent, hash: string) =>
    this.payments.find((one) => one.isSurplusRecord && one.intent === intent && one.transfer?.hash === hash);

  #name(claim: Payment, hash: string): Payment {
    const before = claim.named.find((one) => one.hash === hash);
    if (before) before.refused = null;
    else claim.named.push({ hash, refused: null, seen: null });
    this.point('after_claim_committed');
    return claim;
  }

  #ended(claim: Payment, { hash, subject }: Claiming): string {
    if (claim.status === 'review') return claim.reason;
    if (claim.status === 'completed') return this.#deliver(claim, subject);
    if (claim.status === 'rejected') return 'transaction_used';
    return claim.named.find((one) => one.hash === hash)?.refused ?? 'pending';
  }

  /** Returns null if another claim has the transaction, or while another payment is undecided. */
  #openOrJoin({ who, subject, intent, hash, signer }: Claiming, standing: Payment | null): Payment | null {
    const others = this.#heldPayments(subject, who, signer).filter((one) => one !== standing);
    const surplus = others.some(isSale);
    if (isHeld(this.payments, { hash, signer }, standing) || (standing && standing.subject !== subject)) return null;
    if (standing?.payer === signer) return standing;
    if (!surplus && others.length > 0) return null;
    if (standing === null) return this.#open({ ...intent, subject, merchant: who, payer: signer, intent, surplus });
    const isBound = standing.named.some(({ refused, seen }) => refused === null && seen !== null && this.isFinal(seen));
    if (isBound || surplus !== standing.surplus) return null;
    return changeSigner(this.payments, standing, signer);
  }

  #deliver(payment: Payment, subject: string): string {
    if (payment.subject !== subject) return 'transaction_used';
    this.point('after_commit_before_answer');
    if (!payment.isFee) return 'delivered';
    return this.listings.some(({ name }) => name === subject) ? 'listed' : 'duplicate_listing|transaction_used';
  }

  // Listings and their fees

  list({ who, body, fee, proof, claim }: Listed): string {
    if (this.listings.some(({ name }) => name === body)) return 'listed';
    const open = this.payments.find((one) => one.isFee && one.subject === body && isHolding(one));
    const known = proof ? this.byProof(proof.authorization) : undefined;
    if (known && known.subject !== body) return 'payment_bound_elsewhere';
    const claims = (): string | null => claim && this.claim({ ...claim, who, subject: body });
    const other = open ?? known;
    const going = open && open.intent === claim?.intent ? claims() : other && this.#resume(other, proof);
    if (going) return going;
    if (this.isFirstDark) return 'payment_check_unavailable';
    if (this.credits > 0) return this.goLive(body, 1);
    if (known) return known.status === 'completed' ? 'payment_bound_elsewhere' : 'authorization_lapsed';
    const refused = claims() ?? faultOfProof(this, proof, fee, null);
    if (proof === null || refused !== null) return refused ?? '';
    return this.#resume(this.#open({ ...proof, subject: body, isFee: true, merchant: who, proof }), proof) ?? '';
  }

  // Acts of seller and maintainer

  edit({ name, state }: Listing): string {
    const ofListing = this.payments.filter(({ subject }) => subject === name);
    if (state !== 'live' || ofListing.some(isSale)) return 'listing_closed';
    const open = ofListing.filter(isOpen);
    if (open.some(({ submitted }) => submitted)) return 'purchase_pending';
    for (const payment of open) payment.stopped = true;
    return 'done';
  }

  withdraw(listing: Listing, wasWithdrawn: boolean): string {
    if (listing.state === 'removed' && !wasWithdrawn) return 'listing_closed';
    if (listing.state === 'live') listing.state = 'withdrawn';
    return 'done';
  }

  remove(listing: Listing): string {
    Object.assign(listing, { state: 'removed', removedAt: listing.removedAt ?? this.now });
    return 'done';
  }

  /** Decides a review. Surplus for goods that were not bought cannot be delivered. A refund must be final, later, and large enough. */
  review(payment: Payment, outcome: 'deliver' | 'declined' | 'refunded', refund: string): string {
    if (payment.status !== 'review') return 'already_decided';
    const { transfer, payer, subject, merchant, isFee, surplus } = payment;
    const isBought = this.#heldPayments(subject, merchant, payer).some(isSale);
    if (outcome === 'deliver' && surplus && !isFee && !isBought) return 'not_deliverable';
    if (outcome === 'deliver' && isFee && payment.reason === 'transaction_used') return 'not_deliverable';
    if (outcome === 'refunded' && transfer !== null) {
      const fault = faultOfRefund(this, payment, refund);
      if (fault !== null) return fault;
      this.proven.set(refund, payment);
    }
    endReview(payment, outcome);
    if (outcome === 'deliver' && payment.isFee) this.credits += 1;
    return 'done';
  }

  // Effects of the chain on payments

  /** Runs the background job. The real one may skip payments that cannot have changed; the result is the same as checking all. */
  pass(): void {
    for (const payment of this.payments) this.settle(payment);
    for (const payment of this.payments) this.settle(payment, true);
  }

  restart(): void {
    this.isFirstDark = false;
    this.pass();
  }

  /** Judges an open payment. With `besides`, judges instead the other transactions claimed for a decided payment. */
  settle(payment: Payment, besides = false): void {
    if (isOpen(payment) === besides) return;
    if (payment.intent !== null) this.#settleClaim(payment);
    else if (payment.proof !== null && !besides) this.#settleProof(payment, payment.proof);
  }

  #settleProof(payment: Payment, { authorization, validBefore: end }: Proof): void {
    const { finalized, latest, transfers } = this.view;
    const use = transfers.find((one) => one.authorization === authorization);
    if (use !== undefined && this.isFinal(use.block)) {
      this.#endProof(payment, use);
    }
    payment.seen = use?.block ?? null;
    const isOver = finalized.time >= end || (!payment.submitted && latest.time > end);
    if (!use && isOver && this.now >= end * 1000) Object.assign(payment, { status: 'unpaid', reason: 'expired' });
  }

  /** Ends a payment by the transfer that its authorization made, never by another one of the transaction. */
  #endProof(payment: Payment, use: Transfer): void {
    if (use.to !== payment.payee || use.units !== payment.units) {
      Object.assign(payment, { status: 'unpaid', reason: 'no_fitting_transfer' });
      return;
    }
    const isRemoved = use.time * 1000 >= this.removedAt(payment.subject);
    const verdict = isRemoved ? 'listing_removed' : payment.stopped ? 'listing_changed' : 'fits';
    if (verdict === 'fits') this.point('after_final_before_delivery');
    payment.payerOnly = verdict === 'fits' && this.byStrangers.has(use.hash);
    if (this.#prove(payment, use, verdict)) return;
    // One transaction proves one payment, but this authorization made a transfer of its own.
    Object.assign(payment, { status: 'review', reason: 'transaction_used', transfer: use });
  }

  /** Ends a claim by its first fitting transaction. A review waits until all are decided. A second payment is recorded as surplus. */
  #settleClaim(payment: Payment): void {
    const named = payment.named.filter(({ refused }) => refused === null);
    const known = new Map<Named, string>();
    for (const one of named) {
      const verdict = judgeClaim(this, payment, one.hash);
      one.seen = verdict?.startsWith('no ') ? null : (this.find(one.hash)?.block ?? null);
      if (verdict !== null) known.set(one, verdict);
    }
    if (known.size > 0) this.#decide(payment, known, known.size === named.length);
    payment.seen = named.find((one) => one.seen !== null)?.seen ?? null;
  }

  #decide(payment: Payment, known: ReadonlyMap<Named, string>, isAll: boolean): void {
    this.point('after_final_before_delivery');
    const rank = (said: string): number => Number(!/^(no |fits)/.test(said)) + Number(said === 'amount_too_little');
    const inTurn = [...known].sort(([, a], [, b]) => rank(a) - rank(b));
    for (const [one, verdict] of inTurn) {
      if (verdict.startsWith('no ')) one.refused = verdict.slice('no '.length);
      else if (isOpen(payment) && (isAll || verdict === 'fits')) this.#prove(payment, one, verdict);
    }
    if (isOpen(payment) && isAll) Object.assign(payment, { status: 'unpaid', reason: inTurn.at(-1)?.[0].refused });
    if (!isOpen(payment)) for (const [one, verdict] of known) this.#recordSurplus(payment, one, verdict);
  }

  /** Records a further transfer as surplus, unless it may pay for another claim of that wallet. */
  #recordSurplus(payment: Payment, one: Named, verdict: string): void {
    const isNaming = ({ hash, refused }: Named): boolean => hash === one.hash && refused === null;
    const ofWallet = this.payments.filter((other) => isOpen(other) && other.payer === payment.payer);
    if (!isNaming(one) || ofWallet.some((other) => other.named.some(isNaming))) return;
    const surplusRecord: Payment = { ...payment, named: [], surplus: true, isSurplusRecord: true };
    if (this.#prove(surplusRecord, one, verdict === 'fits' ? 'already_bought' : verdict))
      this.payments.push(surplusRecord);
  }

  /** Records a transaction as the proof. Returns false if it proves something else. The transaction counts as used in both cases. */
  #prove(payment: Payment, one: { hash: string; refused?: string | null }, verdict: string): boolean {
    const fits = verdict === 'fits';
    one.refused = 'transaction_used';
    if (this.proven.has(one.hash)) return false;
    this.proven.set(one.hash, payment);
    const transfer = payment.proof === null ? paidBy(this.view, payment, one.hash) : (one as Transfer);
    const end = { status: fits ? 'completed' : 'review', reason: fits ? '' : verdict, transfer };
    if (Object.assign(payment, end).isFee && fits) this.goLive(payment.subject);
    return true;
  }

  /** Lists a body, paid for with credits or with its own fee. All bodies cost as much as the first listing. */
  goLive(name: string, credits = 0): string {
    this.credits -= credits;
    this.listings.push({ payee: '', units: 0n, ...this.listings[0], name, state: 'live', removedAt: null });
    return 'listed';
  }
}
