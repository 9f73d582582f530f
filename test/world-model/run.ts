import type { Answer } from '../support/market-world.ts';
import { type Person, PRICE, type Thing, type Reservation as ToldReservation } from '../world/thing-stage.ts';
import { Fault, Reference } from './reference.ts';
import { lastEvent, type Sight, see } from './see.ts';
import type { Stage } from './stage.ts';
import type { Seen, Transfer, View } from './terms.ts';

const BUYERS_PER_RUN = 2;

/** A thing of the run: what is known of it, and what was done about it. */
export interface Lot {
  thing: Thing;
  reference: Reference;
  /** As it was at the last check. */
  seen: Seen;
  checkouts: { id: number; who: Person }[];
  told: { reservation: ToldReservation; who: Person }[];
}

/** A request to a site. */
export interface Step {
  /** A word, for the tally. */
  what: string;
  lot: Lot;
  /** The buyer who asks, if it is one. */
  who: Person | null;
  ask(): Promise<Answer>;
  /** What the reference has to know of it before it judges. */
  note?(answer: Answer): void;
  /** What this act has to lead to, beyond what holds for all. */
  check?(before: Seen, after: Seen, answer: Answer): void;
  /** The wire was cut or lied: then a site may say that the other cannot be read. */
  isLied?: boolean;
}

/** One or two things of one seller, two buyers, and all that was sent so far. */
export class Run {
  readonly stage: Stage;
  readonly seller: Person;
  readonly buyers: readonly Person[];
  readonly lots: Lot[] = [];
  readonly #firstBlock: number;
  readonly #sight: Pick<Sight, 'sites' | 'eventsSince'>;
  view: View;

  constructor(stage: Stage, no: number, given: { view: View; eventsSince: bigint }) {
    this.stage = stage;
    this.view = given.view;
    this.#firstBlock = given.view.latest.number;
    this.#sight = { sites: stage.sites, eventsSince: given.eventsSince };
    this.seller = rotated(stage.sellers, no)[0] as Person;
    this.buyers = rotated(stage.buyers, no * BUYERS_PER_RUN).slice(0, BUYERS_PER_RUN);
  }

  static async begin(stage: Stage, given: { no: number; things: number }): Promise<Run> {
    const { sites } = stage;
    const [view, eventsSince] = await Promise.all([stage.view(null), lastEvent(sites)]);
    const run = new Run(stage, given.no, { view, eventsSince });
    while (run.lots.length < given.things) {
      const thing = await stage.list(run.seller);
      const { resident, wallet } = run.seller;
      const reference = new Reference({ seller: resident.handle, payee: wallet.address, units: PRICE });
      for (const hash of stage.sold.keys()) reference.spent.add(hash);
      run.lots.push({
        thing,
        reference,
        seen: await see({ sites, thing, eventsSince, before: null }),
        checkouts: [],
        told: [],
      });
    }
    await run.observe();
    return run;
  }

  /** Asks, looks at everything, and holds it against the reference. */
  async step({ what, lot, who, ask, note, check, isLied = false }: Step): Promise<Answer> {
    const before = lot.seen;
    const answer = await ask();
    this.#count(`${what}: ${wordOf(answer)}`);
    note?.(answer);
    await this.#blame(what, answer, async () => {
      await this.observe();
      if (answer.status >= 500 && !isLied) throw new Fault('a site failed');
      if (who !== null) lot.reference.judgeAnswer(before, who.resident.handle, answer);
      check?.(before, lot.seen, answer);
    });
    return answer;
  }

  /** Something that no site is asked for. `check` holds for each thing. */
  async happen(what: string, act: () => Promise<unknown>, check?: (lot: Lot, before: Seen) => void): Promise<void> {
    const before = this.lots.map(({ seen }) => seen);
    await act();
    this.#count(what);
    await this.#blame(what, null, async () => {
      await this.observe();
      for (const [at, lot] of this.lots.entries()) check?.(lot, before[at] ?? lot.seen);
    });
  }

  async observe(): Promise<void> {
    const { stage, lots } = this;
    const [view, ...seen] = await Promise.all([
      stage.view(this.#firstBlock),
      ...lots.map(({ thing, seen }) => see({ ...this.#sight, thing, before: seen })),
    ]);
    this.view = view;
    for (const [at, { offer }] of seen.entries()) {
      if (offer.phase !== 'claimed' || offer.tx_hash === null) continue;
      for (const lot of lots) if (lot !== lots[at]) lot.reference.spent.add(offer.tx_hash);
    }
    for (const [at, lot] of lots.entries()) {
      const after = seen[at];
      if (after === undefined) continue;
      const was = lot.seen;
      lot.seen = after;
      lot.reference.view = { ...view, transfers: this.transfers };
      lot.reference.now = stage.time.clock.now();
      lot.reference.judge(was, after);
      if (was.offer.phase !== after.offer.phase) this.#count(`offer: ${was.offer.phase} to ${after.offer.phase}`);
    }
  }

  /** Those of this run, and two of earlier ones. */
  get transfers(): Transfer[] {
    const { paid, sold } = this.stage.past;
    return [...new Set([sold, paid])].filter((one) => one !== null).concat(this.view.transfers);
  }

  /** Of this run, the newest last. */
  get sent(): Transfer[] {
    const payees = this.lots.map(({ thing }) => thing.seller.wallet.address as string);
    return this.view.transfers.filter(({ to }) => payees.includes(to));
  }

  lot(nth: number): Lot {
    return this.lots[nth % this.lots.length] as Lot;
  }

  buyer(nth: number): Person {
    return this.buyers[nth % this.buyers.length] as Person;
  }

  /** What the next runs may try to use once more. */
  leave(): void {
    const { stage } = this;
    for (const { seen, thing } of this.lots) {
      const { tx_hash: hash, phase } = seen.offer;
      if (phase !== 'claimed' || hash === null) continue;
      const other = stage.sold.get(hash);
      if (other !== undefined) throw new Fault(`${hash} has bought the things ${other} and ${thing.thingId}`);
      stage.sold.set(hash, thing.thingId);
      stage.past.sold = this.view.transfers.find((one) => one.hash === hash) ?? stage.past.sold;
    }
    stage.past.paid = this.sent.at(-1) ?? stage.past.paid;
  }

  #count(what: string): void {
    const { tally } = this.stage;
    tally.set(what, (tally.get(what) ?? 0) + 1);
  }

  /** A fault is told with the act after which it showed. */
  async #blame(what: string, answer: Answer | null, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const said = answer === null ? '' : `: ${answer.status} ${JSON.stringify(answer.body)}`;
      const stands = this.lots.map(({ seen }) => `${seen.offer.phase} in the city, ${seen.state} on the market`);
      throw new Fault(`${error.message}\nafter ${what}${said}\n${stands.join('\n')}`);
    }
  }
}

function rotated<T>(all: readonly T[], by: number): T[] {
  const at = by % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

function wordOf({ status, body }: Answer): string {
  const { offer, status: word } = body as { offer?: { phase: string }; status?: string };
  return `${status} ${body['reason'] ?? offer?.phase ?? word ?? ''}`.trim();
}
