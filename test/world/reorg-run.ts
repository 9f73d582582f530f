import { expect } from 'vitest';
import type { Dice } from '../support/dice.ts';
import type { Answer } from '../support/market-world.ts';
import type { Place, Sight } from './reorg-chain.ts';
import { compareLedger, drawFates, type Fate } from './reorg-outcomes.ts';
import {
  type Ending,
  finishPayment,
  KINDS,
  openPaymentUnderTest,
  type PaymentSetup,
  type PaymentUnderTest,
} from './reorg-payments.ts';

/** Distance from the latest to the finalized block. A reorg of this depth replaces exactly the blocks that are not final. */
export const FINALITY_BLOCKS = 40;
const IN_FLIGHT = 9;
/** Longer than any authorization or intent is valid, in seconds. */
const LONG_SECONDS = 700;

export interface Scene {
  hangar: PaymentSetup;
  dice: Dice;
  /** Sets the market's clock to the latest block's time. */
  setTime(second: number): void;
  count(what: string): void;
}

/** Keeps payments in flight while the chain is repeatedly reorganized. */
export class ReorgRun {
  readonly #scene: Scene;
  readonly #landed: PaymentUnderTest[] = [];
  #flights: PaymentUnderTest[] = [];
  #sight: Sight = { latest: { number: 0, time: 0 }, finalized: { number: 0, time: 0 }, places: new Map() };

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Runs the steps before one reorganization, then the reorganization. */
  async round(): Promise<void> {
    const { dice } = this.#scene;
    await this.readChain();
    while (this.#flights.length < IN_FLIGHT) await this.#open();
    if (dice.chance(0.6)) await this.#advancePayments(0.3);
    await this.mine(dice.chance(0.4) ? this.#blocksToOutcome() : dice.number(14));
    await this.#advancePayments(0.25);
    await this.#observe();
    await this.#reorg();
    await this.readChain();
    await this.#observe();
    await this.compareBooks();
  }

  /** Brings every payment in flight to its outcome. */
  async finishPayments(): Promise<void> {
    await this.readChain();
    for (const flight of this.#flights.filter(({ isSubmitted, isX402 }) => !isSubmitted && !isX402))
      await this.#handOn(flight);
    await this.mine(FINALITY_BLOCKS + 1);
    // Transfers that are not in the chain now will never be mined, so let their windows expire.
    for (const isX402 of [true, false]) await this.#runOut(isX402);
    const { chain } = this.#scene.hangar.chain;
    await chain.rpc.call('evm_setNextBlockTimestamp', [this.#sight.latest.time + LONG_SECONDS]);
    await this.#mineBlind(1);
    await this.#mineBlind(FINALITY_BLOCKS - 1);
    await Promise.all(this.#flights.map((flight) => this.#ask(flight)));
    await this.#mineBlind(1);
    expect(this.#flights.map(({ name }) => name)).toEqual([]);
    const paid = this.#landed.filter(({ ending }) => ending === 'paid');
    for (const flight of paid) expect(flight.isDelivery(await flight.ask()), `${flight.name}, once more`).toBe(true);
    await this.compareBooks();
  }

  /** Opens a payment and mines until the first open payment of its path ends as unpaid. Checks that this is at the very block. */
  async #runOut(isX402: boolean): Promise<void> {
    const { dice, hangar } = this.#scene;
    const { chain } = hangar.chain;
    const kind = dice.pick(isX402 ? KINDS.slice(0, 2) : KINDS.slice(2));
    const opened = await openPaymentUnderTest(hangar, kind, 60 + dice.number(300), true);
    this.#flights.push(opened);
    await this.readChain();
    if (!isX402) await this.#handOn(opened);
    const { time } = this.#sight.latest;
    const ending = this.#flights.filter(
      (flight) => flight.isX402 === isX402 && flight.isSubmitted && flight.end > time + 1,
    );
    const next = ending.reduce((first, flight) => (flight.end < first.end ? flight : first), opened);
    await chain.rpc.call('evm_setNextBlockTimestamp', [next.end - 1]);
    await this.#mineBlind(1);
    await this.#mineBlind(FINALITY_BLOCKS);
    expect(this.#sight.finalized.time).toBe(next.end - 1);
    await Promise.all(this.#flights.map((flight) => this.#ask(flight)));
    expect(next.ending, `${next.name}, a block too early`).toBeNull();
    await this.#mineBlind(1);
    expect(next.ending, `${next.name}, exactly then`).toBe('unpaid');
    this.#scene.count(`ended unpaid with the very block: ${next.kind}`);
  }

  async #open(): Promise<void> {
    const { dice, hangar } = this.#scene;
    const kind = dice.chance(0.6) ? dice.pick(KINDS.slice(0, 2)) : dice.pick(KINDS.slice(2));
    const flight = await openPaymentUnderTest(hangar, kind, 60 + dice.number(300), dice.chance(0.5));
    this.#flights.push(flight);
    if (dice.chance(0.5)) await this.#send(flight);
  }

  async #send(flight: PaymentUnderTest): Promise<void> {
    const { dice, hangar } = this.#scene;
    await this.readChain();
    if (flight.place !== null || flight.ending !== null || this.#sight.latest.time + 1 >= flight.end) return;
    await hangar.chain.send(dice.pick(flight.transfers));
    await this.readChain();
    expect(flight.place, `${flight.name} was sent`).not.toBeNull();
  }

  /** Sends, submits or claims a random share of the payments. */
  async #advancePayments(part: number): Promise<void> {
    const { dice } = this.#scene;
    for (const flight of [...this.#flights]) {
      if (flight.ending === null && flight.place === null && dice.chance(part)) await this.#send(flight);
      if (flight.ending === null && !flight.isSubmitted && dice.chance(part)) await this.#handOn(flight);
    }
  }

  async #handOn(flight: PaymentUnderTest): Promise<void> {
    const answer = await flight.submit();
    await this.#judge(flight, answer);
  }

  /** Runs the background job and lets buyers ask, each at random. */
  async #observe(): Promise<void> {
    const { dice, hangar } = this.#scene;
    if (dice.chance(0.3)) {
      await hangar.world.running.payments.reconcileOnce();
      this.#scene.count('background passes');
      for (const flight of this.#flights) flight.isSeen ||= flight.isOpened && flight.place !== null;
    }
    const part = dice.pick([0, 0.3, 1]);
    const asking = this.#flights.filter(({ isOpened }) => isOpened && dice.chance(part));
    await Promise.all(asking.map((flight) => this.#ask(flight)));
  }

  async #ask(flight: PaymentUnderTest): Promise<void> {
    if (!flight.isOpened) return;
    const { dice, hangar } = this.#scene;
    const isAnew = endingOf(flight, this.#sight) === null && dice.chance(0.3);
    const ask = isAnew ? (flight.askWithNewProof ?? flight.ask) : flight.ask;
    const settled = hangar.facilitator.calls.settle;
    await this.#judge(flight, await ask());
    // A client that signs again gets the answer about the payment in flight.
    expect(hangar.facilitator.calls.settle).toBe(settled);
  }

  /** Checks that an answer matches the state of the chain. */
  async #judge(flight: PaymentUnderTest, answer: Answer): Promise<void> {
    const due = endingOf(flight, this.#sight);
    const said = wordOf(flight, answer);
    const wanted = due ?? (flight.place === null ? 'unseen' : 'seen');
    this.#scene.count(`answers: ${said}`);
    // For a fee or a claim the answer may be 202 before its transfer was seen, because the market continues in the background.
    const isAsWanted =
      said === wanted || (said === 'seen' && wanted === 'unseen' && flight.kind !== 'purchase by x402');
    const what = `${flight.name} is ${wanted} at ${JSON.stringify({ ...this.#sight, places: flight.place })}`;
    if (!isAsWanted) throw new Error(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    flight.isSeen = flight.place !== null;
    if (due !== null) await this.#end(flight, due);
  }

  async #end(flight: PaymentUnderTest, ending: Ending): Promise<void> {
    flight.ending = ending;
    this.#flights = this.#flights.filter((one) => one !== flight);
    this.#landed.push(flight);
    finishPayment(this.#scene.hangar, flight);
    this.#scene.count(`ended: ${ending}`);
    if (ending !== 'unpaid') await checkPublic(this.#scene.hangar, flight);
  }

  /** Reads the chain. A payment with a due outcome must report it in its next answer. */
  async readChain(): Promise<void> {
    const { hangar, setTime } = this.#scene;
    this.#sight = await hangar.chain.look(this.#flights);
    setTime(this.#sight.latest.time);
    for (const flight of this.#flights) {
      const place = placeOf(flight, this.#sight);
      if (place?.blockHash !== flight.place?.blockHash) flight.isSeen = false;
      flight.place = place;
    }
    const due = this.#flights.filter((flight) => flight.isOpened && endingOf(flight, this.#sight) !== null);
    await Promise.all(due.map((flight) => this.#ask(flight)));
  }

  /** Mines, stopping at each outcome and one block before it. */
  async mine(blocks: number): Promise<void> {
    const { dice } = this.#scene;
    await this.readChain();
    let left = blocks;
    while (left > 0) {
      const steps = this.#flights.map((flight) => stepsToEnd(flight, this.#sight));
      const next = Math.min(...steps);
      if (next > left) return await this.#mineBlind(left);
      const nearest = this.#flights.filter((_, at) => steps[at] === next);
      if (next > 1) await this.#mineBlind(next - 1);
      // In half of the cases, ask one block early, so that the market sees the transfer.
      if (dice.chance(0.5)) await Promise.all(nearest.map((flight) => this.#ask(flight)));
      const open = this.#flights.length;
      await this.#mineBlind(1);
      expect(this.#flights.length, 'exactly then it ended').toBe(open - nearest.length);
      left -= next;
    }
  }

  async #mineBlind(blocks: number): Promise<void> {
    if (blocks > 0) await this.#scene.hangar.world.chain.mine(blocks);
    await this.readChain();
  }

  /** Returns the number of blocks until just before one payment becomes final. */
  #blocksToOutcome(): number {
    const { dice } = this.#scene;
    const placed = this.#flights.flatMap(({ place }) => (place === null ? [] : place));
    if (placed.length === 0) return 0;
    return Math.max(0, dice.pick(placed).block - this.#sight.finalized.number - 1 - dice.number(2));
  }

  /** Chooses a random depth, usually enough to reach one of the payments. */
  #depth(): number {
    const { dice } = this.#scene;
    const { latest } = this.#sight;
    const placed = this.#flights.flatMap(({ place }) => (place === null ? [] : place));
    if (placed.length === 0 || dice.chance(0.15)) return 1 + dice.number(FINALITY_BLOCKS);
    // In half of the cases pick the deepest payment, which is closest to its outcome.
    const block = dice.chance(0.5) ? dice.pick(placed).block : Math.min(...placed.map((place) => place.block));
    const least = latest.number - block + 1;
    return Math.min(FINALITY_BLOCKS, least + (dice.chance(0.5) ? 0 : dice.number(FINALITY_BLOCKS)));
  }

  async #reorg(): Promise<void> {
    await this.readChain();
    const { dice, hangar } = this.#scene;
    const { latest, finalized } = this.#sight;
    const depth = this.#depth();
    const first = latest.number - depth + 1;
    const drawn = await drawFates(this.#flights, { dice, sight: this.#sight, depth, stray: hangar.chain.stray });
    const before = new Map(this.#flights.map((flight) => [flight, flight.place]));
    for (const [flight, fate] of drawn.fates) this.#scene.count(`${stepOf(flight, this.#sight)}: ${fate.name}`);
    const touched = [...drawn.fates.values()].filter(({ name }) => name !== 'untouched' && name !== 'waits');
    this.#scene.count(touched.length > 0 ? 'reorgs that touched a payment' : 'reorgs that touched none');
    await hangar.chain.reorg(depth, drawn.plan);
    this.#sight = await hangar.chain.look(this.#flights);
    expect(this.#sight.latest.number).toBe(latest.number);
    expect(this.#sight.finalized).toEqual(finalized);
    for (const [flight, fate] of drawn.fates) {
      const old = before.get(flight) ?? null;
      checkFate(flight, fate, old, { sight: this.#sight, first });
      const place = placeOf(flight, this.#sight);
      if (old !== null && place?.hash === old.hash && place.logIndex !== old.logIndex)
        this.#scene.count('other log indexes');
    }
  }

  async compareBooks(): Promise<void> {
    await compareLedger(this.#scene.hangar.world.db.database, [...this.#flights, ...this.#landed]);
  }
}

function placeOf({ hashes }: PaymentUnderTest, { places }: Sight): Place | null {
  return hashes.map((hash) => places.get(hash)).find((place) => place !== undefined) ?? null;
}

/** Returns the final outcome. Null while it is unknown. */
function endingOf(flight: PaymentUnderTest, { latest, finalized }: Sight): Ending | null {
  const { place, begin, end, isX402, isSubmitted } = flight;
  if (place !== null) {
    if (place.block > finalized.number) return null;
    return isX402 || (place.time >= begin && place.time < end) ? 'paid' : 'review';
  }
  if (!isSubmitted) return latest.time > end ? 'unpaid' : null;
  return finalized.time >= end ? 'unpaid' : null;
}

/** Returns the number of blocks until the outcome, if nothing changes. */
function stepsToEnd(flight: PaymentUnderTest, { latest, finalized }: Sight): number {
  const { place, end, isSubmitted, isOpened } = flight;
  if (!isOpened) return Infinity;
  if (place !== null) return place.block - finalized.number;
  return isSubmitted ? end - finalized.time : end + 1 - latest.time;
}

/** Returns how far the payment has come when the reorg happens. */
function stepOf(
  { kind, isX402, isSubmitted, isOpened, place, isSeen }: PaymentUnderTest,
  { finalized }: Sight,
): string {
  if (place === null) {
    if (isX402) return `${kind}, ${isSubmitted ? 'settling' : 'opened'}`;
    return `${kind}, ${isOpened ? 'claimed, not mined' : 'intent open'}`;
  }
  if (place.block <= finalized.number + 2) return `${kind}, just before final`;
  if (isX402) return `${kind}, ${isSeen ? 'mined and seen' : 'mined'}`;
  return `${kind}, ${isOpened ? 'after the claim' : 'before the claim'}`;
}

function checkFate(
  flight: PaymentUnderTest,
  fate: Fate,
  before: Place | null,
  now: { sight: Sight; first: number },
): void {
  const place = placeOf(flight, now.sight);
  const what = `${flight.name} ${fate.name}`;
  if (fate.at === null) return void expect(place, what).toEqual(fate.name === 'untouched' ? before : null);
  expect(place?.block, what).toBe(now.first + fate.at);
  expect(place?.blockHash, what).not.toBe(before?.blockHash);
}

/** Checks the public status of a payment whose money arrived. */
async function checkPublic(
  { world }: PaymentSetup,
  { name, ending, place, isX402, from, key }: PaymentUnderTest,
): Promise<void> {
  const query = isX402 ? `payer=${from}&nonce=0x${key}` : `intent_id=${key}`;
  const { body } = await world.ask('GET', `/api/payment?${query}`);
  expect(body['payment'], name).toMatchObject({
    payment_status: ending === 'paid' ? 'completed' : 'needs_review',
    do_not_pay_again: true,
    tx_hash: place?.hash,
    block_number: place?.block,
  });
}

function wordOf(flight: PaymentUnderTest, answer: Answer): Ending | 'seen' | 'unseen' | 'wrong' {
  const { status, body } = answer;
  const isPayAgain = body['do_not_pay_again'] === false;
  if (flight.isDelivery(answer)) return 'paid';
  if ('artifact' in body || 'listing_id' in body) return 'wrong';
  if (status === 202) return isPayAgain ? 'wrong' : 'seen';
  if (status === 503) return body['do_not_pay_again'] === true ? 'unseen' : 'wrong';
  if (status === 422 && body['payment_status'] === 'needs_review') return isPayAgain ? 'wrong' : 'review';
  const isOver = flight.isX402 ? status === 402 : status === 422 && body['reason'] === 'transfer_not_found';
  return isOver ? 'unpaid' : 'wrong';
}
