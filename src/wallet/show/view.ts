import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import type { Purpose, TypedMessage } from '../messages.ts';
import type { PurchaseRecord } from '../purchase-record.ts';
import type { Missing } from '../storage.ts';
import type { FoundWallet } from '../wallet-announcements.ts';

export interface Action {
  words: string;
  act(): void;
  isMain?: boolean;
  /** Time until which the action is disabled. */
  fromMs?: number;
}

export interface Trouble {
  title: string;
  what: string;
  money: string;
  todo: string;
  reason: string | null;
}

export type FileState =
  | { kind: 'offered' }
  | { kind: 'saving'; words: string }
  /** `address` is that of bytes in memory. Null if they are on the disk. */
  | { kind: 'saved'; address: string | null }
  /** `mustCollect` is true if the permission to download has run out. */
  | { kind: 'stopped'; words: string; mustCollect: boolean };

export interface FileView {
  state: FileState;
  save(): void;
  /** Collects the goods again. */
  collect(): void;
}

export interface GoodsView {
  kind: 'goods';
  delivery: DeliveredGoods;
  record: PurchaseRecord | null;
  published: string;
  /** Null for a file that is not saved yet. */
  computed: string | null;
  forget(): void;
  /** Null for goods that came in the answer. */
  file: FileView | null;
}

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
      hasSearched: boolean;
      choose(wallet: FoundWallet): void;
      others: readonly Action[];
    }
  | {
      kind: 'confirm';
      message: TypedMessage;
      purpose: Purpose;
      isRenewed: boolean;
      /** How far the market's clock is ahead of this device's. */
      aheadMs: number;
      record: PurchaseRecord | null;
      yes(): void;
      no(): void;
    }
  | { kind: 'progress'; record: PurchaseRecord }
  | { kind: 'elsewhere'; record: PurchaseRecord | null }
  | { kind: 'trouble'; trouble: Trouble; actions: readonly Action[]; record: PurchaseRecord | null }
  | { kind: 'sign_to_read'; record: PurchaseRecord; sign(): void; forget(): void }
  | GoodsView;

export const UNSAFE_WORDS: Readonly<Record<Missing, string>> = {
  insecure: 'This page came over a connection that others can change on the way. Buying here would not be safe.',
  no_storage:
    'This browser keeps nothing for this site, as in a private window or where site data is blocked. A payment could not be found again after a reload, so buying here would not be safe.',
  no_locks: 'This browser cannot keep two tabs from paying twice. Buying here would not be safe; a newer one can.',
};

export function titleOf(view: View): string {
  switch (view.kind) {
    case 'unsafe':
      return 'Buying here would not be safe';
    case 'waiting':
    case 'wallets':
      return view.title;
    case 'free':
      return 'It is free';
    case 'closed':
      return 'Not for sale any more';
    case 'confirm':
      return view.purpose === 'pay' ? 'This is what you sign' : 'Sign to show whose wallet it is';
    case 'progress':
      return progressTitle(view.record.transfer !== null, view.record.at.final !== undefined);
    case 'elsewhere':
      return 'Under way in another tab';
    case 'trouble':
      return view.trouble.title;
    case 'sign_to_read':
      return 'Sign to read it again';
    case 'goods':
      return view.computed === null || view.published === view.computed ? 'Your goods' : 'Not what was promised';
  }
}

function progressTitle(isSettled: boolean, isFinal: boolean): string {
  if (isFinal) return 'The payment is final';
  return isSettled ? 'Waiting for the transfer to be final' : 'The payment is on its way';
}
