import { readBlock } from '../platform/chain/reads.ts';
import { readAuthorizationState } from '../platform/chain/usdc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Sender } from './create-sender.ts';
import type { Head } from './head.ts';
import { type Entry, minedNonceOf, newestOf, newestPerNonce } from './journal/entry.ts';
import { isKnown, sendRawTransaction, TransferRefused } from './outcomes.ts';
import { findByNonce, readMinedIn } from './read-mined.ts';
import { fillNonce } from './replace-transaction.ts';
import { findMined, reopenEntry } from './scan-blocks.ts';

/**
 * Handles an authorization whose account nonces are all used, but by none of its own transactions. If another transaction of the account
 * used its account nonce, such as one of the operator's own, sends the transfer once more with a new account nonce. This cannot pay twice,
 * even if a reorganisation brings back the first transaction, because the token accepts an authorization only once. An authorization that
 * has expired, or was used or cancelled, is recorded as lost. If the transfer would revert now, each later check tries again, because a
 * short balance or a paused token may be temporary.
 */
export async function resendDisplaced(
  context: Context,
  { conclude, sender }: { conclude: Conclude; sender: Sender },
  entry: Readonly<Entry>,
  newest: Head,
): Promise<void> {
  const { address, crashPoint, log, network, nonces, rpc } = context;
  // An entry of an earlier account cannot be signed again, because this server no longer has its key.
  const isOver = newest.timestamp >= entry.authorization.validBefore || entry.sender !== address;
  if (isOver) return conclude.recordLost(entry);
  // A node counts a transaction before it has the receipt, so first check which transaction used the account nonce.
  const displacingHash = await findByNonce(rpc, entry, newest.number);
  if (displacingHash === null || entry.transactions.some(({ hash }) => hash === displacingHash)) return;
  const fields = { transaction_hash: newestOf(entry).hash, payer: entry.authorization.from };
  log.warn('settlement_displaced', { ...fields, by_transaction_hash: displacingHash });
  // The account was used outside this server, so the next account nonce must be read from the chain.
  nonces.distrust();
  crashPoint('before_further_signed');
  try {
    await sender.sendOnceMore(entry);
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error;
    log.warn('settlement_not_resent', { ...fields, why: error.message });
    const { from, nonce } = entry.authorization;
    if (await readAuthorizationState(rpc, network.usdc, { authorizer: from, nonce }, 'latest'))
      await conclude.recordLost(entry);
  }
}

/**
 * Uses up an account nonce that an ended authorization left unused. This happens if the transfer was sent again with a second account
 * nonce, and a reorganisation then let the first transaction be mined. Transactions with higher account nonces wait until something is
 * mined with the unused one. `mined` is the number of the account's mined transactions.
 */
export async function fillLeftoverNonce(context: Context, mined: number): Promise<void> {
  const { address, clock, journal, log, rpc, timing } = context;
  for (const entry of journal.all()) {
    if (entry.sender !== address || entry.ending === null || entry.accountNonce < mined) continue;
    const leftover = newestPerNonce(entry).find(({ accountNonce }) => accountNonce === mined);
    const minedNonce = minedNonceOf(entry);
    if (leftover === undefined || minedNonce === null || minedNonce >= mined) continue;
    if (leftover.signedAt + timing.stuckMs <= clock.now()) return fillNonce(context, entry, leftover);
    if (await isKnown(rpc, leftover.hash)) return;
    const transmission = await sendRawTransaction(rpc, leftover.raw);
    log.warn('settlement_broadcast_again', { transaction_hash: leftover.hash, transmission });
    return;
  }
}

/** Reopens entries whose block was removed, which shows in a lower transaction count of the account. */
export async function reopenLostEntries(context: Context, mined: number, askedAt: number): Promise<void> {
  const { journal, address } = context;
  const lost = [...journal.all()].filter((entry) => {
    const { sender, isFinal, ending } = entry;
    const minedNonce = minedNonceOf(entry);
    // Skip endings since `askedAt`, because the count may have been read before their transactions were mined.
    const isGone = minedNonce !== null && ending !== null && ending.at < askedAt && minedNonce >= mined;
    return sender === address && !isFinal && isGone;
  });
  for (const entry of lost) await reopenEntry(context, entry);
}

const BLOCKS_AT_ONCE = 16;

/**
 * Reopens sales that a reorganisation took back while the account's transaction count stayed the same, because another transaction used the
 * account nonce or the sale's transaction now reverts. Reads each block with a sale that is not final, so call it only if the chain may
 * have changed.
 */
export async function reopenReplacedEntries(context: Context, conclude: Conclude, askedAt: number): Promise<void> {
  const { address, journal, rpc } = context;
  const byBlock = new Map<bigint, Readonly<Entry>[]>();
  for (const entry of journal.all()) {
    const { sender, isFinal, ending } = entry;
    if (sender !== address || isFinal || ending?.state !== 'succeeded' || ending.at >= askedAt) continue;
    if (ending.blockNumber === null) continue;
    byBlock.set(ending.blockNumber, [...(byBlock.get(ending.blockNumber) ?? []), entry]);
  }
  const check = async ([number, entries]: [bigint, Readonly<Entry>[]]): Promise<void> => {
    const block = await readBlock(rpc, number);
    // The node lags and does not have the block yet.
    if (block === null) return;
    const endedWith = new Set(entries.map(({ ending }) => ending?.hash));
    const inBlock = block.transactions.filter((hash) => endedWith.has(hash));
    const receipts = await readMinedIn(rpc, block, inBlock);
    for (const entry of entries) {
      const before = entry.ending;
      const hash = before?.hash ?? null;
      if (before === null || hash === null) continue;
      // The node may have the block, but not the receipt yet.
      if (inBlock.includes(hash) && receipts.get(hash)?.status !== 'reverted') continue;
      // The transaction may be in another block by now.
      if ((await findMined(context, conclude, entry)) === 'absent' && entry.ending === before) {
        await reopenEntry(context, entry);
      }
    }
  };
  const blocks = [...byBlock];
  while (blocks.length > 0) await Promise.all(blocks.splice(0, BLOCKS_AT_ONCE).map(check));
}
