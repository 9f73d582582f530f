import type { Shelf } from './local-keep.ts';

/** What a safe purchase stands on in this browser. */
export interface Ground {
  shelf: Shelf;
  locks: LockManager;
}

export type Missing = 'insecure' | 'no_storage' | 'no_locks';

const PROBE = 'openaisle:probe';

/** Without all of it a reload or a second tab could lead to a second payment, so nothing is signed. */
export function findGround(): Ground | Missing {
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
