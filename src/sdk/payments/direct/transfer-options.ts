import type { Hex } from 'viem';
import type { PaymentOut } from '../../../contract/payments.ts';
import type { Client } from '../../client.ts';
import type { TransferStore } from './transfer-store.ts';

/** A wallet that sends transfers itself: a key, a contract wallet, or a person who is asked. */
export interface TransferWallet {
  readonly address: Hex;
  /** Signs by personal_sign (EIP-191), or as a contract wallet (EIP-1271). */
  signMessage(request: { message: string }): Promise<Hex>;
  /**
   * Sends one plain USDC transfer from `address` and returns its transaction hash, without waiting for finality. Throw `TransferNotSent`
   * only if it is certain that nothing was sent, for example because the owner declined. After any other error a transfer may exist.
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

/** Searches the chain. Returns null if there is no such transfer, or more than one. */
export type FindTransfer = (sought: SoughtTransfer) => Promise<Hex | null>;

export interface TransferOptions {
  /** Must have a key, because only merchants can claim transfers. */
  client: Client;
  wallet: TransferWallet;
  /**
   * Saves transfers in progress. Default: as long as the client lives. Use a durable store, or a crash can lose track of a sent transfer.
   */
  store?: TransferStore;
  /** Called only for a started transfer whose hash is unknown. */
  findTransfer?: FindTransfer;
  /**
   * After `TransferMayBeSent` or `TransferRefused`: the transfer's hash, or `nothing_sent` if none was sent and none will be. The latter
   * allows another transfer, unless the market is still examining the first.
   */
  resume?: Hex | 'nothing_sent';
  /** After `PaymentMayBeLost`: confirms that the transfer that was found paid for something else. */
  payAnew?: boolean;
  onProgress?: OnTransferProgress;
  /** Seconds until `TransferUndecided` is thrown; calling again resumes. Default: 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

/**
 * `opened`: the intent exists and fits the agreed terms. `signed`: its challenge is signed, which moves no money. `sent`: the transfer was
 * submitted and its hash saved. `pending`: claimed but not final. `delivered`: done.
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
