import { parseTransaction } from 'viem';
import type { Authorization } from '../platform/chain/shapes.ts';
import type { Hex } from '../platform/hex.ts';
import { type Limits, paysForGas, type Reserved, unitsOfWei } from './budget/gas-budget.ts';
import type { Conclude } from './conclude.ts';
import { type Context, incrementCount } from './context.ts';
import type { Follower } from './create-follower.ts';
import { type Entry, keyOf, newestOf, type Pool, type SignedTransaction } from './journal/entry.ts';
import { ChainTrouble, Deferred, sendRawTransaction, TransferRefused } from './outcomes.ts';
import type { Quote } from './quote-gas.ts';
import { signTransaction } from './sign-transaction.ts';

export interface Sender {
  /** Returns the entry of this authorization. If there is none, signs a transaction, broadcasts it and returns the new entry. */
  send(authorization: Authorization, call: { hasCode: boolean; data: Hex }): Promise<Readonly<Entry>>;
  /**
   * Signs the same transfer with another account nonce and broadcasts it, after another transaction took the first nonce. Does nothing if
   * the entry has ended meanwhile. Throws `TransferRefused` if the transfer would revert now or the authorization expires too soon.
   */
  sendOnceMore(entry: Readonly<Entry>): Promise<void>;
  /** True if the node refused the newest transaction of the entry. */
  isRefused(entry: Readonly<Entry>): boolean;
  offerAgain(entry: Readonly<Entry>): Promise<void>;
  /** Rejects the settlements that are still waiting for room. */
  close(): void;
}

interface Rehearsed {
  hasCode: boolean;
  data: Hex;
  quote: Quote;
}

/** An authorization that expires sooner is refused, because its transfer would probably revert and only cost gas. */
const SECONDS_AHEAD = 4;

/**
 * Sends many settlements at once. Each is rehearsed separately and takes the next account nonce. Settlements of the same moment are written
 * to the journal together, and go to the node once they are on disk. Only the steps in memory run one after the other.
 */
export function createSender(context: Context, dependencies: { conclude: Conclude; follower: Follower }): Sender {
  const { address, crashPoint, journal, limits, nonces, signing } = context;
  const sending = new Map<string, Promise<Readonly<Entry>>>();
  const room = createRoom(limits, () => journal.inFlight().size);
  const write = createWrite(context);
  const { broadcast, isRefused } = createBroadcast(context, dependencies.follower);
  dependencies.conclude.onEnd(room.wake);

  /** Returns null if the next nonce must first be read from the chain. Must not await anything between its checks and taking the nonce. */
  const begin = (authorization: Authorization, rehearsed: Rehearsed): Promise<Readonly<Entry>> | null => {
    const key = keyOf(authorization);
    const existing = journal.find(authorization);
    if (existing !== null) return Promise.resolve(existing);
    const running = sending.get(key);
    if (running !== undefined) return running;
    if (room.isClosed()) throw new ChainTrouble('the facilitator is closing');
    rejectExpiring(context, authorization);
    const reserved = reserveGas(context, authorization, rehearsed);
    const accountNonce = nonces.take();
    if (accountNonce === null) return null;
    signing.add(reserved);
    const { pool, reservedUnits } = reserved;
    const common = { authorization, sender: address, accountNonce, hasCode: rehearsed.hasCode, pool, reservedUnits };
    const newEntry = { ...common, estimatedGas: rehearsed.quote.estimatedGas, ending: null, isFinal: false };
    const written = write({ data: rehearsed.data, quote: rehearsed.quote, accountNonce }, (transaction) =>
      journal.add({ ...newEntry, transactions: [transaction] }),
    );
    const sent = written
      .finally(() => signing.delete(reserved))
      .then(async (entry) => {
        crashPoint('after_line_synced');
        await broadcast(entry);
        crashPoint('after_broadcast');
        return entry;
      });
    sending.set(key, sent);
    return sent.finally(() => sending.delete(key));
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
        // A failing node may have lost transactions.
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
  const refusedEntries = new WeakSet<Readonly<Entry>>();
  const broadcast = async (entry: Readonly<Entry>): Promise<void> => {
    const { hash, raw } = newestOf(entry);
    follower.expect(entry);
    const transmission = await sendRawTransaction(rpc, raw);
    log.info('settlement_broadcast', { transaction_hash: hash, payer: entry.authorization.from, transmission });
    if (transmission !== 'taken') nonces.distrust();
    // The entry keeps its nonce and is broadcast again, because another node may still have the transaction that this node refused.
    refusedEntries.delete(entry);
    if (transmission !== 'refused') return;
    refusedEntries.add(entry);
    throw new ChainTrouble('the node refused the transaction');
  };
  return { broadcast, isRefused: (entry: Readonly<Entry>): boolean => refusedEntries.has(entry) };
}

interface ResendDependencies {
  write: Write;
  broadcast(entry: Readonly<Entry>): Promise<void>;
  isClosed(): boolean;
}

/** The entry is in flight and its possible loss is already reserved, so sending it again needs no room and no budget. */
function createSendOnceMore(
  context: Context,
  { write, broadcast, isClosed }: ResendDependencies,
): Sender['sendOnceMore'] {
  const { counts, crashPoint, journal, nonces, quoteGas } = context;
  return async (entry) => {
    const { data } = parseTransaction(newestOf(entry).raw);
    if (data === undefined)
      throw new TransferRefused('an empty transfer took the nonce because the authorization expired');
    try {
      const quote = await quoteGas.rehearse(data);
      if (isClosed()) throw new ChainTrouble('the facilitator is closing');
      rejectExpiring(context, entry.authorization);
      let accountNonce: number | null = null;
      while (accountNonce === null) {
        await nonces.ready();
        // A reorganisation may have put the first transaction into a block meanwhile.
        if (entry.ending !== null) return;
        accountNonce = nonces.take();
      }
      await write({ data, quote, accountNonce }, (transaction) => journal.addTransaction(entry, transaction));
      counts.resent += 1;
      crashPoint('after_further_line_synced');
      await broadcast(entry);
      crashPoint('after_further_broadcast');
    } catch (error) {
      // A failing node may have lost transactions.
      if (error instanceof ChainTrouble) nonces.distrust();
      throw error;
    }
  };
}

interface Unsigned {
  data: Hex;
  quote: Quote;
  accountNonce: number;
}

type Write = <T>(unsigned: Unsigned, append: (transaction: SignedTransaction) => Promise<T>) => Promise<T>;

/** Signs a transaction and writes it to the journal in nonce order, so that a killed process leaves no gap below a written nonce. */
function createWrite(context: Context): Write {
  const { nonces } = context;
  let previous: Promise<void> = Promise.resolve();
  return async ({ data, quote, accountNonce }, append) => {
    const turn = previous;
    const appended = Promise.withResolvers<void>();
    previous = appended.promise;
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

function reserveGas(context: Context, { from, to, value }: Authorization, { hasCode, quote }: Rehearsed): Reserved {
  const reservedUnits = unitsOfWei(quote.gas * quote.price, context.etherUnits);
  const isCheap = !paysForGas(value, unitsOfWei(quote.estimatedGas * quote.price, context.etherUnits));
  const grant = context.budget.findPool({
    hasCode,
    payerKnown: context.journal.isKnown(from),
    payeeKnown: context.journal.isKnown(to),
    isCheap,
    units: reservedUnits,
  });
  if ('pool' in grant) return { pool: grant.pool satisfies Pool, reservedUnits, isCheap };
  incrementCount(context.counts.deferred, 'gas_budget_spent');
  throw new Deferred('gas_budget_spent', grant.retryAfterSeconds);
}

function rejectExpiring({ clock }: Context, authorization: Authorization): void {
  if (Number(authorization.validBefore) < clock.now() / 1000 + SECONDS_AHEAD) {
    throw new TransferRefused('the authorization is expired');
  }
}

/** Caps the number of transactions in flight. Later ones wait in order of arrival. */
interface Room {
  /** Throws if too many are waiting or the room is closed. Call the returned function once the settlement was broadcast or has failed. */
  enter(): Promise<() => void>;
  wake(): void;
  close(): void;
  isClosed(): boolean;
}

function createRoom(limits: Pick<Limits, 'in_flight' | 'waiting'>, inFlight: () => number): Room {
  const waiting: (() => void)[] = [];
  /** Number of admitted settlements. While one is being broadcast it is also in the journal, so it counts twice. */
  let admittedCount = 0;
  let closed = false;
  const wake = (): void => {
    while (waiting.length > 0 && (closed || inFlight() + admittedCount < limits.in_flight)) {
      admittedCount += 1;
      waiting.shift()?.();
    }
  };
  return {
    enter: async () => {
      if (closed) throw new ChainTrouble('the facilitator is closing');
      if (waiting.length === 0 && inFlight() + admittedCount < limits.in_flight) admittedCount += 1;
      else {
        if (waiting.length >= limits.waiting) throw new ChainTrouble('too many settlements wait');
        await new Promise<void>((go) => waiting.push(go));
      }
      return () => {
        admittedCount -= 1;
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
