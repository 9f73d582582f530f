import type { Hex } from 'viem';
import type { PaymentOut } from '../../../contract/payments.ts';
import type { Client } from '../../client.ts';
import type { TransferStore } from './transfer-store.ts';

/** Pays by a transfer: a key, a contract wallet, or a person who is asked. */
export interface TransferWallet {
  readonly address: Hex;
  /** personal_sign (EIP-191), or a contract wallet's equivalent (EIP-1271). */
  signMessage(request: { message: string }): Promise<Hex>;
  /**
   * Sends one plain USDC transfer from `address` and returns its transaction hash, without waiting for finality. Throw `TransferNotSent` if
   * certainly nothing was sent (the owner declined, say); any other error means that a transfer may exist.
   */
  sendUsdc(transfer: { to: Hex; units: bigint; asset: Hex; chainId: number }): Promise<Hex>;
}

/** A transfer that may have been sent before a crash. Times are ISO 8601; the block's time is in [since, until). */
export interface SoughtTransfer {
  from: Hex;
  to: Hex;
  units: bigint;
  asset: Hex;
  chainId: number;
  since: string;
  until: string;
}

/** Searches the chain. Null if there is no such transfer, or more than one. */
export type FindTransfer = (sought: SoughtTransfer) => Promise<Hex | null>;

export interface TransferOptions {
  /** Must have a key: only merchants can claim transfers. */
  client: Client;
  wallet: TransferWallet;
  /**
   * Saves transfers in progress. The default lasts as long as the client; use a durable one, or a crash can lose track of a sent
   * transfer.
   */
  store?: TransferStore;
  /** Called only for a started transfer whose hash is unknown. */
  findTransfer?: FindTransfer;
  /**
   * After `TransferMayBeSent` or `TransferRefused`: the transfer's hash, or that none was sent and none will be. The latter allows another
   * transfer, unless the market is still examining the first.
   */
  resume?: Hex | 'nothing_sent';
  /** After `PaymentMayBeLost`: confirms that the transfer found paid for something else. */
  payAnew?: boolean;
  onProgress?: OnTransferProgress;
  /** After this time `TransferUndecided` is thrown; calling again resumes. Default 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

/**
 * `opened`: the intent exists and fits the agreed terms. `signed`: its challenge is signed, which moves no money. `sent`: the transfer was
 * submitted and its hash saved. `pending`: claimed, not final. `delivered`: done.
 */
export type TransferPhase = 'opened' | 'signed' | 'sent' | 'pending' | 'delivered';

export interface TransferProgress {
  phase: TransferPhase;
  intentId?: string;
  txHash?: string;
  /** The market's latest information. */
  payment?: PaymentOut;
  secondsWaited: number;
  /** The market's estimate of the time to finality. */
  estimateSeconds?: number;
}

export type OnTransferProgress = (progress: TransferProgress) => void;
