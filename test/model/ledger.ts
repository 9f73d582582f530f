import type { Intent, Listing, Named, Payment, Proof, Transfer, View } from './terms.ts';

/** The market dies here. */
export class Crash extends Error {}

export const isUndecided = ({ status }: Payment): boolean => status === 'open' || status === 'review';
/** It is paid for, one way or the other. */
export const isDecided = (one: Payment | undefined): boolean => one?.status === 'completed' || one?.status === 'review';
/** Whoever has one of these for goods is not to pay for them again. */
export const isHolding = (one: Payment): boolean =>
  !one.isFee && !one.surplus && (isUndecided(one) || one.status === 'completed');
export const isSale = (one: Payment): boolean => one.status === 'completed' && !one.isFee && !one.surplus;

/** What the chain makes of payments (W8, W9). With reference.ts it is all that is known here of how a market has to act. */
export class Ledger {
  readonly listings: Listing[] = [];
  readonly intents: Intent[] = [];
  readonly payments: Payment[] = [];
  /** Transactions that prove a payment, or give one back. */
  readonly proven = new Map<string, Payment>();
  view: View;
  /** The market's clock, milliseconds. */
  now = 0;
  /** Fees that are paid and unspent. */
  credits = 0;
  crashAt: string | null = null;
  /** Nobody can be asked for an authorization then; what is paid is still found, by the other provider. */
  isFirstDark = false;
  #passes = 0;

  constructor(view: View) {
    this.view = view;
  }

  point(name: string): void {
    if (this.crashAt === name) throw new Crash();
  }

  find = (hash: string): Transfer | undefined => this.view.transfers.find((one) => one.hash === hash);
  isFinal = (block: number): boolean => block <= this.view.finalized.number;
  byProof = (authorization: string): Payment | undefined =>
    this.payments.find(({ proof }) => proof?.authorization === authorization);
  removedAt = (subject: string): number => this.listings.find(({ name }) => name === subject)?.removedAt ?? Infinity;

  /** One look of the background; what was seen above the finalized head is looked at again in every tenth. */
  pass(): void {
    this.#passes += 1;
    for (const payment of this.payments) this.settle(payment, this.#passes % 10 !== 0);
  }

  /** With all providers back. */
  restart(): void {
    this.#passes = 0;
    this.isFirstDark = false;
    this.pass();
  }

  settle(payment: Payment, skipYoung = false): void {
    const isLooked = ({ seen }: { seen: number | null }): boolean => !skipYoung || seen === null || this.isFinal(seen);
    if (payment.status !== 'open') return;
    if (payment.intent !== null) this.#settleClaim(payment, payment.intent, isLooked);
    else if (payment.proof !== null && isLooked(payment)) this.#settleProof(payment, payment.proof);
  }

  #settleProof(payment: Payment, { authorization, validBefore }: Proof): void {
    const { finalized, latest, transfers } = this.view;
    const use = transfers.find((one) => one.authorization === authorization);
    if (use !== undefined && this.isFinal(use.block)) {
      this.point('after_final_before_delivery');
      const isLate = use.time * 1000 >= this.removedAt(payment.subject);
      this.#prove(payment, use, isLate ? 'listing_removed' : null);
    }
    payment.seen = use?.block ?? null;
    const isOver = finalized.time >= validBefore || (!payment.submitted && latest.time > validBefore);
    if (use === undefined && isOver && this.now >= validBefore * 1000)
      Object.assign(payment, { status: 'unpaid', reason: 'expired' });
  }

  /** The first that fits wins; what needs a person waits for what is undecided. */
  #settleClaim(payment: Payment, intent: Intent, isLooked: (one: Named) => boolean): void {
    const named = payment.named.filter(({ refused }) => refused === null);
    const verdicts = new Map(named.filter(isLooked).map((one) => [one, this.#judge(payment, intent, one.hash)]));
    for (const [one, verdict] of verdicts) {
      one.seen = verdict?.startsWith('no ') ? null : (this.find(one.hash)?.block ?? null);
    }
    if ([...verdicts.values()].some((verdict) => verdict !== null)) this.#decide(payment, named, verdicts);
    const seen = [...verdicts.keys()].find((one) => one.seen !== null)?.seen ?? null;
    if (seen !== null || verdicts.size === named.length) payment.seen = seen;
  }

  #decide(payment: Payment, named: readonly Named[], verdicts: ReadonlyMap<Named, string | null>): void {
    this.point('after_final_before_delivery');
    let last = '';
    const isProvenBy = (one: Named, review: string | null): boolean => {
      const transfer = this.find(one.hash);
      if (transfer && this.#prove(payment, transfer, review)) return true;
      last = one.refused = 'transaction_used';
      return false;
    };
    for (const [one, verdict] of verdicts) {
      if (verdict?.startsWith('no ')) last = one.refused = verdict.slice('no '.length);
      if (verdict === 'fits' && isProvenBy(one, null)) return;
    }
    if (named.some((one) => !verdicts.get(one))) return;
    for (const one of named) if (one.refused === null && isProvenBy(one, verdicts.get(one) ?? null)) return;
    Object.assign(payment, { status: 'unpaid', reason: last });
  }

  /** Null: unknown. `fits`, `no <why not>`, or why a person has to decide. */
  #judge(payment: Payment, intent: Intent, hash: string): string | null {
    const found = this.find(hash);
    if (found === undefined) return this.view.finalized.time >= intent.to ? 'no transfer_not_found' : null;
    const { from, to, units, block, time, authorization } = found;
    if (!this.isFinal(block)) return null;
    if (authorization !== null && this.byProof(authorization)) return 'no transaction_used';
    if (to !== payment.payee) return 'no transfer_not_found';
    if (from !== payment.payer) return units >= payment.units ? 'no wrong_payer' : 'no transfer_not_found';
    if (authorization !== null) return 'authorized_transfer';
    if (units < payment.units) return 'amount_too_little';
    if (time < intent.from || time >= intent.to) return 'outside_window';
    if (time * 1000 >= this.removedAt(payment.subject)) return 'paid_after_removal';
    return payment.surplus ? 'already_bought' : 'fits';
  }

  /** False when the transaction proves something else. */
  #prove(payment: Payment, transfer: Transfer, review: string | null): boolean {
    if (this.proven.has(transfer.hash)) return false;
    this.proven.set(transfer.hash, payment);
    payment.transfer = transfer;
    Object.assign(payment, { status: review === null ? 'completed' : 'review', reason: review ?? '' });
    if (review === null && payment.isFee) this.goLive(payment.subject);
    return true;
  }

  /** The goods of all bodies cost what the first listing costs. */
  goLive(name: string): void {
    const { payee = '', units = 0n } = this.listings[0] ?? {};
    this.listings.push({ name, payee, units, state: 'live', removedAt: null });
  }
}
