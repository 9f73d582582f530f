import { MarketError } from '../../market-error.ts';
import { paymentIn } from '../progress.ts';
import { TransferRefused, TransferUndecided } from './transfer-errors.ts';
import { type Pending, readHash, reportTransfer, type TransferRun } from './transfer-run.ts';
import type { SavedTransfer } from './transfer-store.ts';
import { waitOut } from './wait-out.ts';

/** Sends the same claim until it is decided. */
export async function claimTransfer<Done>(run: TransferRun<Done>, transfer: SavedTransfer): Promise<Done> {
  const saved = await withSignature(run, transfer);
  const body = {
    intent_id: saved.intent_id,
    tx_hash: readHash(saved.tx_hash ?? ''),
    payer_signature: saved.payer_signature ?? '0x',
  };
  const about = { intentId: saved.intent_id, txHash: body.tx_hash };
  try {
    return await waitOut<Done>(run, {
      ask: withSlip(saved.recovery_slip, (slip) => run.claim(body, slip)),
      seen: (pending, error) => reportTransfer(run, 'pending', { ...about, ...seenIn(pending, error) }),
      undecided: (detail, cause) => new TransferUndecided(detail, saved, cause),
      refused: (error) => new TransferRefused(saved, error),
    });
  } catch (error) {
    if (error instanceof TransferRefused) await noteRefusal(run, saved, error);
    throw error;
  }
}

/** A market that has lost the intent takes it back by the slip: the same is asked once more with it, and so from then on. */
function withSlip<T>(slip: string | undefined, ask: (shown?: string) => Promise<T>): () => Promise<T> {
  let shown: string | undefined;
  return async () => {
    try {
      return await ask(shown);
    } catch (error) {
      const isUnknown = error instanceof MarketError && error.reason === 'intent_not_found';
      if (!isUnknown || slip === undefined || shown !== undefined) throw error;
      shown = slip;
      return await ask(shown);
    }
  };
}

async function withSignature(run: TransferRun, saved: SavedTransfer): Promise<SavedTransfer> {
  if (saved.payer_signature !== null) return saved;
  const signed = { ...saved, payer_signature: await run.options.wallet.signMessage({ message: saved.challenge }) };
  await run.store.save(run.storeKey, signed);
  return signed;
}

/** The transfer stays what it was. A signature that is none is not sent again. */
async function noteRefusal(run: TransferRun, saved: SavedTransfer, { reason }: TransferRefused): Promise<void> {
  if (reason === 'signature_invalid') await run.store.save(run.storeKey, { ...saved, payer_signature: null });
  if (reason === 'transaction_used') await run.store.save(run.storeKey, { ...saved, hash_used_elsewhere: true });
}

/** What an answer that is not the last tells of the payment. */
export function seenIn(pending: Pending | null, error: unknown) {
  const payment = pending?.payment ?? paymentIn(error);
  const estimate = pending?.estimate_seconds ?? null;
  return {
    ...(payment === undefined ? {} : { payment }),
    ...(estimate === null ? {} : { estimateSeconds: estimate }),
  };
}
