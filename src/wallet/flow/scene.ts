import type { Client } from '../../sdk/client.ts';
import type { BuyOptions } from '../../sdk/payments/buy.ts';
import type { Offer } from '../offer.ts';
import type { Screen } from '../show/create-screen.ts';
import type { PurchaseStore } from '../storage.ts';
import type { WatchedWallets } from '../wallet-announcements.ts';
import type { Address, Connected } from '../wallet-provider.ts';

export interface Scene {
  offer: Offer;
  store: PurchaseStore;
  locks: LockManager;
  screen: Screen;
  client: Client;
  wallets: WatchedWallets;
  now(): number;
  /** Whether the last request to buy only collects: then so does its signature. */
  lastRequest: { isCollecting: boolean };
  connected: Connected | null;
  isHolding: boolean;
  /** Set only when the market says that the attempt ended unpaid. */
  hasEnded: boolean;
  /** Looks at what is stored, and shows what there is to do. */
  resume(isAct?: boolean): Promise<void>;
  /** Continues the stored payment; pays once more only if that is allowed. */
  goOn(payer: Address, allowed: Allowed): Promise<void>;
}

/** Permissions of the person, as options of the SDK. */
export type Allowed = Pick<BuyOptions, 'mayPayAgain' | 'payAnew'>;
