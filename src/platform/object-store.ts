/** Stores byte strings under names that are random and used once. Every failure throws. */
export interface ObjectStore {
  put(name: string, bytes: Buffer): Promise<void>;
  /** Returns the bytes from `from` up to `to`, exclusive. Throws if the object does not have them. */
  get(name: string, range: { from: number; to: number }): Promise<Buffer>;
  /** Succeeds if there is no such object. */
  delete(name: string): Promise<void>;
}
