/** A client whose answer goes on for as long as it stays. When it goes, the answer's `release` says so. */
export interface Listener {
  /** The bytes are not copied and may be shared by many. False: enough for now; whoever writes on without waiting fills the memory. */
  write(bytes: Uint8Array): boolean;
  /** Runs once, when all that was written has been taken. */
  onceDrained(run: () => void): void;
  /** Says the last word; the connection closes when it is taken. */
  end(bytes: Uint8Array): void;
  /** Closes the connection at once. */
  cut(): void;
}
