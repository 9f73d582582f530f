import type { Hex } from 'viem';
import { z } from 'zod';
import type { Network } from '../../contract/vocabulary.ts';
import type { OfferPhase } from '../../contract/world-records.ts';
import type { CityClient } from '../city-client.ts';
import type { Client } from '../client.ts';
import type { MarketError } from '../errors.ts';
import type { FindTransfer, SoughtTransfer, TransferWallet } from '../payments/direct/transfer-options.ts';
import { createMemoryStore, loadSaved } from '../saved.ts';

export interface BuyThingOptions {
  /** Must have a merchant's key. */
  market: Client;
  /** Must have the key of the resident linked to the merchant. */
  city: CityClient;
  wallet: TransferWallet;
  listingId: number;
  /** Handle of the resident who will own the thing. */
  cityHandle: string;
  /** Highest price, in USDC with at most 6 decimals. */
  maxPriceUsdc: number;
  /** Default: `DEFAULT_NETWORK`. */
  network?: Network['name'];
  /** Saves a purchase in progress. Default: as long as `market` lives. Use a durable store, or a crash can lose track of a transfer. */
  store?: ThingStore;
  /** Called only for a started transfer whose hash is unknown. */
  findTransfer?: FindTransfer;
  /** After `ThingMayBePaid`: the transfer's hash, or `nothing_sent` if none was sent and none will be. */
  resume?: Hex | 'nothing_sent';
  onProgress?(progress: ThingProgress): void;
  /** Seconds until `ThingUndecided` is thrown; calling again resumes. Default: 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

export interface ThingProgress {
  /**
   * `reserved`: for five minutes. `sent`: the transfer was submitted. `pending`: claimed but not final. `claimed`: the thing changed
   * hands in the city. `recorded`: the market has the sale.
   */
  phase: 'reserved' | 'sent' | 'pending' | 'claimed' | 'recorded';
  txHash?: Hex;
}

/** A transfer was started and its hash is unknown. Look for `sought` on the chain and in the wallet, then call again with `resume`. */
export class ThingMayBePaid extends Error {
  override readonly name = 'ThingMayBePaid';
  readonly doNotPayAgain = true;
  readonly sought: SoughtTransfer;

  constructor(sought: SoughtTransfer, cause?: unknown) {
    super(
      `A transfer of ${sought.units} units from ${sought.from} to ${sought.to} may have been sent between ${sought.since} and ${sought.until}. ` +
        "Look for it on the chain and in the wallet, then call again with resume: its hash, or 'nothing_sent' if there is none and none is waiting to be mined",
      { cause },
    );
    this.sought = sought;
  }
}

/**
 * The sale is undecided: the wait ended, another call is paying, or the transfer's hash couldn't be saved. Call again with the same store.
 * No second transfer is sent.
 */
export class ThingUndecided extends Error {
  override readonly name = 'ThingUndecided';
  readonly doNotPayAgain = true;
  readonly txHash: string | null;

  constructor(detail: string, saved: SavedThing, cause?: unknown) {
    super(`${detail}. Transaction ${saved.tx_hash} pays for offer ${saved.offer_id}: call again, do not pay again`, {
      cause,
    });
    this.txHash = saved.tx_hash;
  }
}

/** The transfer was sent but led to no sale. Nothing more is sent, now or when called again. */
export class ThingRefused extends Error {
  override readonly name = 'ThingRefused';
  readonly doNotPayAgain = true;
  readonly txHash: string | null;
  /** Phase of the offer, if known. */
  readonly phase: OfferPhase | null;

  constructor(detail: string, saved: SavedThing, more: { phase?: OfferPhase; cause?: MarketError }) {
    super(`${detail} (transaction ${saved.tx_hash}, offer ${saved.offer_id}). Do not pay again; contact the seller`, {
      cause: more.cause,
    });
    this.txHash = saved.tx_hash;
    this.phase = more.phase ?? null;
  }
}

const hex = z.templateLiteral(['0x', z.string()]);

/** Everything needed to resume the same transfer after a crash. Saved before the transfer is sent. */
export const savedThing = z.object({
  version: z.literal(1),
  listing_id: z.int(),
  offer_id: z.int(),
  reservation_id: z.int(),
  payer: hex,
  payee: hex,
  asset: hex,
  chain_id: z.int(),
  amount_units: z.string().regex(/^\d{1,39}$/),
  reserved_at: z.string(),
  reserved_until: z.string(),
  payer_signature: hex,
  /** Null from just before sending until the hash is known. In that time the transfer may exist. */
  tx_hash: hex.nullable(),
});
export type SavedThing = z.output<typeof savedThing>;

/**
 * Keeps purchases of things. `create` and `save` must be durable when they resolve. Values are plain JSON without secrets. Keep them after
 * the sale, so that a concurrent call for the same thing doesn't pay again.
 */
export interface ThingStore {
  /** Saves atomically, and only if the key is new: of two concurrent calls, one gets true. A file opened with `wx` is enough. */
  create(key: string, thing: SavedThing): Promise<boolean>;
  save(key: string, thing: SavedThing): Promise<void>;
  /** Null if nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Creates a store that lasts as long as the process. Transfers sent before a crash are unknown after it. */
export function createMemoryThingStore(): ThingStore {
  return createMemoryStore<SavedThing>();
}

export async function loadThing(store: ThingStore, key: string): Promise<SavedThing | null> {
  return await loadSaved(store, key, { schema: savedThing, name: 'purchase' });
}
