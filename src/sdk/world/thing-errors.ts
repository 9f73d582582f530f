import type { OfferPhase } from '../../contract/world-records.ts';
import type { MarketError } from '../market-error.ts';
import type { SoughtTransfer } from '../payments/direct/transfer-options.ts';
import type { SavedThing } from './thing-store.ts';

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
