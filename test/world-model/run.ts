import sql from 'sql-template-tag';
import type { OfferOut } from '../../src/contract/world-records.ts';
import type { Answer } from '../support/market-world.ts';
import {
  type Person,
  PRICE,
  type Sites,
  type Thing,
  type Reservation as ToldReservation,
} from '../world/thing-stage.ts';
import { Fault, Reference } from './reference.ts';
import type { Stage } from './stage.ts';
import type { Proof, Seen, Transfer, View } from './terms.ts';

const BUYERS_PER_RUN = 2;

/** A thing of the run, its known state, and the acts on it. */
export interface Lot {
  thing: Thing;
  reference: Reference;
  seen: Seen;
  checkouts: { id: number; who: Person }[];
  told: { reservation: ToldReservation; who: Person }[];
}

export interface Step {
  /** Short name under which answers are counted. */
  what: string;
  lot: Lot;
  who: Person | null;
  ask(): Promise<Answer>;
  /** Records facts in the reference before it judges. */
  note?(answer: Answer): void;
  /** Checks effects that only this act requires. */
  check?(before: Seen, after: Seen, answer: Answer): void;
  /** True if the connection was cut or lied, so a site may say that it cannot read the other. */
  isLied?: boolean;
}

/** Holds one or two things of one seller, two buyers, and everything sent so far. */
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
        seen: await readState({ sites, thing, eventsSince, before: null }),
        checkouts: [],
        told: [],
      });
    }
    await run.observe();
    return run;
  }

  /** Sends a request, reads the whole state and compares it with the reference. */
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

  /** Runs an act that sends no request. `check` applies to each thing. */
  async runAct(what: string, act: () => Promise<unknown>, check?: (lot: Lot, before: Seen) => void): Promise<void> {
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
      ...lots.map(({ thing, seen }) => readState({ ...this.#sight, thing, before: seen })),
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

  /** Transfers of this run, and two of earlier runs. */
  get transfers(): Transfer[] {
    const { paid, sold } = this.stage.past;
    return [...new Set([sold, paid])].filter((one) => one !== null).concat(this.view.transfers);
  }

  /** Transfers of this run, newest last. */
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

  /** Keeps transfers that later runs may try to reuse. */
  keepTransfers(): void {
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

  /** Adds to a fault the act after which it appeared. */
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

interface CityRow {
  owner: string;
  history: Seen['history'];
  locked: boolean;
  proofs: Proof[];
}

interface MarketRow {
  state: string;
  draft: string;
  checkouts: { id: number; state: string; who: string; until: number }[];
  proofs: Proof[];
  purchases: Seen['purchases'];
  sales: number;
  cancellations: number;
}

/** The last known state, and what is needed to read the rest. */
interface Sight {
  sites: Sites;
  thing: Thing;
  /** Id of the last event to ignore. */
  eventsSince: bigint;
  before: Seen | null;
}

/** Public state of a listing before any sale. */
const NEW: Seen['shown'] = { state: 'live', sales: 0, world_receipt: null };

/** Reads the public state of both sites and their databases. */
async function readState({ sites, thing, eventsSince, before }: Sight): Promise<Seen> {
  const [offer, inCity, onMarket] = await Promise.all([
    sites.offer(thing) as Promise<unknown> as Promise<OfferOut>,
    readCity(sites, thing),
    readMarket(sites, thing, eventsSince),
  ]);
  const { owner, history, locked } = inCity;
  const { state, draft, purchases, sales, cancellations } = onMarket;
  // The catalog is slow, so read it only after a change.
  const shown = (before?.state ?? 'live') === state ? (before?.shown ?? NEW) : await readShown(sites, thing);
  const checkouts = new Map(onMarket.checkouts.map(({ id, ...checkout }) => [id, checkout]));
  const proofs = { cityProofs: inCity.proofs, marketProofs: onMarket.proofs };
  return { offer, shown, owner, history, locked, state, draft, checkouts, purchases, sales, cancellations, ...proofs };
}

async function readShown(sites: Sites, thing: Thing): Promise<Seen['shown']> {
  const { state, sales, world_receipt } = (await sites.listing(thing)) as unknown as Seen['shown'];
  return { state, sales, world_receipt };
}

function readCity({ city }: Sites, { thingId, offerId }: Thing): Promise<CityRow> {
  return city.db.database.one<CityRow>(sql`
    select r.handle as owner,
      (select jsonb_agg(jsonb_build_object('owner', w.handle, 'offer_id', h.offer_id) order by h.nth desc)
        from thing_owners h join residents w on w.id = h.owner_id where h.thing_id = t.id) as history,
      exists (select from offers where thing_id = t.id and phase not in ('claimed', 'canceled')) as locked,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(tx_hash, 'hex'), 'block', block_number)), '[]')
        from sale_proofs where offer_id = ${offerId}) as proofs
    from things t join residents r on r.id = t.owner_id where t.id = ${thingId}`);
}

async function lastEvent({ market }: Sites): Promise<bigint> {
  const { last } = await market.db.database.one<{ last: bigint }>(
    sql`select coalesce(max(queue_id), 0) as last from events`,
  );
  return last;
}

function readMarket({ market }: Sites, { listingId, draftId }: Thing, eventsSince: bigint): Promise<MarketRow> {
  const own = sql`queue_id > ${eventsSince}
    and (convert_from(canonical, 'UTF8')::jsonb #>> '{detail,listing_id}')::bigint = ${listingId}::bigint`;
  return market.db.database.one<MarketRow>(sql`
    select l.state, (select state from world_drafts where id = ${draftId}) as draft,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'state', state, 'who', city_handle,
        'until', (extract(epoch from expires_at) * 1000)::bigint)), '[]') from world_checkouts where listing_id = l.id) as checkouts,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(tx_hash, 'hex'), 'block', block_number)), '[]')
        from payment_proofs where world_listing_id = l.id) as proofs,
      (select coalesce(jsonb_agg(jsonb_build_object('hash', '0x' || encode(p.tx_hash, 'hex'), 'buyer', m.handle,
        'checkout', p.checkout_id)), '[]') from purchases p join merchants m on m.id = p.merchant_id where p.listing_id = l.id) as purchases,
      (select count(*)::int from events where kind = 'world_sale' and ${own}) as sales,
      (select count(*)::int from events where kind = 'world_canceled' and ${own}) as cancellations
    from listings l where l.id = ${listingId}`);
}
