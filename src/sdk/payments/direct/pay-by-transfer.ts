import type { Hex } from 'viem';
import { claimTransfer } from './claim-transfer.ts';
import { sendForIntent } from './send-for-intent.ts';
import { TransferMayBeSent } from './transfer-errors.ts';
import {
  beginTransferRun,
  forgetTransfer,
  readHash,
  soughtOf,
  type TransferDeal,
  type TransferRun,
} from './transfer-run.ts';
import { loadTransfer, type SavedTransfer } from './transfer-store.ts';

export interface Paid<Done> {
  done: Done;
  run: TransferRun<Done>;
  /** Null where nothing had to be paid. */
  saved: SavedTransfer | null;
}

/**
 * Opens an intent, sends at most one transfer for it and claims it until it is decided. A transfer that was begun before is never
 * begun again: it is found, or the caller is asked.
 */
export async function payByTransfer<Done>(deal: TransferDeal<Done>): Promise<Paid<Done>> {
  const { run, saved: before } = await beginTransferRun(deal);
  let sent = before && (await goOn(run, before));
  if (sent === null) {
    const agreed = await run.agree(run);
    if ('done' in agreed) return { done: agreed.done, run, saved: null };
    sent = await sendForIntent(run, agreed.terms);
    // Another call with the same store has begun it in the meantime.
    if (sent === null) sent = await goOnBeside(run);
  }
  return { done: await claimTransfer(run, sent), run, saved: sent };
}

/** The transfer that was begun, with its hash; null when the caller says that there is none. */
async function goOn(run: TransferRun, saved: SavedTransfer): Promise<SavedTransfer | null> {
  const { resume } = run.options;
  if (resume !== 'nothing_sent') return await withHash(run, saved, resume);
  if (!(await mayForget(run, saved))) return saved;
  await forgetTransfer(run, saved);
  return null;
}

async function withHash(run: TransferRun, saved: SavedTransfer, resume: Hex | undefined): Promise<SavedTransfer> {
  const named = resume === undefined ? (saved.tx_hash ?? (await lookFor(run, saved))) : readHash(resume);
  if (named === saved.tx_hash) return saved;
  const found = { ...saved, tx_hash: named, hash_used_elsewhere: false };
  await run.store.save(run.storeKey, found);
  return found;
}

/** That nothing was sent was said before the other call began. */
async function goOnBeside(run: TransferRun): Promise<SavedTransfer> {
  const saved = await loadTransfer(run.store, run.storeKey);
  if (saved === null) throw new TypeError('the saved transfer is gone; call again');
  const { resume } = run.options;
  return await withHash(run, saved, resume === 'nothing_sent' ? undefined : resume);
}

/** A transaction that is known is claimed first, and what the market examines or has taken is not paid again. */
async function mayForget({ options: { client, signal } }: TransferRun, saved: SavedTransfer): Promise<boolean> {
  const { body } = await client.getPayment({ query: { intent_id: saved.intent_id }, signal });
  const { payment_status: status, do_not_pay_again } = body.payment;
  const decided = status === 'unpaid' || status === 'rejected' || saved.hash_used_elsewhere;
  if (!do_not_pay_again && (decided || saved.tx_hash === null)) return true;
  if (saved.tx_hash === null) throw new TransferMayBeSent(saved.intent_id, soughtOf(saved));
  return false;
}

async function lookFor(run: TransferRun, saved: SavedTransfer): Promise<Hex> {
  const sought = soughtOf(saved);
  const found = (await run.options.findTransfer?.(sought)) ?? null;
  if (found === null) throw new TransferMayBeSent(saved.intent_id, sought);
  return readHash(found);
}
