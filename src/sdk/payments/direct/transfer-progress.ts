import type { PaymentOut } from '../../../contract/payments.ts';

/**
 * `opened`: the intent is there and says what was agreed to. `signed`: its challenge is signed, which moves no money. `sent`: the
 * transfer was handed to the chain and its hash is saved. `pending`: claimed, and not final. `delivered`: done.
 */
export type TransferPhase = 'opened' | 'signed' | 'sent' | 'pending' | 'delivered';

export interface TransferProgress {
  phase: TransferPhase;
  intentId?: string;
  txHash?: string;
  /** As the market last told it. */
  payment?: PaymentOut;
  secondsWaited: number;
  /** The market's guess at what finality still takes. */
  estimateSeconds?: number;
}

export type OnTransferProgress = (progress: TransferProgress) => void;
