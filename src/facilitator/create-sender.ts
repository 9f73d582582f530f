import { parseTransaction } from 'viem';
import type { Authorization } from '../platform/chain/shapes.ts';
import type { Hex } from '../platform/hex.ts';
import { type Limits, paysForGas, type Reserved, unitsOfWei } from './budget/gas-budget.ts';
import type { Conclude } from './conclude.ts';
import { type Context, countOne } from './context.ts';
import type { Follower } from './create-follower.ts';
import { type Entry, keyOf, newestOf, type Pool, type SignedTransaction } from './journal/entry.ts';
import { ChainTrouble, Deferred, TransferRefused, transmit } from './outcomes.ts';
import type { Quote } from './quote-gas.ts';
import { signTransaction } from './sign-transaction.ts';

export interface Sender {
  /** The place of this authorization in the order: the one it has, or its first, signed and broadcast. */
  send(authorization: Authorization, given: { hasCode: boolean; data: Hex }): Promise<Readonly<Entry>>;
  /**
   * Signs the same transfer for a further place and broadcasts it, once another transaction was mined in the place of this one. Throws
   * `TransferRefused` where it would not go through any more.
   */
  sendOnceMore(entry: Readonly<Entry>): Promise<void>;
  /** The node did not want its newest transaction. */
  isRefused(entry: Readonly<Entry>): boolean;
  /** Offers it once more. */
  offerAgain(entry: Readonly<Entry>): Promise<void>;
  /** What waits for room is not signed any more. */
  close(): void;
}

interface Rehearsed {
  hasCode: boolean;
  data: Hex;
  quote: Quote;
}

/** A transaction mined later than this before the end of the authorization would only cost gas. */
const SECONDS_AHEAD = 4;

/**
 * Many settlements are on their way at once: each is rehearsed by itself, takes the next place in the account's order, is written with
 * those of the same moment, and goes to the node once it is on disk. Only what follows from memory happens one after the other.
 */
export function createSender(context: Context, dependencies: { conclude: Conclude; follower: Follower }): Sender {
  const { address, crashPoint, journal, limits, nonces, signing } = context;
  const underway = new Map<string, Promise<Readonly<Entry>>>();
  const room = createRoom(limits, () => journal.inFlight().size);
  const write = createWrite(context);
  const { broadcast, isRefused } = createBroadcast(context, dependencies.follower);
  dependencies.conclude.onEnd(room.wake);

  /** Null where the order of transactions has to be asked for first. Nothing is awaited between the looks and the places that are taken. */
  const begin = (authorization: Authorization, given: Rehearsed): Promise<Readonly<Entry>> | null => {
    const key = keyOf(authorization);
    const before = journal.find(authorization);
    if (before !== null) return Promise.resolve(before);
    const same = underway.get(key);
    if (same !== undefined) return same;
    if (room.isClosed()) throw new ChainTrouble('the facilitator is closing');
    refuseHopeless(context, authorization);
    const reserved = drawOn(context, authorization, given);
    const accountNonce = nonces.take();
    if (accountNonce === null) return null;
    signing.add(reserved);
    const { pool, reservedUnits } = reserved;
    const common = { authorization, sender: address, accountNonce, hasCode: given.hasCode, pool, reservedUnits };
    const fresh = { ...common, estimatedGas: given.quote.estimatedGas, ending: null, isFinal: false };
    const written = write({ data: given.data, quote: given.quote, accountNonce }, (transaction) =>
      journal.add({ ...fresh, transactions: [transaction] }),
    );
    const sent = written
      .finally(() => signing.delete(reserved))
      .then(async (entry) => {
        crashPoint('after_line_synced');
        await broadcast(entry);
        crashPoint('after_broadcast');
        return entry;
      });
    underway.set(key, sent);
    return sent.finally(() => underway.delete(key));
  };
  return {
    send: async (authorization, { hasCode, data }) => {
      const leave = await room.enter();
      try {
        const [quote] = await Promise.all([context.quoteGas.rehearse(data), nonces.ready()]);
        for (;;) {
          const begun = begin(authorization, { hasCode, data, quote });
          if (begun !== null) return await begun;
          await nonces.ready();
        }
      } catch (error) {
        // A node that fails may have lost what it had.
        if (error instanceof ChainTrouble) nonces.distrust();
        throw error;
      } finally {
        leave();
      }
    },
    sendOnceMore: createSendOnceMore(context, { write, broadcast, isClosed: room.isClosed }),
    isRefused,
    offerAgain: broadcast,
    close: room.close,
  };
}

function createBroadcast({ log, nonces, rpc }: Context, follower: Follower) {
  const refusedOnes = new WeakSet<Readonly<Entry>>();
  const broadcast = async (entry: Readonly<Entry>): Promise<void> => {
    const { hash, raw } = newestOf(entry);
    follower.expect(entry);
    const transmission = await transmit(rpc, raw);
    log.info('settlement_broadcast', { transaction_hash: hash, payer: entry.authorization.from, transmission });
    if (transmission !== 'taken') nonces.distrust();
    // It keeps its place, and is offered again: what one node has refused may still be with another.
    refusedOnes.delete(entry);
    if (transmission !== 'refused') return;
    refusedOnes.add(entry);
    throw new ChainTrouble('the node refused the transaction');
  };
  return { broadcast, isRefused: (entry: Readonly<Entry>): boolean => refusedOnes.has(entry) };
}

interface FurtherDependencies {
  write: Write;
  broadcast(entry: Readonly<Entry>): Promise<void>;
  isClosed(): boolean;
}

/** The entry is in flight already, and counts with what it may lose: no room and no budget is asked for. */
function createSendOnceMore(
  context: Context,
  { write, broadcast, isClosed }: FurtherDependencies,
): Sender['sendOnceMore'] {
  const { counts, crashPoint, journal, nonces, quoteGas } = context;
  return async (entry) => {
    const { data } = parseTransaction(newestOf(entry).raw);
    if (data === undefined) throw new TransferRefused('its place was filled, as the authorization had run out');
    try {
      const quote = await quoteGas.rehearse(data);
      if (isClosed()) throw new ChainTrouble('the facilitator is closing');
      refuseHopeless(context, entry.authorization);
      let accountNonce: number | null = null;
      while (accountNonce === null) {
        await nonces.ready();
        // A reorganisation may have brought its first transaction into a block meanwhile.
        if (entry.ending !== null) return;
        accountNonce = nonces.take();
      }
      await write({ data, quote, accountNonce }, (transaction) => journal.addTransaction(entry, transaction));
      counts.resent += 1;
      crashPoint('after_further_line_synced');
      await broadcast(entry);
      crashPoint('after_further_broadcast');
    } catch (error) {
      // A node that fails may have lost what it had.
      if (error instanceof ChainTrouble) nonces.distrust();
      throw error;
    }
  };
}

interface Placed {
  data: Hex;
  quote: Quote;
  accountNonce: number;
}

/** `append` puts it into the journal. */
type Write = <T>(placed: Placed, append: (transaction: SignedTransaction) => Promise<T>) => Promise<T>;

/**
 * Signs and writes. The lines go to the journal in the order of the account, whatever else is done at once: so a process that is killed
 * leaves no place without its line before a place that has one.
 */
function createWrite(context: Context): Write {
  const { nonces } = context;
  let before: Promise<void> = Promise.resolve();
  return async ({ data, quote, accountNonce }, append) => {
    const turn = before;
    const appended = Promise.withResolvers<void>();
    before = appended.promise;
    try {
      const transaction = await signTransaction(context, accountNonce, data, quote);
      await turn;
      const adding = append(transaction);
      appended.resolve();
      const added = await adding;
      nonces.written(accountNonce);
      return added;
    } catch (error) {
      nonces.giveBack(accountNonce);
      throw error;
    } finally {
      appended.resolve();
    }
  };
}

/** What it may lose counts from here on, in memory. */
function drawOn(context: Context, { from, to, value }: Authorization, { hasCode, quote }: Rehearsed): Reserved {
  const reservedUnits = unitsOfWei(quote.gas * quote.price, context.etherUnits);
  const isCheap = !paysForGas(value, unitsOfWei(quote.estimatedGas * quote.price, context.etherUnits));
  const grant = context.budget.find({
    hasCode,
    payerKnown: context.journal.isKnown(from),
    payeeKnown: context.journal.isKnown(to),
    isCheap,
    units: reservedUnits,
  });
  if ('pool' in grant) return { pool: grant.pool satisfies Pool, reservedUnits, isCheap };
  countOne(context.counts.deferred, 'gas_budget_spent');
  throw new Deferred('gas_budget_spent', grant.retryAfterSeconds);
}

function refuseHopeless({ clock }: Context, authorization: Authorization): void {
  // It may have waited in the queue for a while.
  if (Number(authorization.validBefore) < clock.now() / 1000 + SECONDS_AHEAD) {
    throw new TransferRefused('the authorization is expired');
  }
}

/** At most so many transactions are in flight at once; what comes then waits in its order for one to end. */
interface Room {
  /** Throws where too many wait already. What is returned gives the place back, once the journal counts it or nothing came of it. */
  enter(): Promise<() => void>;
  /** One has ended. */
  wake(): void;
  close(): void;
  isClosed(): boolean;
}

function createRoom(limits: Pick<Limits, 'in_flight' | 'waiting'>, inFlight: () => number): Room {
  const waiting: (() => void)[] = [];
  /** Let in, and in flight or not: what is in flight of them is counted twice for the moment of its broadcast. */
  let entered = 0;
  let closed = false;
  const wake = (): void => {
    while (waiting.length > 0 && (closed || inFlight() + entered < limits.in_flight)) {
      entered += 1;
      waiting.shift()?.();
    }
  };
  return {
    enter: async () => {
      if (closed) throw new ChainTrouble('the facilitator is closing');
      if (waiting.length === 0 && inFlight() + entered < limits.in_flight) entered += 1;
      else {
        if (waiting.length >= limits.waiting) throw new ChainTrouble('too many settlements wait');
        await new Promise<void>((go) => waiting.push(go));
      }
      return () => {
        entered -= 1;
        wake();
      };
    },
    wake,
    close: () => {
      closed = true;
      wake();
    },
    isClosed: () => closed,
  };
}
