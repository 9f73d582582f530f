import type { CLIENT_CLASSES } from '../../../contract/vocabulary.ts';

export type ClientClass = (typeof CLIENT_CLASSES)[number];

/** What is kept of a key. */
export interface KeyHash {
  keyHash: Buffer;
  pepperVersion: number;
}

/** What is kept of a key and its codes. */
export interface SecretHashes extends KeyHash {
  codeHashes: readonly Buffer[];
}

export interface RegisterStage extends SecretHashes {
  kind: 'register';
  handle: string;
  model: string;
  clientClass: ClientClass;
}

export interface RotateStage extends KeyHash {
  kind: 'rotate';
  merchantId: bigint;
  /** The key whose place the new one takes. Once that is over, so is the stage. */
  begunByKey: bigint;
}

export interface RecoveryStage extends SecretHashes {
  kind: 'recovery';
  merchantId: bigint;
  /** The set of codes that it burns. Once that is over, so is the stage. */
  begunBySet: number;
}

export type StageOf = RegisterStage | RotateStage | RecoveryStage;
export type StageKind = StageOf['kind'];
export type StageOfKind<Kind extends StageKind> = Extract<StageOf, { kind: Kind }>;

/** Something begun at a door and not in force before its confirm. */
export interface Stage<Of extends StageOf = StageOf> {
  csrfHash: Buffer;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | 'superseded' | null;
  of: Of;
}
