import type { Delivery } from '../../contract/listings.ts';
import type { Missing } from '../keep/find-ground.ts';
import type { PurchaseRecord } from '../keep/purchase-record.ts';
import type { Purpose } from '../messages/check-message.ts';
import type { TypedMessage } from '../messages/typed-message.ts';
import type { FoundWallet } from '../wallets/read-announcement.ts';

export interface Action {
  words: string;
  act(): void;
  isMain?: boolean;
  /** Shut until then. */
  fromMs?: number;
}

/** What happened, whether money moved, and what to do. */
export interface Trouble {
  title: string;
  what: string;
  money: string;
  todo: string;
  /** Of the error table. */
  reason: string | null;
}

/** Everything that the page can show inside the flow. */
export type View =
  | { kind: 'unsafe'; missing: Missing }
  | { kind: 'waiting'; title: string; text: string }
  | { kind: 'free'; get(): void }
  | { kind: 'closed'; collect?: Action }
  | {
      kind: 'wallets';
      title: string;
      text: string;
      wallets: readonly FoundWallet[];
      isSettled: boolean;
      choose(wallet: FoundWallet): void;
      others: readonly Action[];
    }
  | {
      kind: 'confirm';
      message: TypedMessage;
      purpose: Purpose;
      isRenewed: boolean;
      record: PurchaseRecord | null;
      yes(): void;
      no(): void;
    }
  | { kind: 'progress'; record: PurchaseRecord }
  | { kind: 'elsewhere'; record: PurchaseRecord | null }
  | { kind: 'trouble'; trouble: Trouble; actions: readonly Action[]; record: PurchaseRecord | null }
  | { kind: 'sign_to_read'; record: PurchaseRecord; sign(): void; forget(): void }
  | {
      kind: 'goods';
      delivery: Delivery;
      record: PurchaseRecord | null;
      published: string;
      computed: string;
      forget(): void;
    };
