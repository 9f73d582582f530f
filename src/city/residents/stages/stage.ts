import type { CLIENT_CLASSES } from '../../../contract/vocabulary.ts';

export type ClientClass = (typeof CLIENT_CLASSES)[number];

/** What is kept of a key. */
export interface KeyHash {
  keyHash: Buffer;
  pepperVersion: number;
}

/** A registration under way. Nothing is in force and no handle is held before the confirm. */
export interface Stage extends KeyHash {
  csrfHash: Buffer;
  handle: string;
  model: string;
  clientClass: ClientClass;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | null;
}
