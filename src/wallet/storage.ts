import { loadPayment, type ProofStore, type SavedPayment } from '../sdk/payments/proof-store.ts';
import { beginRecord, type PurchaseRecord, purchaseRecord } from './purchase-record.ts';

/** What of Storage is used: the browser's own, or a test's. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** What is kept for one listing in this browser. One payment at a time: another one's proof is never written over. */
export interface Keep {
  /** For the SDK. Its `save` resolves when the proof can be read back. */
  proofs: ProofStore;
  /** The payment under way, of any wallet. Throws on what cannot be read: signing while it may exist could pay twice. */
  saved(): Promise<SavedPayment | null>;
  record(): PurchaseRecord | null;
  write(record: PurchaseRecord): void;
  /** Forgets everything about this listing. */
  forget(): void;
  /** The names under which other tabs hear of changes. */
  names: { proof: string; record: string };
}

export function createKeep(shelf: Shelf, listingId: number): Keep {
  const names = { proof: `openaisle:proof:${listingId}`, record: `openaisle:purchase:${listingId}` };
  const write = (name: string, value: object): void => {
    const text = JSON.stringify(value);
    shelf.setItem(name, text);
    if (shelf.getItem(name) !== text) throw new TypeError('this browser did not keep what it was given');
  };
  const slot = (): { key: string; payment: unknown } | null => {
    const text = shelf.getItem(names.proof);
    if (text === null) return null;
    const found: unknown = JSON.parse(text);
    if (typeof found !== 'object' || found === null || !('key' in found) || !('payment' in found)) throw unreadable();
    return { key: String(found.key), payment: found.payment };
  };
  const record = (): PurchaseRecord | null => {
    const text = shelf.getItem(names.record);
    return text === null ? null : purchaseRecord.parse(JSON.parse(text));
  };
  const proofs: ProofStore = {
    save: async (key, payment) => write(names.proof, { key, payment }),
    load: async (key) => {
      const found = slot();
      if (found !== null && found.key !== key) throw new TypeError('another wallet is paying for this listing');
      return found?.payment ?? null;
    },
    clear: async () => {
      const payment = await saved();
      const before = record();
      // First what the goods are read again with, then away with the proof: a crash between the two loses nothing.
      if (payment !== null) {
        const { payer } = payment.proof;
        const known = before ?? beginRecord(payer, 0);
        const token = payment.delivery_token ?? known.token;
        const recovery_slip = payment.recovery_slip ?? known.recovery_slip;
        write(names.record, { ...known, phase: 'bought', payer, token, recovery_slip });
      }
      shelf.removeItem(names.proof);
    },
  };
  const saved = async (): Promise<SavedPayment | null> => {
    const found = slot();
    return found === null ? null : await loadPayment({ ...proofs, load: async () => found.payment }, found.key);
  };
  return {
    ...{ proofs, saved, record, names },
    write: (next) => write(names.record, next),
    forget: () => {
      shelf.removeItem(names.proof);
      shelf.removeItem(names.record);
    },
  };
}

function unreadable(): TypeError {
  return new TypeError('the saved payment cannot be read');
}

/** What a safe purchase stands on in this browser. */
interface AvailableStorage {
  shelf: Shelf;
  locks: LockManager;
}

export type Missing = 'insecure' | 'no_storage' | 'no_locks';

const PROBE = 'openaisle:probe';

/** Without all of it a reload or a second tab could lead to a second payment, so nothing is signed. */
export function findStorage(): AvailableStorage | Missing {
  if (!window.isSecureContext) return 'insecure';
  // Older browsers have none, whatever the types say.
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
