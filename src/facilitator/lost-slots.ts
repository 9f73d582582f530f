import { readBlock } from '../platform/chain/reads.ts';
import { readAuthorizationState } from '../platform/chain/usdc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Sender } from './create-sender.ts';
import type { Head } from './head.ts';
import { type Entry, minedSlotOf, newestOf, slotsOf } from './journal/entry.ts';
import { isKnown, sendRaw, TransferRefused } from './outcomes.ts';
import { findByNonce, readMinedIn } from './read-mined.ts';
import { fillNonce } from './replace-transaction.ts';
import { findMined, reopenEntry } from './scan-blocks.ts';

/**
 * Decides about an authorization whose slots are all used, by none of its own transactions. If another transaction of the account took its
 * slot, for example the operator's own, the transfer is sent once more in another slot. The token accepts it only once, so it cannot pay
 * twice even if a reorganisation brings back its first transaction. An authorization that expired, was used or was cancelled is over. If
 * the transfer fails for now, it is tried again at each check: a short balance or a paused token may pass.
 */
export async function resendDisplaced(
  context: Context,
  { conclude, sender }: { conclude: Conclude; sender: Sender },
  entry: Readonly<Entry>,
  newest: Head,
): Promise<void> {
  const { address, crashPoint, log, network, nonces, rpc } = context;
  // The account of an earlier key cannot sign any more.
  const isOver = newest.timestamp >= entry.authorization.validBefore || entry.sender !== address;
  if (isOver) return conclude.lost(entry);
  // A node that counts a transaction and has no receipt may only lag: see what is in the slot before deciding.
  const other = await findByNonce(rpc, entry, newest.number);
  if (other === null || entry.transactions.some(({ hash }) => hash === other)) return;
  const fields = { transaction_hash: newestOf(entry).hash, payer: entry.authorization.from };
  log.warn('settlement_displaced', { ...fields, by_transaction_hash: other });
  // The account was used elsewhere.
  nonces.distrust();
  crashPoint('before_further_signed');
  try {
    await sender.sendOnceMore(entry);
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error;
    log.warn('settlement_not_resent', { ...fields, why: error.message });
    const { from, nonce } = entry.authorization;
    if (await readAuthorizationState(rpc, network.usdc, { authorizer: from, nonce }, 'latest'))
      await conclude.lost(entry);
  }
}

/**
 * Clears a slot that an ended authorization left behind: it was sent again in another slot, and a reorganisation let its first transaction
 * be mined after all. Everything behind that slot waits until something is mined in it. `mined` is the account's transaction count in
 * blocks.
 */
export async function clearLeftover(context: Context, mined: number): Promise<void> {
  const { address, clock, journal, log, rpc, timing } = context;
  for (const entry of journal.all()) {
    if (entry.sender !== address || entry.ending === null || entry.accountNonce < mined) continue;
    const left = slotsOf(entry).find(({ accountNonce }) => accountNonce === mined);
    const minedSlot = minedSlotOf(entry);
    if (left === undefined || minedSlot === null || minedSlot >= mined) continue;
    if (left.signedAt + timing.stuckMs <= clock.now()) return fillNonce(context, entry, left);
    if (await isKnown(rpc, left.hash)) return;
    const transmission = await sendRaw(rpc, left.raw);
    log.warn('settlement_broadcast_again', { transaction_hash: left.hash, transmission });
    return;
  }
}

/** Reopens entries whose block is gone: the account has fewer transactions in blocks than before. */
export async function reopenLost(context: Context, mined: number, askedAt: number): Promise<void> {
  const { journal, address } = context;
  const lost = [...journal.all()].filter((entry) => {
    const { sender, isFinal, ending } = entry;
    const minedSlot = minedSlotOf(entry);
    // The count was read before this transaction was mined, so its absence means nothing.
    const isGone = minedSlot !== null && ending !== null && ending.at < askedAt && minedSlot >= mined;
    return sender === address && !isFinal && isGone;
  });
  for (const entry of lost) await reopenEntry(context, entry);
}

const BLOCKS_AT_ONCE = 16;

/**
 * Reopens sales that a reorganisation took back although the account has as many transactions as before: another transaction took the slot,
 * or the same one now reverts there. It reads each block with a sale that is not final, so call it only if the chain may have changed.
 */
export async function reopenReplaced(context: Context, conclude: Conclude, askedAt: number): Promise<void> {
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
    // The node lags.
    if (block === null) return;
    const endedWith = new Set(entries.map(({ ending }) => ending?.hash));
    const inBlock = block.transactions.filter((hash) => endedWith.has(hash));
    const receipts = await readMinedIn(rpc, block, inBlock);
    for (const entry of entries) {
      const before = entry.ending;
      const hash = before?.hash ?? null;
      if (before === null || hash === null) continue;
      // The node may have the block and not yet the receipt.
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
