/** Pages of about the same length share a class; steps waste less than powers of two would. */
const STEP_BYTES = 16 * 1024;

/** A buffer that is longer by so many steps serves as well as a new one, which costs more than its waste. */
const STEPS_TOO_LONG = 2;

/** Longer pages are rare, and keeping their buffers would push out those of the many short ones. */
const LARGEST_POOLED_BYTES = 1024 * 1024;

export interface PageBuffer {
  readonly bytes: Buffer;
  /** The bytes may be written again from now on. A second call does nothing. */
  release(): void;
}

/** Buffers that are used again: fresh memory for each page costs more than finding and copying its fragments. */
export interface PageBuffers {
  /** At least as long as asked for. */
  take(byteCount: number): PageBuffer;
  /** What lies ready and is not in use. */
  idleBytes(): number;
}

/** How much may lie ready may change: what is too much then goes with the next buffer that has to be made, or is given back. */
export function createPageBuffers(options: { mostIdleBytes: () => number }): PageBuffers {
  const { mostIdleBytes } = options;
  const classes: Buffer[][] = Array.from({ length: LARGEST_POOLED_BYTES / STEP_BYTES + 1 }, () => []);
  let idle = 0;

  /** Buffers of lengths that nobody asks for any more must not keep out those that are needed now. */
  const makeRoom = (needed: number, wanted: number): void => {
    const most = mostIdleBytes();
    for (let index = classes.length - 1; index > 0 && idle + needed > most; index--) {
      const waiting = index === wanted ? undefined : classes[index];
      while (waiting !== undefined && waiting.length > 0 && idle + needed > most) {
        waiting.pop();
        idle -= index * STEP_BYTES;
      }
    }
  };

  const takeReady = (index: number): Buffer | undefined => {
    for (let longer = index; longer <= index + STEPS_TOO_LONG; longer++) {
      const ready = classes[longer]?.pop();
      if (ready !== undefined) return ready;
    }
    return undefined;
  };

  const putBack = (bytes: Buffer): void => {
    const index = bytes.length / STEP_BYTES;
    const waiting = classes[index];
    if (waiting === undefined) return;
    if (idle + bytes.length > mostIdleBytes()) makeRoom(bytes.length, index);
    if (idle + bytes.length > mostIdleBytes()) return;
    waiting.push(bytes);
    idle += bytes.length;
  };

  return {
    take(byteCount) {
      const index = Math.max(1, Math.ceil(byteCount / STEP_BYTES));
      const ready = takeReady(index);
      if (ready !== undefined) idle -= ready.length;
      else makeRoom(0, index);
      const bytes = ready ?? Buffer.allocUnsafeSlow(index * STEP_BYTES);
      let released = false;
      return {
        bytes,
        release() {
          if (released) return;
          released = true;
          putBack(bytes);
        },
      };
    },
    idleBytes: () => idle,
  };
}
