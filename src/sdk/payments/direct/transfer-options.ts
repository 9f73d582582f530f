import type { Hex } from 'viem';
import type { PaymentOut } from '../../../contract/payments.ts';
import type { Client } from '../../client.ts';
import type { TransferStore } from './transfer-store.ts';

/** What pays by a transfer: a key, a contract wallet, or a person who is asked. */
export interface TransferWallet {
  readonly address: Hex;
  /** personal_sign (EIP-191), or what a contract wallet takes for it (EIP-1271). */
  signMessage(asked: { message: string }): Promise<Hex>;
  /**
   * Sends one plain USDC transfer from `address` and gives the hash of its transaction, without waiting for finality. If it is certain
   * that nothing was sent (the owner declined, say) it throws `TransferNotSent`; any other error is taken to mean that a transfer may
   * exist.
   */
  sendUsdc(transfer: { to: Hex; units: bigint; asset: Hex; chainId: number }): Promise<Hex>;
}

/** The transfer that may have been sent before a crash. Times are ISO 8601; the block's time lies from `since` to before `until`. */
export interface SoughtTransfer {
  from: Hex;
  to: Hex;
  units: bigint;
  asset: Hex;
  chainId: number;
  since: string;
  until: string;
}

/** Looks on the chain. Null if there is none, or more than one, so that it cannot be told which it is. */
export type FindTransfer = (sought: SoughtTransfer) => Promise<Hex | null>;

/** Options that every payment by a transfer takes. */
export interface TransferOptions {
  /** With a key: transfers are claimed by merchants only. */
  client: Client;
  wallet: TransferWallet;
  /**
   * Where transfers under way are kept. The default lives as long as the client; hand in a durable one, or a crash can lose sight of a
   * transfer that was sent.
   */
  store?: TransferStore;
  /** Asked only about a transfer that was begun and whose hash is not known. */
  findTransfer?: FindTransfer;
  /**
   * What the caller has found out after `TransferMayBeSent` or `TransferRefused`: the hash of the transfer, or that none was sent for
   * it and none will be. The latter allows another transfer, unless the market still examines the first.
   */
  resume?: Hex | 'nothing_sent';
  /** After `PaymentMayBeLost`: what was found paid for something else. */
  payAnew?: boolean;
  onProgress?: OnTransferProgress;
  /** Then `TransferUndecided` is thrown; calling again goes on. Default 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

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
