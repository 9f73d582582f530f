import type { BuyingClient } from '../../sdk/client.ts';
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
  client: BuyingClient;
  wallets: WatchedWallets;
  now(): number;
  /** The last request to buy. If it only collects goods, the signature that it asks for moves no money. */
  lastRequest: { isCollecting: boolean };
  connected: Connected | null;
  isHolding: boolean;
  /** True only if the market said that the attempt ended unpaid. */
  hasEnded: boolean;
  /** Shows the next step for the stored state. */
  resume(isAct?: boolean): Promise<void>;
  /** Continues the stored payment. Pays once more only if `allowed` permits it. */
  goOn(payer: Address, allowed: Allowed): Promise<void>;
}

/** The user's permissions, as SDK options. */
export type Allowed = Pick<BuyOptions, 'mayPayAgain' | 'payAnew'>;
