import type { Hex } from 'viem';
import type { Network } from '../../contract/vocabulary.ts';
import type { CityClient } from '../city-client.ts';
import type { Client } from '../client.ts';
import type { FindTransfer, TransferWallet } from '../payments/direct/transfer-options.ts';
import type { ThingStore } from './thing-store.ts';

export interface BuyThingOptions {
  /** With a merchant's key. */
  market: Client;
  /** With the key of the resident that this merchant is linked to. */
  city: CityClient;
  wallet: TransferWallet;
  listingId: number;
  /** The resident who is to own it. */
  cityHandle: string;
  /** The most that it may cost, in USDC with at most 6 decimals. */
  maxPriceUsdc: number;
  /** Default: that of `DEFAULT_NETWORK`. */
  network?: Network['name'];
  /** Where a purchase under way is kept. The default lives as long as the process; hand in a durable one, or a crash can lose sight of a transfer. */
  store?: ThingStore;
  /** Asked only about a transfer that was begun and whose hash is not known. */
  findTransfer?: FindTransfer;
  /** What the caller has found out after `ThingMayBePaid`. */
  resume?: Hex | 'nothing_sent';
  onProgress?(progress: ThingProgress): void;
  /** Then `ThingUndecided` is thrown; calling again goes on. Default 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

export interface ThingProgress {
  /** `reserved`: the thing is held for five minutes. `sent`: the transfer was handed to the chain. `pending`: claimed, not final. `claimed`: it changed hands in the city. `recorded`: the market has the sale. */
  phase: 'reserved' | 'sent' | 'pending' | 'claimed' | 'recorded';
  txHash?: Hex;
}
