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

/**
 * A transfer was begun and its hash is not known. Look for `sought` on the chain and in the wallet, then call again with `resume`: its
 * hash, or that nothing was sent.
 */
export class ThingMayBePaid extends Error {
  override readonly name = 'ThingMayBePaid';
  readonly doNotPayAgain = true;
  readonly sought: SoughtTransfer;

  constructor(sought: SoughtTransfer, cause?: unknown) {
    super(
      `A transfer of ${sought.units} units from ${sought.from} to ${sought.to} may have been sent between ${sought.since} and ${sought.until}. ` +
        "Look for it on the chain and in the wallet, then call again with resume: its hash, or 'nothing_sent' if there is none and none waits to be mined",
      { cause },
    );
    this.sought = sought;
  }
}

/** Waiting ended before the sale did. Call again with the same store: nothing more is sent. */
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

/** The transfer was sent, and there is no sale of it. Nothing more is sent, now or when called again. */
export class ThingRefused extends Error {
  override readonly name = 'ThingRefused';
  readonly doNotPayAgain = true;
  readonly txHash: string | null;
  /** Of the offer, where it is known. */
  readonly phase: OfferPhase | null;

  constructor(detail: string, saved: SavedThing, given: { phase?: OfferPhase; cause?: MarketError }) {
    super(
      `${detail} (transaction ${saved.tx_hash}, offer ${saved.offer_id}). Do not pay again; speak with the seller`,
      {
        cause: given.cause,
      },
    );
    this.txHash = saved.tx_hash;
    this.phase = given.phase ?? null;
  }
}

const hex = z.templateLiteral(['0x', z.string()]);

/** Everything that a crashed buyer needs to go on with the same transfer. It is saved before the transfer is sent. */
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
  /** Null from the moment before the transfer is sent until its hash is known: it may exist. */
  tx_hash: hex.nullable(),
});
export type SavedThing = z.output<typeof savedThing>;

/**
 * Where purchases of things are kept. What `create` and `save` were given must lie there durably when they resolve. Values are plain
 * JSON and no secrets. They stay when all is done: another call for the same thing must not pay for it again.
 */
export interface ThingStore {
  /** Saves only where nothing is, in one step: of two that try at once one gets true. A file opened with `wx` will do. */
  create(key: string, thing: SavedThing): Promise<boolean>;
  save(key: string, thing: SavedThing): Promise<void>;
  /** Null when nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Keeps them for as long as the process lives: what was sent before a crash is not known after it. */
export function createMemoryThingStore(): ThingStore {
  return createMemoryStore<SavedThing>();
}

/** See `loadSaved`. */
export async function loadThing(store: ThingStore, key: string): Promise<SavedThing | null> {
  return await loadSaved(store, key, { schema: savedThing, name: 'purchase' });
}
