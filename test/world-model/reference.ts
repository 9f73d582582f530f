import { isDeepStrictEqual } from 'node:util';
import { OFFER_STEPS } from '../../src/city/offers/offer-steps.ts';
import { LISTING_STATES } from '../../src/contract/vocabulary.ts';
import { CHECKOUT_STATES, DRAFT_STATES, OFFER_PHASES, type OfferOut } from '../../src/contract/world-records.ts';
import { LISTING_STEPS } from '../../src/market/listings/listing-steps.ts';
import { DRAFT_STEPS } from '../../src/market/world/drafts/store.ts';
import { CHECKOUT_STEPS } from '../../src/market/world/store.ts';
import type { Reservation, Seen, Terms, Transfer, View } from './terms.ts';

const RECOVERY_MS = 2 * 3_600_000;
const PAUSE_MS = 30 * 60_000;
const RESERVATION_SECONDS = 300;
/** Limit on undecided transactions per reservation. A sixth replaces one that is in no block. */
const MAX_NAMED = 5;

/** Answers that do not depend on whether the caller has paid. Remove an answer from here when it begins to depend on it. */
const DO_NOT_LOOK: ReadonlySet<string> = new Set([
  // Answers of the city about another reservation of the holder, and about the one claimed transaction.
  ...['offer_reserved', 'transfer_not_found'],
  // The market gives these answers to everybody.
  ...['offer_not_open', 'listing_unavailable', 'reserved'],
]);

/**
 * A second, minimal implementation of a thing's sale on both sites, based only on the rules for things of a city. It reads the chain and
 * the sites' public state, and knows which reservations were shown to whom and which transactions their holders claimed. Shares only the
 * tables of states with the sites.
 */
export class Reference {
  readonly terms: Terms;
  readonly reservations: Reservation[] = [];
  view: View = { latest: { number: 0, time: 0 }, finalized: { number: 0, time: 0 }, transfers: [] };
  /** The clock of both sites in milliseconds. */
  now = 0;
  /** Transactions that bought another thing. */
  readonly spent = new Set<string>();
  /** Fitting transfers that their holder claimed and that were final while the payment was undecided. One of them must be the sale. */
  readonly due = new Set<string>();

  constructor(terms: Terms) {
    this.terms = terms;
  }

  // Reads of the chain

  fits = ({ from, to, units, time }: Transfer, held: Reservation): boolean =>
    from === held.payer && to === held.payee && units >= held.units && time >= held.from && time < held.until;
  fitting = (held: Reservation): Transfer[] => this.view.transfers.filter((one) => this.fits(one, held));
  isFinal = ({ block }: Transfer): boolean => block <= this.view.finalized.number;
  /** Whether the transfer affects this sale: it comes from the payer or goes to the seller. */
  concerns = ({ from, to, units }: Transfer, held: Reservation): boolean =>
    units > 0n && (from === held.payer || to === held.payee);
  named = (held: Reservation): Transfer[] => this.view.transfers.filter(({ hash }) => held.named.has(hash));
  /** Returns the transfers that buy the thing at the next check. */
  buys = (held: Reservation): Transfer[] =>
    held.named.size > MAX_NAMED
      ? []
      : this.fitting(held).filter((one) => held.named.has(one.hash) && this.isFinal(one) && !this.spent.has(one.hash));

  /** Returns the reservation that holds the offer, or that held it when the offer ended. */
  holder({ buyer, market_checkout_id: checkout, reserved_at: from }: OfferOut): Reservation | null {
    if (buyer === null) return null;
    const held = this.reservations.findLast(
      (one) => one.who === buyer && one.checkout === checkout && one.from === secondOf(from),
    );
    return held ?? fault('the offer shows a reservation that no answer told of');
  }

  /** Records that a resident was told it holds the offer. */
  begin(held: Reservation): void {
    const { payee, units } = this.terms;
    const from = Math.min(Math.floor(this.now / 1_000), this.view.latest.time);
    const told = [held.payee, held.units, held.from, held.until];
    mustBe('terms of a reservation', told.map(String), [payee, units, from, from + RESERVATION_SECONDS].map(String));
    this.reservations.push(held);
  }

  isPaused = (who: string): boolean => {
    const lostAt = this.reservations.findLast((one) => one.who === who)?.lostAt ?? null;
    return lostAt !== null && this.now < lostAt + PAUSE_MS;
  };

  /** Whether this resident gets a reservation with that checkout, after a check of the offer's holder. */
  mayReserve(before: Seen, who: string, checkout: number): boolean {
    const { phase } = before.offer;
    const held = phase === 'reserved' ? this.holder(before.offer) : null;
    const opened = before.checkouts.get(checkout);
    if (held !== null && held.who === who && held.checkout === checkout && this.now < held.until * 1_000) return true;
    const isFree = phase === 'listed' || (held !== null && this.isIdle(held) && held.who !== who);
    return isFree && opened?.state === 'open' && opened.until > this.now && opened.who === who && !this.isPaused(who);
  }

  /** Whether the reservation's time is over, no fitting transfer was made, and no claimed transaction affects it. */
  isIdle = (held: Reservation): boolean =>
    this.view.latest.time >= held.until &&
    this.fitting(held).length === 0 &&
    !this.named(held).some((one) => this.concerns(one, held));

  // Checks of one step

  /** Compares the states before and after an act, with the chain as of now. */
  judge(before: Seen, after: Seen): void {
    judgeSteps(before, after);
    const held = this.holder(before.offer);
    const holds = this.holder(after.offer);
    if (held !== null && held !== holds) this.#judgeLoss(before, held);
    if (held !== null && held === holds) this.#judgeMove(before, after, held);
    if (held === null && holds !== null && after.offer.phase !== 'reserved') {
      fault(`reserved and ${after.offer.phase} at once`);
    }
    this.#judgeSale(after, holds);
    judgeMarket(after);
    this.#note(after, holds);
  }

  /** Checks that the holder could lose the offer, which now belongs to nobody or to another resident. */
  #judgeLoss({ offer: { phase } }: Seen, held: Reservation): void {
    if (phase !== 'reserved') fault(`an offer that was ${phase} went on to another resident`);
    if (this.view.latest.time < held.until) fault('a reservation ended before its time');
    const [paid] = this.fitting(held);
    if (paid !== undefined) fault(`the holder had paid by ${paid.hash}, and the offer went on`);
    held.lostAt = this.now;
  }

  /** Checks the conditions for each change of the offer's phase under one holder. */
  #judgeMove({ offer: { phase: from } }: Seen, { offer: { phase: to } }: Seen, held: Reservation): void {
    if (from === to) return;
    const fitting = this.fitting(held);
    const own = this.named(held).filter((one) => this.concerns(one, held));
    const isLate = this.view.latest.time >= held.until && fitting.length > 0;
    const hasWaited = held.pendingSince !== null && this.now - held.pendingSince >= RECOVERY_MS;
    const bought = this.buys(held);
    const breaksTerm = own.some((one) => this.isFinal(one) && !this.fits(one, held));
    const fits = own.some((one) => this.fits(one, held) && !this.spent.has(one.hash));
    const rules: Record<string, readonly [boolean, string][]> = {
      payment_pending: [[own.length > 0 || isLate, 'a payment is waited for, and there is none']],
      payment_invalid: [
        [breaksTerm, 'nothing that was named is final and breaks a term'],
        [!fits, 'invalid, and one that was named fits'],
      ],
      payment_expired: [
        [hasWaited, 'given up before two hours'],
        [fitting.length === 0, 'expired, and a transfer that fits is there'],
      ],
      founder_review: [
        [hasWaited, 'given up before two hours'],
        [held.hasFitted, 'kept for a person, and nothing ever fitted'],
      ],
      // A cancellation checks the offer first.
      canceled: [[!isUndecided(from) || hasWaited || (breaksTerm && !fits), `canceled while ${from}`]],
    };
    if (isUndecided(from) && to !== 'claimed' && bought.length > 0)
      fault(`${bought[0]?.hash} buys it, and it became ${to}`);
    for (const [holds, what] of rules[to] ?? []) if (!holds) fault(what);
  }

  // Checks of the sale

  #judgeSale(after: Seen, holds: Reservation | null): void {
    const { offer, owner, history, cityProofs, locked } = after;
    const isSold = offer.phase === 'claimed';
    const isOpen = !isSold && offer.phase !== 'canceled';
    mustBe('locked', [offer.locked, locked], [isOpen, isOpen]);
    mustBe('owner', owner, isSold ? holds?.who : this.terms.seller);
    mustBe('owners', history.length, isSold ? 2 : 1);
    mustBe('proofs of the city', cityProofs.length, isSold ? 1 : 0);
    if (!isSold) return;
    mustBe('the sale in the history', history[0], { owner, offer_id: offer.id });
    if (holds === null) throw new Fault('claimed by no resident');
    const { tx_hash: hash, block_number: block } = offer;
    mustBe('proof of the city', cityProofs[0], { hash, block });
    const transfer = this.view.transfers.find((one) => one.hash === hash && this.fits(one, holds));
    if (transfer === undefined) throw new Fault(`claimed by ${hash}, and no such transfer is there`);
    if (!this.isFinal(transfer)) fault('claimed by a transfer that is not final');
    if (!holds.named.has(transfer.hash)) fault('claimed by a transfer that its holder did not name');
    if (this.spent.has(transfer.hash)) fault('claimed by a transfer that has bought another thing');
    mustBe('place of the transfer', [block, secondOf(offer.block_time)], [transfer.block, transfer.time]);
    mustBe('buyer', [offer.buyer_wallet?.toLowerCase(), offer.market_buyer], [holds.payer, holds.merchant]);
  }

  #note({ offer: { phase } }: Seen, holds: Reservation | null): void {
    if (holds === null) return;
    if (this.fitting(holds).length > 0) holds.hasFitted = true;
    if (phase === 'payment_pending') holds.pendingSince ??= this.now;
    if (isUndecided(phase)) for (const { hash } of this.buys(holds)) this.due.add(hash);
  }

  // Required effects of a check

  /** Judges the state after the city was made to check the offer. */
  judgeLook(before: Seen, after: Seen): void {
    const held = this.holder(before.offer);
    const { phase } = before.offer;
    if (held === null || !isUndecided(phase)) return;
    const to = after.offer.phase;
    if (this.buys(held).length > 0 && to !== 'claimed') fault(`paid, named and final, and the offer is ${to}`);
    if (
      phase === 'reserved' &&
      to === 'reserved' &&
      this.view.latest.time >= held.until &&
      this.holder(after.offer) === held
    ) {
      fault('a reservation outlasts its time');
    }
    const waited = held.pendingSince === null ? 0 : this.now - held.pendingSince;
    if (to === 'payment_pending' && waited >= RECOVERY_MS) fault('a payment is waited for longer than two hours');
  }

  /** Judges the end of a run, after everything was checked and unsold offers were canceled. */
  judgeEnd({ offer: { phase }, state }: Seen): void {
    const isSold = phase === 'claimed';
    if (!isSold && [...this.due].some((hash) => !this.spent.has(hash)))
      fault(`a final payment was named in time, and it is ${phase}`);
    mustBe('the end', [phase, state], isSold ? ['claimed', 'sold'] : ['canceled', 'canceled']);
  }

  /** Checks that a buyer who has paid is never told that paying again is safe. */
  judgeAnswer(before: Seen, who: string, answer: { status: number; body: Record<string, unknown> }): void {
    const held = this.holder(before.offer);
    if (held === null || held.who !== who || this.fitting(held).length === 0) return;
    const { do_not_pay_again: never, reason, status: word } = answer.body;
    if (answer.status !== 402 && (never !== false || DO_NOT_LOOK.has(String(reason ?? word)))) return;
    fault(`who has paid is told that paying again is safe: ${JSON.stringify(answer.body)}`);
  }
}

function judgeSteps(before: Seen, after: Seen): void {
  const [was, is] = [before.offer, after.offer];
  if (!MAY_BECOME.offer(was.phase, is.phase)) fault(`an offer went from ${was.phase} to ${is.phase}`);
  if (!MAY_BECOME.listing(before.state, after.state)) fault(`a listing went from ${before.state} to ${after.state}`);
  if (!MAY_BECOME.draft(before.draft, after.draft)) fault(`a draft went from ${before.draft} to ${after.draft}`);
  for (const [id, { state }] of before.checkouts) {
    const to = after.checkouts.get(id)?.state ?? 'nothing';
    if (!MAY_BECOME.checkout(state, to)) fault(`a checkout went from ${state} to ${to}`);
  }
  mustBe('terms', termsOf(is), termsOf(was));
  if (was.market_listing_id !== null) mustBe('listing', is.market_listing_id, was.market_listing_id);
  if (was.phase === 'claimed' || was.phase === 'canceled') mustBe('what ended', is, was);
  if (before.state === 'sold' || before.state === 'canceled') mustBe('the end', after.state, before.state);
}

function termsOf(offer: OfferOut): unknown {
  const { id, thing_id, thing_name, seller, price_usdc, seller_wallet, market_origin, market_draft_id, chain_id } =
    offer;
  const { created_at, cancel_url, offer_url, thing_url } = offer;
  const fixed = [id, thing_id, thing_name, seller, price_usdc, seller_wallet, market_origin, market_draft_id, chain_id];
  return [...fixed, created_at, cancel_url, offer_url, thing_url];
}

/** Checks that the market has a sale or a cancellation only if the city has it too, and that both sales are equal. */
function judgeMarket({ offer, state, shown, purchases, marketProofs, sales, cancellations, checkouts }: Seen): void {
  const isSold = state === 'sold';
  if (isSold && offer.phase !== 'claimed') fault(`sold on the market, and ${offer.phase} in the city`);
  if (state === 'canceled' && offer.phase !== 'canceled')
    fault(`canceled on the market, and ${offer.phase} in the city`);
  const once = isSold ? 1 : 0;
  mustBe('books of the market', [purchases.length, marketProofs.length, sales], [once, once, once]);
  mustBe('cancellations', cancellations, state === 'canceled' ? 1 : 0);
  mustBe('the listing as it is shown', [shown.state, shown.sales], [state, once]);
  if (!isSold) mustBe('receipt', shown.world_receipt, null);
  if (!isSold) return;
  const { id: offer_id, thing_id, thing_url, buyer: city_handle, tx_hash, block_number, claimed_at } = offer;
  mustBe('receipt', shown.world_receipt, {
    offer_id,
    thing_id,
    thing_url,
    city_handle,
    tx_hash,
    block_number,
    claimed_at,
  });
  mustBe('proof of the market', marketProofs[0], { hash: tx_hash, block: block_number });
  const bought = { hash: tx_hash, buyer: offer.market_buyer, checkout: offer.market_checkout_id };
  mustBe('purchase', purchases[0], bought);
  const completed = [...checkouts].filter(([, { state: is }]) => is === 'completed').map(([id]) => id);
  mustBe('checkouts that were completed', completed, [offer.market_checkout_id]);
}

const isUndecided = (phase: string): boolean => phase === 'reserved' || phase === 'payment_pending';
export const secondOf = (time: string | null): number => Date.parse(time ?? '') / 1_000;

export class Fault extends Error {}

export function fault(what: string): never {
  throw new Fault(what);
}

function mustBe(what: string, is: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(is, wanted)) fault(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
}

type Table = Readonly<Record<string, Readonly<Record<string, string | Readonly<Record<string, string>>>>>>;

/** Returns whether one state leads to another in zero or more acts, because several may happen between two checks. */
function createReachability(table: Table, states: readonly string[]): (from: string, to: string) => boolean {
  const next = new Map(states.map((state) => [state, new Set<string>()]));
  for (const steps of Object.values(table)) {
    for (const [from, step] of Object.entries(steps)) {
      for (const to of typeof step === 'string' ? [step] : Object.values(step))
        if (next.has(to)) next.get(from)?.add(to);
    }
  }
  const reached = new Map(states.map((from) => [from, reachableFrom(next, from)]));
  return (from, to) => reached.get(from)?.has(to) === true;
}

function reachableFrom(next: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const found = new Set([from]);
  // The loop also visits states that it adds.
  for (const state of found) for (const to of next.get(state) ?? []) found.add(to);
  return found;
}

const MAY_BECOME = {
  offer: createReachability(OFFER_STEPS, OFFER_PHASES),
  listing: createReachability(LISTING_STEPS, LISTING_STATES),
  draft: createReachability(DRAFT_STEPS, DRAFT_STATES),
  checkout: createReachability(CHECKOUT_STEPS, CHECKOUT_STATES),
};
