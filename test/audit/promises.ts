import { shown } from './print.ts';
import { type EventDetail, type ToldEvent, unitsOf } from './told.ts';

/** An act after which a listing cannot be edited. */
export interface Ending {
  act: 'removed' | 'withdrew' | 'sold' | 'canceled';
  /** Name of the event that recorded it, for messages. */
  name: string;
  /** Unix time in milliseconds. */
  at: number;
}

/** A listing's promise in the log, with later changes. Hex is lower case, amounts are in units. A field is null if the log does not say. */
export interface Promised {
  /** Name of the event that listed it, for messages. */
  name: string;
  /** Time in the event, as Unix time in milliseconds. */
  at: number;
  merchant: string;
  isPaid: boolean;
  /** True for a thing of a city, which has no commitment to goods. */
  isThing: boolean;
  units: string;
  wallet: string | null;
  commitment: string | null;
  supersedes: number | null;
  /** Name of the first event that recorded a sale. */
  sold: string | null;
  ending: Ending | null;
  /** Removal that was not reversed, even if the listing ended in another way since. */
  removed: Ending | null;
  /** Withdrawal, which stays when a removal is reversed. */
  withdrawn: Ending | null;
}

/** An event with its number. The number is null while the event waits for one. */
export interface LoggedEvent extends ToldEvent {
  id: number | null;
}

export interface PromisesOrder {
  /** First event from which each listing must promise wallet and goods. Null: derived from the log. */
  since: number | null;
  /** Only handle that may list without a fee and moderate. Null if the market names none, omitted if the books know it. */
  maintainer?: string | null;
  earlier?: Iterable<readonly [number, Promised]>;
  /** Read-only promises of an earlier reading. Events change copies of them, in `of`. */
  before?: ReadonlyMap<number, Promised>;
}

export interface Promises {
  of: ReadonlyMap<number, Promised>;
  /** Takes the next event in log order. Returns its faults. */
  take(name: string, event: LoggedEvent): string[];
  /** Returns the number of listings for which the log promises only the price. */
  priceOnly(): number;
  /** Returns the first event from which each listing must promise more than a price. Null if it is unknown. */
  since(): number | null;
  /** Returns the faults that show only after the last event. */
  left(): string[];
}

const WALLET = /^0x[0-9a-f]{40}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;

/** Collects the promises of each listing and checks each event by the rules of a market. */
export function createPromises({ since, maintainer, earlier = [], before: base }: PromisesOrder): Promises {
  const of = new Map<number, Promised>(earlier);
  /** Names of events by listing id, for listings that an event names before the one that lists them. */
  const early = new Map<number, string>();
  const line = createLine(since, of.values());
  const vague = (): number => [...of.values()].filter(isVague).length;
  const find = (id: number): Promised | undefined => {
    const kept = of.get(id) ?? base?.get(id);
    if (kept === undefined || of.has(id)) return kept;
    const copy = { ...kept };
    of.set(id, copy);
    return copy;
  };

  const list = (name: string, event: LoggedEvent): string[] => {
    const { detail } = event;
    const id = idIn(detail.listing_id);
    if (id === null) return [`${name} lists ${shown(detail.listing_id)}, which is no number of a listing`];
    const before = find(id);
    if (before !== undefined) return [`${name} lists listing ${id} again, which ${before.name} listed`];
    const promised = promisedBy(name, event);
    of.set(id, promised);
    const isDue = line.take(event, promised);
    const missing = missingIn(promised);
    const sooner = early.get(id);
    return [
      ...malformedIn(name, detail),
      ...(missing.length > 0 && isDue ? [`${name} lists listing ${id} without ${missing.join(', ')}`] : []),
      ...(sooner === undefined ? [] : [`${name} lists listing ${id}, of which ${sooner} told before`]),
    ];
  };

  return {
    of,
    take: (name, event) => {
      line.pass(event);
      const foreign = foreignIn(name, event, maintainer);
      if (event.kind === 'listing' || event.kind === 'maintainer_seed') return [...foreign, ...list(name, event)];
      if (!Object.hasOwn(ACTS, event.kind)) return foreign;
      const id = idIn(event.detail.listing_id);
      if (id === null)
        return actsOnListing(event)
          ? [...foreign, `${name} tells of ${shown(event.detail.listing_id)}, which is no number of a listing`]
          : foreign;
      const promised = find(id);
      if (promised === undefined) {
        if (!early.has(id)) early.set(id, name);
        return foreign;
      }
      const act = { name, id, promised, event, isDue: line.isBehind(event) };
      return [...foreign, ...unfitIn(act), ...ACTS[event.kind as ActKind](act)];
    },
    priceOnly: vague,
    since: line.from,
    left: () =>
      !line.isDrawn() && vague() > 0
        ? [
            `no event promises a wallet or goods: ${vague()} listings promise only a price, and could be paid to anybody. If all of them were listed before this market's program told more, name with --since the event from which on they must`,
          ]
        : [],
  };
}

/** Longest duration of an upgrade, during which older and newer processes may list side by side. */
const UPGRADE_MS = 24 * 3_600_000;

const isFull = ({ wallet, commitment }: Promised): boolean => wallet !== null || commitment !== null;
const isVague = (promised: Promised): boolean => missingIn(promised).length > 0;

/**
 * Decides from which event on promises must be complete. If the log began with complete ones, that is the first of them. If it began with
 * prices alone, it is a day after the first complete one, by the latest time in any event so far, since a log may not go back in time. An
 * event that goes back more than a day, or is that far ahead of the auditor's clock, ends that day at once.
 */
function createLine(since: number | null, earlier: Iterable<Promised>) {
  const known = [...earlier];
  let hasVague = known.some(isVague);
  let hasFull = known.some(isFull);
  let from = since;
  let until = Infinity;
  let latest = 0;
  const aheadMs = Date.now() + UPGRADE_MS;
  const isOver = (event: LoggedEvent): boolean =>
    latest > until || (until !== Infinity && (latest > aheadMs || timeOf(event) < latest - UPGRADE_MS));
  const isBehind = (event: LoggedEvent): boolean =>
    (since === null && isOver(event)) || (from !== null && (event.id === null || event.id >= from));
  return {
    pass: (event: LoggedEvent): void => {
      latest = Math.max(latest, timeOf(event) || 0);
    },
    isBehind,
    /** Returns whether this listing must promise everything. */
    take: (event: LoggedEvent, promised: Promised): boolean => {
      if (from === null && isFull(promised) && !hasVague) from = event.id;
      if (isFull(promised)) until = Math.min(until, latest + UPGRADE_MS);
      if (from === null && isOver(event)) from = event.id;
      hasVague ||= isVague(promised);
      hasFull ||= isFull(promised);
      return isBehind(event);
    },
    from: () => from,
    /** Returns whether the start of complete promises is known. */
    isDrawn: () => since !== null || hasFull,
  };
}

const idIn = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
const formIn = (value: unknown, form: RegExp): string | null =>
  typeof value === 'string' && form.test(value) ? value.toLowerCase() : null;

function promisedBy(name: string, event: LoggedEvent): Promised {
  const { kind, actor, detail } = event;
  return {
    name,
    at: timeOf(event) || 0,
    merchant: actor,
    isPaid: kind === 'listing',
    isThing: detail.aisle === 'world',
    units: unitsOf(detail.price_usdc),
    wallet: formIn(detail.seller_wallet, WALLET),
    commitment: formIn(detail.artifact_commitment, HASH),
    supersedes: idIn(detail.supersedes),
    sold: null,
    ending: null,
    removed: null,
    withdrawn: null,
  };
}

function missingIn({ units, wallet, commitment, isThing }: Promised): string[] {
  return [
    ...(units === '?' ? ['a price'] : []),
    ...(wallet === null ? ['a wallet'] : []),
    ...(commitment === null && !isThing ? ['a commitment to its goods'] : []),
  ];
}

/** Returns faults for fields that are present but malformed. No older program wrote such fields. */
function malformedIn(name: string, detail: EventDetail): string[] {
  const { seller_wallet: wallet, artifact_commitment: commitment, price_usdc: price } = detail;
  return [
    ...(wallet === undefined || formIn(wallet, WALLET) ? [] : [`${name} names ${shown(wallet)}, which is no wallet`]),
    ...(commitment === undefined || formIn(commitment, HASH)
      ? []
      : [`${name} names ${shown(commitment)}, which is no commitment`]),
    ...(price === undefined || unitsOf(price) !== '?' ? [] : [`${name} names ${shown(price)}, which is no price`]),
  ];
}

interface Act {
  name: string;
  id: number;
  promised: Promised;
  event: LoggedEvent;
  /** True if the promises must be complete. */
  isDue: boolean;
}

/**
 * Checks for each kind of event that acts on a listing. The log has sales, edits and endings of one listing in the order in which they
 * happened.
 */
const ACTS = {
  sale: sell,
  world_sale: sellThing,
  listing_edit: edit,
  withdrawal: (act: Act): string[] => end(act, 'withdrew'),
  world_canceled: (act: Act): string[] => end(act, 'canceled'),
  moderation: moderate,
} as const;
type ActKind = keyof typeof ACTS;

/** Whether the event acts on a listing. The maintainer's acts on comments, fees and merchants do not. */
function actsOnListing({ kind, detail }: LoggedEvent): boolean {
  return kind !== 'moderation' || detail.action === 'remove' || detail.action === 'decide_appeal';
}

/** Returns a fault if anyone but the maintainer lists without a fee or moderates. */
function foreignIn(name: string, { kind, actor }: LoggedEvent, maintainer: string | null | undefined): string[] {
  if (maintainer === undefined || actor === maintainer) return [];
  if (kind !== 'maintainer_seed' && kind !== 'moderation') return [];
  const does = kind === 'moderation' ? 'moderates' : 'lists without a fee';
  return [
    `${name} ${does} as ${shown(actor)}, and the market names ${maintainer === null ? 'no maintainer' : `${shown(maintainer)} as its maintainer`}`,
  ];
}

/** Returns faults for acts that this kind of listing does not allow, or that another merchant made. */
function unfitIn({ name, id, promised, event }: Act): string[] {
  const { kind, actor } = event;
  const isOfThings = kind === 'world_sale' || kind === 'world_canceled';
  const isOwn = kind !== 'withdrawal' && kind !== 'listing_edit';
  return [
    ...(isOfThings && !promised.isThing ? [`${name} is a ${kind} of listing ${id}, which is no thing of a city`] : []),
    ...(kind === 'sale' && promised.isThing
      ? [`${name} sells listing ${id}, a thing of the city, as if it were goods`]
      : []),
    ...(isOwn || actor === promised.merchant
      ? []
      : [`${name} is a ${kind} of listing ${id} by ${shown(actor)}, and its merchant is ${shown(promised.merchant)}`]),
  ];
}

function sell({ name, id, promised, event }: Act): string[] {
  const { ending } = promised;
  promised.sold ??= name;
  // Paid goods are delivered even if the listing ended after the payment. Free goods are not.
  if (event.detail.verified_via !== 'free' || ending === null) return [];
  return [`${name} gives listing ${id} away, which ${ending.name} ${ending.act}`];
}

function sellThing({ name, id, promised, event }: Act): string[] {
  const before = promised.sold;
  promised.sold ??= name;
  promised.ending = { act: 'sold', name, at: timeOf(event) };
  return before === null ? [] : [`${name} sells the thing of listing ${id}, which ${before} sold`];
}

/** Checks an edit. It must precede the first sale and keep price and wallet, and also the goods unless the listing is free. */
function edit({ name, id, promised, event, isDue }: Act): string[] {
  const { detail } = event;
  const fields = Array.isArray(detail.fields) ? detail.fields : [];
  const goods = fields.filter(
    (field) => field === 'title' || (typeof field === 'string' && field.startsWith('artifact')),
  );
  const commitment = formIn(detail.artifact_commitment, HASH);
  const isExchanged = fields.includes('artifact') || detail.artifact_commitment !== undefined;
  const isFixed =
    [detail.price_usdc, detail.seller_wallet].some((value) => value !== undefined) ||
    fields.some((field) => field === 'price_usdc' || field === 'seller_wallet');
  const { sold, ending, isThing, units } = promised;
  if (commitment !== null) promised.commitment = commitment;
  return [
    ...(sold === null ? [] : [`${name} edits listing ${id}, which ${sold} sold before`]),
    ...(ending === null || ending.act === 'sold'
      ? []
      : [`${name} edits listing ${id}, which ${ending.name} ${ending.act}`]),
    ...(isThing ? [`${name} edits listing ${id}, a thing of the city, which stays as it was listed`] : []),
    ...(isFixed ? [`${name} edits price or wallet of listing ${id}, which never change`] : []),
    ...(units !== '0' && (goods.length > 0 || isExchanged)
      ? [`${name} exchanges what listing ${id} sells for money`]
      : []),
    ...(isExchanged && commitment === null && isDue
      ? [`${name} exchanges the goods of listing ${id} without a commitment`]
      : []),
  ];
}

function end({ name, promised, event }: Act, act: Ending['act']): string[] {
  const ending = { act, name, at: timeOf(event) };
  if (act === 'withdrew') promised.withdrawn ??= ending;
  if (act === 'removed') promised.removed = ending;
  promised.ending = act === 'withdrew' && promised.ending !== null ? promised.ending : ending;
  return [];
}

function moderate(act: Act): string[] {
  const { promised, event } = act;
  const { action, outcome } = event.detail;
  if (action === 'remove') return end(act, 'removed');
  if (action !== 'decide_appeal' || outcome !== 'restored') return [];
  // A thing that was sold or canceled stays sold or canceled.
  if (promised.ending?.act === 'removed') promised.ending = promised.withdrawn;
  promised.removed = null;
  return [];
}

const timeOf = ({ at }: LoggedEvent): number => Date.parse(String(at));

/** A listing as the books or the market's public pages show it. */
export interface Goods {
  id: number;
  wallet: string;
  units: string;
  commitment: string | null;
}

/** Checks that the listing still matches its promise. */
export function faultsOfPromise(promised: Promised, goods: Goods): string[] {
  const name = `listing ${goods.id}`;
  const faults: string[] = [];
  if (promised.units !== '?' && promised.units !== goods.units)
    faults.push(`${name} costs ${goods.units} units, and ${promised.name} says ${promised.units}`);
  if (promised.wallet !== null && promised.wallet !== goods.wallet)
    faults.push(`${name} is paid to ${goods.wallet}, and ${promised.name} says ${promised.wallet}`);
  if (promised.commitment !== null && promised.commitment !== goods.commitment)
    faults.push(`${name} promises ${goods.commitment}, and the log says ${promised.commitment}`);
  return faults;
}
