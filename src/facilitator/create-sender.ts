import type { Authorization } from '../platform/chain/authorization.ts';
import type { Hex } from '../platform/hex.ts';
import { unitsOfWei } from './budget/price.ts';
import { ChainTrouble, Deferred, TransferRefused } from './chain-trouble.ts';
import type { Context } from './context.ts';
import { count } from './counts.ts';
import { type Entry, newestOf, type Pool } from './journal/entry.ts';
import type { Quote } from './quote-gas.ts';
import { readTransactionCount } from './read-transaction.ts';
import { signTransaction } from './sign-transaction.ts';
import { transmit } from './transmit.ts';

export interface Sender {
  /** The place of this authorization in the order: the one it has, or a new one, signed and broadcast. */
  send(authorization: Authorization, given: { hasCode: boolean; data: Hex }): Promise<Readonly<Entry>>;
  /** The node did not want its newest transaction. */
  isRefused(entry: Readonly<Entry>): boolean;
  /** Offers it once more. */
  offerAgain(entry: Readonly<Entry>): Promise<void>;
  /** What is still queued is not signed any more. */
  close(): void;
}

/** A transaction mined later than this before the end of the authorization would only cost gas. */
const SECONDS_AHEAD = 4;

/** One key has one order of transactions, so all settlements pass through one queue. Each is on disk before the node sees it. */
export function createSender(context: Context): Sender {
  const { journal, log, rpc } = context;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const refusedOnes = new WeakSet<Readonly<Entry>>();
  const broadcast = async (entry: Readonly<Entry>): Promise<void> => {
    const { hash, raw } = newestOf(entry);
    const transmission = await transmit(rpc, raw);
    log.info('settlement_broadcast', { transaction_hash: hash, payer: entry.authorization.from, transmission });
    // It keeps its place, and is offered again: what one node has refused may still be with another.
    refusedOnes.delete(entry);
    if (transmission !== 'refused') return;
    refusedOnes.add(entry);
    throw new ChainTrouble('the node refused the transaction');
  };
  const signAndSend = async (authorization: Authorization, given: Given): Promise<Readonly<Entry>> => {
    const before = journal.find(authorization);
    if (before !== null) return before;
    if (closed) throw new ChainTrouble('the facilitator is closing');
    refuseHopeless(context, authorization);
    const pool = drawOn(context, authorization, given);
    const accountNonce = await nextNonce(context);
    const entry: Entry = {
      authorization,
      sender: context.address,
      accountNonce,
      hasCode: given.hasCode,
      ...pool,
      estimatedGas: given.quote.estimatedGas,
      transactions: [await signTransaction(context, accountNonce, given.data, given.quote)],
      ending: null,
      isFinal: false,
    };
    const added = await journal.add(entry);
    await broadcast(added);
    return added;
  };
  return {
    send: async (authorization, { hasCode, data }) => {
      const quote = await context.quoteGas.rehearse(data);
      const turn = last.then(() => signAndSend(authorization, { hasCode, data, quote }));
      last = turn.catch(() => undefined);
      return turn;
    },
    isRefused: (entry) => refusedOnes.has(entry),
    offerAgain: broadcast,
    close: () => {
      closed = true;
    },
  };
}

interface Given {
  hasCode: boolean;
  data: Hex;
  quote: Quote;
}

/** Nothing is awaited between this and the line in the journal but the node's count, and this queue is the only one that signs. */
function drawOn(context: Context, { from, to }: Authorization, { hasCode, quote }: Given) {
  const reservedUnits = unitsOfWei(quote.gas * quote.price, context.etherUnits);
  const grant = context.budget.find({
    hasCode,
    payerKnown: context.journal.isKnown(from),
    payeeKnown: context.journal.isKnown(to),
    units: reservedUnits,
  });
  if ('pool' in grant) return { pool: grant.pool satisfies Pool, reservedUnits };
  count(context.counts.deferred, 'gas_budget_spent');
  throw new Deferred('gas_budget_spent', grant.retryAfterSeconds);
}

function refuseHopeless({ clock }: Context, authorization: Authorization): void {
  // It may have waited in the queue for a while.
  if (Number(authorization.validBefore) < clock.now() / 1000 + SECONDS_AHEAD) {
    throw new TransferRefused('the authorization is expired');
  }
}

/** The chain says where to go on. A place that an authorization has is left to it, whatever the node counts just now. */
async function nextNonce(context: Context): Promise<number> {
  const { rpc, address, journal } = context;
  let nonce = await readTransactionCount(rpc, address, 'pending');
  await bringBack(context, nonce);
  const held = new Set<number>();
  for (const { sender, accountNonce, ending } of journal.all()) {
    const isLost = ending !== null && ending.hash === null;
    if (sender === address && !isLost) held.add(accountNonce);
  }
  while (held.has(nonce)) nonce += 1;
  return nonce;
}

/**
 * Where the node counts less than has its place here, it lags, has dropped what waited, or a reorganisation took back what was mined. It is
 * offered again: until then nothing behind it can be mined.
 */
async function bringBack({ rpc, address, journal, log }: Context, counted: number): Promise<void> {
  const uncounted = [...journal.all()].filter(({ sender, ending, isFinal, accountNonce }) => {
    const isLost = ending !== null && ending.hash === null;
    return sender === address && !isFinal && !isLost && accountNonce >= counted;
  });
  for (const entry of uncounted.sort((a, b) => a.accountNonce - b.accountNonce)) {
    if (entry.ending !== null) await journal.reopen(entry);
    const { hash, raw } = newestOf(entry);
    log.warn('settlement_offered_again', { transaction_hash: hash, transmission: await transmit(rpc, raw) });
  }
}
