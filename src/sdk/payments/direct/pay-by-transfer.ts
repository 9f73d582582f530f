import type { Hex } from 'viem';
import { own } from '../../../contract/own-words.ts';
import { NETWORKS } from '../../../contract/vocabulary.ts';
import { isGatewayFault, MarketError, UnreadableAnswer } from '../../errors.ts';
import { refusalToThrow, TermsRefused } from '../payment-errors.ts';
import { GATEWAY_TRIES, pauseSeconds, readThroughGateway } from '../payment-run.ts';
import { signingTime } from '../signing-clock.ts';
import { checkIntent, checkTimeLeft, type Intent, type TransferTerms } from './check-intent.ts';
import { TransferMayBeSent, TransferNotSent, TransferUndecided } from './transfer-errors.ts';
import {
  beginTransferRun,
  claimTransfer,
  forgetTransfer,
  intentKey,
  isTemporary,
  pauseRun,
  readHash,
  reportTransfer,
  soughtTransferOf,
  type TransferFlow,
  type TransferRun,
} from './transfer-run.ts';
import { loadTransfer, type SavedTransfer, transferMemoryOf } from './transfer-store.ts';

export interface Paid<Done> {
  done: Done;
  run: TransferRun<Done>;
  /** Null if nothing had to be paid. */
  saved: SavedTransfer | null;
}

/**
 * Opens an intent, sends at most one transfer for it, and claims it until it is decided. If a transfer was started earlier, looks for it
 * instead of sending another. Throws `TransferMayBeSent` if its hash can't be found.
 */
export async function payByTransfer<Done>(flow: TransferFlow<Done>): Promise<Paid<Done>> {
  const { run, saved: before } = await beginTransferRun(flow);
  let sent = before && (await resumeTransfer(run, before));
  if (sent === null) {
    const agreed = await readThroughGateway(run.options, () => run.agree(run));
    if ('done' in agreed) return { done: agreed.done, run, saved: null };
    sent = await sendForIntent(run, agreed.terms);
    // Another call with the same store has started the transfer meanwhile.
    if (sent === null) sent = await resumeFromOtherCall(run);
  }
  return { done: await claimTransfer(run, sent), run, saved: sent };
}

/** Completes a saved transfer with its hash. Returns null if the caller says that none was sent and the transfer may be forgotten. */
async function resumeTransfer(run: TransferRun, saved: SavedTransfer): Promise<SavedTransfer | null> {
  const { resume } = run.options;
  if (resume !== 'nothing_sent') return await completeWithHash(run, saved, resume);
  if (!(await mayForget(run, saved))) return saved;
  await forgetTransfer(run, saved);
  return null;
}

async function completeWithHash(
  run: TransferRun,
  saved: SavedTransfer,
  resume: Hex | undefined,
): Promise<SavedTransfer> {
  const hash = resume === undefined ? (saved.tx_hash ?? (await searchTransfer(run, saved))) : readHash(resume);
  if (hash === saved.tx_hash) return saved;
  const completed = { ...saved, tx_hash: hash, hash_used_elsewhere: false };
  await run.store.save(run.storeKey, completed);
  return completed;
}

/** Ignores `nothing_sent`, because the caller said it before the other call started. */
async function resumeFromOtherCall(run: TransferRun): Promise<SavedTransfer> {
  const saved = await loadTransfer(run.store, run.storeKey);
  if (saved === null) throw new TypeError('the saved transfer is gone; call again');
  const { resume } = run.options;
  return await completeWithHash(run, saved, resume === 'nothing_sent' ? undefined : resume);
}

/**
 * Whether a transfer may be forgotten. Not while the market is examining it or has accepted it, and not before a known transaction has been
 * claimed. Throws if the hash is unknown and the market says that a payment may exist.
 */
async function mayForget({ options: { client, signal } }: TransferRun, saved: SavedTransfer): Promise<boolean> {
  const { body } = await client.getPayment({ query: { intent_id: saved.intent_id }, signal });
  const { payment_status: status, do_not_pay_again } = body.payment;
  const decided = status === 'unpaid' || status === 'rejected' || saved.hash_used_elsewhere;
  if (!do_not_pay_again && (decided || saved.tx_hash === null)) return true;
  if (saved.tx_hash === null) throw new TransferMayBeSent(saved.intent_id, soughtTransferOf(saved));
  return false;
}

async function searchTransfer(run: TransferRun, saved: SavedTransfer): Promise<Hex> {
  const sought = soughtTransferOf(saved);
  const hash = (await run.options.findTransfer?.(sought)) ?? null;
  if (hash === null) throw new TransferMayBeSent(saved.intent_id, sought);
  return readHash(hash);
}

/** Attempts to open an intent despite temporary refusals. */
const MAX_OPEN_ATTEMPTS = 4;
const NOT_SENT = own`nothing was sent`;
/** Seconds to pause while another call pays for the same intent. */
const BUSY_SECONDS = 2;

/**
 * Opens an intent and, if it fits the agreed terms, signs its challenge, saves the transfer, sends it once, and saves its hash. Returns
 * null, having sent nothing, if another call with the same store has started this payment.
 */
async function sendForIntent(run: TransferRun, terms: TransferTerms): Promise<SavedTransfer | null> {
  const { client, wallet, signal } = run.options;
  for (;;) {
    const { intent, isNew } = await openWithRetries(run);
    checkIntent(intent, terms);
    checkTimeLeft(intent, signingTime(client, NOT_SENT));
    reportTransfer(run, 'opened', { intentId: intent.id });
    if (await isSaved(run, run.storeKey)) return null;
    if (!(await isSaved(run, intentKey(run, intent.id)))) {
      const draft = draftOf(run, intent, terms);
      const earlierHash = await findEarlierHash(run, draft, isNew);
      const payer_signature = await wallet.signMessage({ message: intent.challenge });
      reportTransfer(run, 'signed', { intentId: intent.id });
      if (earlierHash === null) await mustBeAccepted(run, intent, payer_signature);
      // Signing may have taken a long time.
      checkTimeLeft(intent, signingTime(client, NOT_SENT));
      signal?.throwIfAborted();
      const signed = { ...draft, payer_signature, tx_hash: earlierHash };
      const reserved = await reserveTransfer(run, signed);
      if (reserved === 'begun') return null;
      if (reserved === 'held') return earlierHash === null ? await sendOnce(run, signed) : signed;
    }
    // All calls for a fee get the same intent until it is claimed. If each sent a transfer, all would pay for one listing.
    await pauseRun(
      run,
      BUSY_SECONDS,
      (_, cause) => new TransferUndecided('Another call is paying for this intent', null, cause),
    );
  }
}

/** If the wallet has code, checks before paying that the code accepts the signature. */
async function mustBeAccepted(run: TransferRun, intent: Intent, payer_signature: Hex): Promise<void> {
  if (intent.prove_first !== true) return;
  if ((await run.checkSignature({ intent_id: intent.id, payer_signature })) !== false) return;
  throw new TermsRefused('wallet_cannot_sign', own`the wallet’s code doesn’t accept its signature`, {
    outcome: own`nothing was sent`,
  });
}

async function isSaved(run: TransferRun, key: string): Promise<boolean> {
  return ((await run.store.load(key)) ?? null) !== null;
}

/** Opens the intent. Makes only a few attempts if the market is down, because nothing is paid yet. */
async function openWithRetries(run: TransferRun): Promise<{ intent: Intent; isNew: boolean }> {
  for (let failures = 1; ; failures += 1) {
    try {
      const opened = await run.openIntent();
      if (opened.isNew) transferMemoryOf(run.options.client).opened.add(opened.intent.id);
      return opened;
    } catch (error) {
      const passing = error instanceof UnreadableAnswer || (error instanceof MarketError && isTemporary(error));
      // `doNotPayAgain` means that a payment is undecided, so no other may follow it.
      const stop = error instanceof MarketError && error.doNotPayAgain === true;
      if (!passing || stop || failures >= (isGatewayFault(error) ? GATEWAY_TRIES : MAX_OPEN_ATTEMPTS)) {
        throw error instanceof MarketError ? refusalToThrow(error) : error;
      }
      await pauseRun(run, pauseSeconds(null, error, failures), (_, cause) => cause ?? error);
    }
  }
}

function draftOf(run: TransferRun, intent: Intent, terms: TransferTerms): SavedTransfer {
  const { usdc, chainId } = NETWORKS[terms.network];
  return {
    version: 1,
    purpose: terms.purpose,
    intent_id: intent.id,
    payer: run.options.wallet.address,
    payee: terms.payee as Hex,
    asset: usdc,
    chain_id: Number(chainId),
    amount_units: (terms.amountUnits + run.tipUnits).toString(),
    created_at: intent.created_at,
    expires_at: intent.expires_at,
    challenge: intent.challenge,
    payer_signature: null,
    artifact_commitment: terms.artifactCommitment,
    tx_hash: null,
    hash_used_elsewhere: false,
    recovery_slip: intent.recovery_slip,
  };
}

/**
 * Returns the hash of a transfer that was sent for this intent before, by the caller's word or by a search. Returns null if none can exist.
 * Throws `TransferMayBeSent` if a process whose store is lost may have sent one and the search finds none.
 */
async function findEarlierHash(run: TransferRun, draft: SavedTransfer, isNew: boolean): Promise<Hex | null> {
  const { resume, client, findTransfer } = run.options;
  if (resume === 'nothing_sent') return null;
  if (resume !== undefined) return readHash(resume);
  const own = isNew || run.durable || transferMemoryOf(client).opened.has(draft.intent_id);
  if (own) return null;
  const sought = soughtTransferOf(draft);
  const hash = (await findTransfer?.(sought)) ?? null;
  if (hash === null) throw new TransferMayBeSent(draft.intent_id, sought);
  return readHash(hash);
}

/** Last step before money moves. Of all calls with this store, only one per purchase and per intent continues. */
async function reserveTransfer(run: TransferRun, transfer: SavedTransfer): Promise<'held' | 'begun' | 'busy'> {
  const { store, storeKey } = run;
  if (!(await store.create(storeKey, transfer))) return 'begun';
  if (await store.create(intentKey(run, transfer.intent_id), transfer)) return 'held';
  await store.clear(storeKey);
  return 'busy';
}

/** Call only once per saved transfer, because any failure from here on may leave a transfer on the chain. */
async function sendOnce(run: TransferRun, transfer: SavedTransfer): Promise<SavedTransfer> {
  const { to, units, asset, chainId } = soughtTransferOf(transfer);
  let hash: Hex;
  try {
    hash = readHash(await run.options.wallet.sendUsdc({ to, units, asset, chainId }));
  } catch (cause) {
    if (!(cause instanceof TransferNotSent)) {
      throw new TransferMayBeSent(transfer.intent_id, soughtTransferOf(transfer), cause);
    }
    await forgetTransfer(run, transfer);
    throw cause;
  }
  const sent = { ...transfer, tx_hash: hash };
  try {
    await run.store.save(run.storeKey, sent);
  } catch (cause) {
    const how = `The transfer’s hash couldn’t be saved (call again with resume: '${hash}')`;
    throw new TransferUndecided(how, sent, cause);
  }
  reportTransfer(run, 'sent', { intentId: sent.intent_id, txHash: hash });
  return sent;
}
