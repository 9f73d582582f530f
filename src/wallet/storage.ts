import { loadPayment, type ProofStore, type SavedPayment } from '../sdk/payments/proof-store.ts';
import { beginRecord, type PurchaseRecord, purchaseRecord } from './purchase-record.ts';

/** The part of Storage in use, which tests replace. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Storage for one listing in this browser. It stores one payment at a time. `proofs.load` throws if another wallet's proof is stored. */
export interface PurchaseStore {
  /** Store for the SDK. `save` resolves once the proof can be read back. */
  proofs: ProofStore;
  /** Returns the pending payment of any wallet. Throws if it cannot be read, because signing another one could pay twice. */
  saved(): Promise<SavedPayment | null>;
  record(): PurchaseRecord | null;
  write(record: PurchaseRecord): void;
  forget(): void;
  /** Storage keys by which other tabs recognize changes. */
  names: { proof: string; record: string };
}

export function createPurchaseStore(shelf: Shelf, listingId: number): PurchaseStore {
  const names = { proof: `openaisle:proof:${listingId}`, record: `openaisle:purchase:${listingId}` };
  const writeItem = (name: string, value: object): void => {
    const text = JSON.stringify(value);
    shelf.setItem(name, text);
    if (shelf.getItem(name) !== text) throw new TypeError('this browser did not keep what it was given');
  };
  const readEntry = (): { key: string; payment: unknown } | null => {
    const text = shelf.getItem(names.proof);
    if (text === null) return null;
    const entry: unknown = JSON.parse(text);
    if (typeof entry !== 'object' || entry === null || !('key' in entry) || !('payment' in entry))
      throw unreadablePayment();
    return { key: String(entry.key), payment: entry.payment };
  };
  const record = (): PurchaseRecord | null => {
    const text = shelf.getItem(names.record);
    return text === null ? null : purchaseRecord.parse(JSON.parse(text));
  };
  const proofs: ProofStore = {
    save: async (key, payment) => writeItem(names.proof, { key, payment }),
    load: async (key) => {
      const entry = readEntry();
      if (entry !== null && entry.key !== key) throw new TypeError('another wallet is paying for this listing');
      return entry?.payment ?? null;
    },
    clear: async () => {
      const payment = await saved();
      const previous = record();
      // Store the data for showing the goods again before removing the proof, so that a crash in between loses nothing.
      if (payment !== null) {
        const { payer } = payment.proof;
        const base = previous ?? beginRecord(payer, 0);
        const token = payment.delivery_token ?? base.token;
        const recovery_slip = payment.recovery_slip ?? base.recovery_slip;
        writeItem(names.record, { ...base, phase: 'bought', payer, token, recovery_slip });
      }
      shelf.removeItem(names.proof);
    },
  };
  const saved = async (): Promise<SavedPayment | null> => {
    const entry = readEntry();
    return entry === null ? null : await loadPayment({ ...proofs, load: async () => entry.payment }, entry.key);
  };
  return {
    ...{ proofs, saved, record, names },
    write: (next) => writeItem(names.record, next),
    forget: () => {
      shelf.removeItem(names.proof);
      shelf.removeItem(names.record);
    },
  };
}

function unreadablePayment(): TypeError {
  return new TypeError('the saved payment cannot be read');
}

interface AvailableStorage {
  shelf: Shelf;
  locks: LockManager;
}

export type Missing = 'insecure' | 'no_storage' | 'no_locks';

const PROBE = 'openaisle:probe';

/** Finds the browser features that a safe purchase needs. Without them a reload or a second tab could pay twice, so nothing is signed. */
export function findStorage(): AvailableStorage | Missing {
  if (!window.isSecureContext) return 'insecure';
  // Undefined in older browsers, despite the type.
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return 'no_locks';
  try {
    const shelf = window.localStorage;
    const word = String(performance.now());
    shelf.setItem(PROBE, word);
    const isKept = shelf.getItem(PROBE) === word;
    shelf.removeItem(PROBE);
    return isKept ? { shelf, locks } : 'no_storage';
  } catch {
    return 'no_storage';
  }
}
