import { usdcText } from '../../../contract/money.ts';
import { type OwnWords, ofSource, own } from '../../../contract/own-words.ts';
import { type AnyReason, type MarketError, rowOf } from '../../errors.ts';
import type { SoughtTransfer } from './transfer-options.ts';
import type { SavedTransfer } from './transfer-store.ts';

/** Thrown by wallets if nothing was sent, and nothing will be. */
export class TransferNotSent extends Error {
  override readonly name = 'TransferNotSent';
}

/**
 * A transfer was started and its hash is unknown, so it may be on the chain or on its way there. Look for `sought` on the chain and in the
 * wallet, then call again with `resume`.
 */
export class TransferMayBeSent extends Error {
  override readonly name = 'TransferMayBeSent';
  readonly doNotPayAgain = true;
  readonly intentId: string;
  readonly sought: SoughtTransfer;

  constructor(intentId: string, sought: SoughtTransfer, cause?: unknown) {
    const { from, to, units, asset, chainId, since, until } = sought;
    super(
      `A transfer may have been sent for intent ${intentId}: ${usdcText(units)} USDC from ${from} to ${to} (token ${asset}, chain ${chainId}), ` +
        `between ${since} and ${until}. Look for it in the token’s Transfer events and in the wallet. If it exists, call again with resume: its ` +
        "hash. Only if there is none and none is waiting to be mined, call again with resume: 'nothing_sent'. Do not pay again before that",
      { cause },
    );
    this.intentId = intentId;
    this.sought = sought;
  }
}

/**
 * The payment is undecided: the wait ended, another call is paying, or the transfer's hash couldn't be saved. Call again with the same
 * store to resume. No second transfer is sent.
 */
export class TransferUndecided extends Error {
  override readonly name = 'TransferUndecided';
  readonly doNotPayAgain = true;
  readonly intentId: string | null;
  readonly txHash: string | null;

  constructor(detail: string, transfer: SavedTransfer | null, cause?: unknown) {
    const what =
      transfer === null
        ? 'A payment is in progress'
        : `Transaction ${transfer.tx_hash} was sent for intent ${transfer.intent_id}`;
    super(`${detail}. ${what}: do not pay again, but call again with the same store`, { cause });
    this.intentId = transfer?.intent_id ?? null;
    this.txHash = transfer?.tx_hash ?? null;
  }
}

/** Advice for users of this client, appended to the market's next step. */
const CLIENT_ADVICE: Readonly<Record<string, OwnWords>> = {
  transfer_not_found: own`If another transaction paid (a wallet that speeds one up makes a new one), call again with resume: its hash. If the transfer failed or can never be mined, call again with resume: 'nothing_sent'.`,
  transaction_used: own`If another transaction paid for this, call again with resume: its hash.`,
  wrong_payer: own`If this wallet sent another transaction, call again with resume: its hash.`,
  signature_invalid: own`Call again: the wallet will be asked for another signature.`,
};

/** The market refused the claim of a sent transfer. Without `resume`, nothing more is sent now or when called again. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
  readonly reason: AnyReason;
  readonly status: number;
  /** The market's value, or true if it sent none. */
  readonly doNotPayAgain: boolean;
  readonly nextStep: OwnWords;
  readonly intentId: string;
  readonly txHash: string | null;

  constructor(transfer: SavedTransfer, cause: MarketError) {
    const marketStep = ofSource(rowOf(cause.reason)?.next_step ?? 'Read the market’s message in problem.');
    const more = CLIENT_ADVICE[cause.reason];
    const nextStep = more === undefined ? marketStep : own`${marketStep} ${more}`;
    super(`${cause.message} (transaction ${transfer.tx_hash}, intent ${transfer.intent_id}). ${nextStep}`, { cause });
    this.reason = cause.reason;
    this.status = cause.status;
    this.doNotPayAgain = cause.doNotPayAgain ?? true;
    this.nextStep = nextStep;
    this.intentId = transfer.intent_id;
    this.txHash = transfer.tx_hash;
  }
}
