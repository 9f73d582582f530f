import { readBlock } from '../platform/chain/reads.ts';
import { readAuthorizationState } from '../platform/chain/usdc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Sender } from './create-sender.ts';
import type { Head } from './head.ts';
import { type Entry, minedPlaceOf, newestOf, placesOf } from './journal/entry.ts';
import { isKnown, TransferRefused, transmit } from './outcomes.ts';
import { findByNonce, readMinedIn } from './read-mined.ts';
import { fillNonce } from './replace-transaction.ts';
import { findMined, reopen } from './scan-blocks.ts';

/**
 * Judges an authorization whose places are all used, by none of its own transactions. Where another transaction of the account is in its
 * place, the operator's own for example, it is sent once more for a further place. The token takes it once only, so that it cannot pay twice
 * even if a reorganisation brings its first transaction back. An authorization that has run out, or was used or cancelled, is over. One that
 * does not go through now is tried again at each look: a balance that is short, or a token that is paused, may pass.
 */
export async function resendDisplaced(
  context: Context,
  { conclude, sender }: { conclude: Conclude; sender: Sender },
  entry: Readonly<Entry>,
  newest: Head,
): Promise<void> {
  const { address, crashPoint, log, network, nonces, rpc } = context;
  // The account of an earlier key signs no more.
  const isOver = newest.timestamp >= entry.authorization.validBefore || entry.sender !== address;
  if (isOver) return conclude.lost(entry);
  // A node that has counted and shows no receipt may only be late: what is in the place has to be seen.
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
 * An authorization that has ended may have a place that is still to be mined: it was sent for a further one, and a reorganisation let
 * the first be mined after all. Until something is mined there, everything behind it waits. `mined` counts what is in blocks.
 */
export async function clearLeftover(context: Context, mined: number): Promise<void> {
  const { address, clock, journal, log, rpc, timing } = context;
  for (const entry of journal.all()) {
    if (entry.sender !== address || entry.ending === null || entry.accountNonce < mined) continue;
    const left = placesOf(entry).find(({ accountNonce }) => accountNonce === mined);
    const minedPlace = minedPlaceOf(entry);
    if (left === undefined || minedPlace === null || minedPlace >= mined) continue;
    if (left.signedAt + timing.stuckMs <= clock.now()) return fillNonce(context, entry, left);
    if (await isKnown(rpc, left.hash)) return;
    const transmission = await transmit(rpc, left.raw);
    log.warn('settlement_broadcast_again', { transaction_hash: left.hash, transmission });
    return;
  }
}

/** A block that had one of ours is gone: the account has fewer transactions than it had. */
export async function reopenLost(context: Context, mined: number, askedAt: number): Promise<void> {
  const { journal, address } = context;
  const lost = [...journal.all()].filter((entry) => {
    const { sender, isFinal, ending } = entry;
    const minedPlace = minedPlaceOf(entry);
    // A transaction that was mined after the question is not missing from the answer.
    const isGone = minedPlace !== null && ending !== null && ending.at < askedAt && minedPlace >= mined;
    return sender === address && !isFinal && isGone;
  });
  for (const entry of lost) await reopen(context, entry);
}

/** Blocks that are read at the same time. */
const BLOCKS_AT_ONCE = 16;

/**
 * Looks for sales that a reorganisation took back although the account counts as many transactions as before: another one came into the
 * place, or the same one reverts there. Reads each block that had a sale which is not final, so it is called only where the chain may not be the one that was seen.
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
    // The node is behind.
    if (block === null) return;
    const endedWith = new Set(entries.map(({ ending }) => ending?.hash));
    const inBlock = block.transactions.filter((hash) => endedWith.has(hash));
    const receipts = await readMinedIn(rpc, block, inBlock);
    for (const entry of entries) {
      const before = entry.ending;
      const hash = before?.hash ?? null;
      if (before === null || hash === null) continue;
      // A block that names it may have no receipt of it yet.
      if (inBlock.includes(hash) && receipts.get(hash)?.status !== 'reverted') continue;
      // It may be in another block by now.
      if ((await findMined(context, conclude, entry)) === 'absent' && entry.ending === before) {
        await reopen(context, entry);
      }
    }
  };
  const blocks = [...byBlock];
  while (blocks.length > 0) await Promise.all(blocks.splice(0, BLOCKS_AT_ONCE).map(check));
}
