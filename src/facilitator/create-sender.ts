import { keccak256 } from 'viem/utils';
import type { Authorization } from '../platform/chain/authorization.ts';
import { readReceipt } from '../platform/chain/reads.ts';
import type { Hex } from '../platform/hex.ts';
import { ChainTrouble, TransferRefused } from './chain-trouble.ts';
import type { Context } from './context.ts';
import { type Entry, type StoredEntry, sameAuthorization } from './journal/entry.ts';
import { createQuoteGas, type Gas } from './quote-gas.ts';
import { readTransactionCount } from './read-transaction.ts';
import { transmit } from './transmit.ts';

export interface Sender {
  /** Hash of the one transaction that settles this authorization: the one signed before, if there is one. */
  send(authorization: Authorization, data: Hex): Promise<Hex>;
  /** What is still queued is not signed any more. */
  close(): void;
}

/** A transaction mined later than this before the end of the authorization would only cost gas. */
const SECONDS_AHEAD = 4;
const ATTEMPTS = 2;

/** One key has one order of transactions, so all settlements pass through one queue. Each is on disk before the node sees it. */
export function createSender(context: Context): Sender {
  const quoteGas = createQuoteGas(context);
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const signAndSend = async (authorization: Authorization, data: Hex, gas: Gas): Promise<Hex> => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const before = findLive(context, authorization);
      if (before !== null) return before.hash;
      if (closed) throw new ChainTrouble('the facilitator is closing');
      refuseHopeless(context, authorization);
      const entry = await sign(context, authorization, data, gas);
      if (await broadcast(context, entry)) return entry.hash;
    }
    throw new ChainTrouble('others send transactions with the key of this server');
  };
  return {
    send: async (authorization, data) => {
      const gas = await quoteGas(data);
      const turn = last.then(() => signAndSend(authorization, data, gas));
      last = turn.catch(() => undefined);
      return turn;
    },
    close: () => {
      closed = true;
    },
  };
}

/** The transaction that stands for exactly this authorization. */
export function findLive({ journal }: Context, authorization: Authorization): Readonly<Entry> | null {
  const entry = journal.find(authorization);
  if (entry === null || !sameAuthorization(entry.authorization, authorization)) return null;
  return entry.state === 'open' || entry.state === 'succeeded' ? entry : null;
}

function refuseHopeless({ journal, clock }: Context, authorization: Authorization): void {
  if (journal.find(authorization)?.state === 'open') {
    throw new ChainTrouble('another authorization with this nonce is under way');
  }
  // It may have waited in the queue for a while.
  if (Number(authorization.validBefore) < clock.now() / 1000 + SECONDS_AHEAD) {
    throw new TransferRefused('the authorization is expired');
  }
}

async function sign(context: Context, authorization: Authorization, data: Hex, gas: Gas): Promise<StoredEntry> {
  const { account, address, network, clock } = context;
  const accountNonce = await nextNonce(context);
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: Number(network.chainId),
    nonce: accountNonce,
    to: network.usdc,
    data,
    ...gas,
  });
  const hash = keccak256(raw);
  return { authorization, hash, accountNonce, sender: address, signedAt: clock.now(), state: 'open', raw };
}

/** False when the place in the order was taken by another transaction: then this one can never be mined. */
async function broadcast({ journal, rpc, log }: Context, entry: StoredEntry): Promise<boolean> {
  await journal.add(entry);
  const transmission = await transmit(rpc, entry.raw);
  const payer = entry.authorization.from;
  log.info('settlement_broadcast', { transaction_hash: entry.hash, payer, transmission });
  if (transmission === 'taken' || transmission === 'unknown') return true;
  // A node says "passed" also of a transaction that it has mined meanwhile.
  if (transmission === 'passed' && (await readReceipt(rpc, entry.hash)) !== null) return true;
  await journal.remove(entry);
  if (transmission === 'refused') throw new ChainTrouble('the node refused the transaction');
  return false;
}

/** The chain says where to go on; what was sent and has not reached this node yet is left its place. */
async function nextNonce({ rpc, address, journal }: Context): Promise<number> {
  const own = journal.open().filter(({ sender }) => sender === address);
  const held = new Set(own.map(({ accountNonce }) => accountNonce));
  let nonce = await readTransactionCount(rpc, address, 'pending');
  while (held.has(nonce)) nonce += 1;
  return nonce;
}
