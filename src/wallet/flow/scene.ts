import type { Client } from '../../sdk/client.ts';
import type { BuyOptions } from '../../sdk/payments/buy.ts';
import type { Offer } from '../offer.ts';
import type { Screen } from '../show/create-screen.ts';
import type { Keep } from '../storage.ts';
import type { WatchedWallets } from '../wallet-announcements.ts';
import type { Address, Connected } from '../wallet-provider.ts';

/** What every part of the flow works with. */
export interface Scene {
  offer: Offer;
  keep: Keep;
  locks: LockManager;
  screen: Screen;
  client: Client;
  wallets: WatchedWallets;
  now(): number;
  /** Whether the last request to buy only collects: then so does the signature that it asks for. */
  asked: { isCollecting: boolean };
  connected: Connected | null;
  /** This tab has the purchase in hand. */
  isHolding: boolean;
  /** The market said that the attempt ended unpaid. Nothing else makes it true. */
  hasEnded: boolean;
  /** Looks at what is kept, and shows what there is to do. */
  resume(isAct?: boolean): Promise<void>;
  /** Goes on with the payment that is kept; pays once more only where that is allowed. */
  goOn(payer: Address, allowed: Allowed): Promise<void>;
}

/** What the person has allowed, as the SDK's options of these names. */
export type Allowed = Pick<BuyOptions, 'mayPayAgain' | 'payAnew'>;
