/** The size of a page is rounded up to a multiple of this. */
const STEP_BYTES = 4 * 1024;
const STEPS = 1024;
/** A page never crosses slabs. Pages longer than a slab are rare. */
const SLAB_BYTES = STEPS * STEP_BYTES;
/** Minimum for pages that wait for clients, however small the budget. */
const LEAST_BYTES = 32 * 1_048_576;

export interface PageBuffer {
  readonly bytes: Buffer;
  /** Allows the bytes to be overwritten. A second call does nothing. */
  release(): void;
}

/**
 * Reuses memory for pages, because touching fresh memory costs more than finding and copying fragments. Reserves all of it at the start,
 * because V8 collects the whole heap for each 64 MB of new external memory. The system allocates a page only when it is written.
 */
export interface PageBuffers {
  /** Returns a buffer of at least the requested size. If no slab has room, allocates memory that is freed once nothing refers to it. */
  take(byteCount: number): PageBuffer;
  /** Keeps new pages within the first `byteCount` bytes and returns free memory after them to the machine. */
  keepWithin(byteCount: number): void;
  usedBytes(): number;
}

interface Slab {
  bytes: Buffer;
  /** One byte per step; 1 means taken. */
  readonly taken: Uint8Array;
  /** The longest run of free steps. */
  longest: number;
  touched: boolean;
}

export function createPageBuffers(reservedBytes: number): PageBuffers {
  const slabs = Array.from({ length: slabsFor(reservedBytes) }, createSlab);
  let usableSlabs = slabs.length;
  let usedSteps = 0;

  const takeFrom = (slab: Slab, steps: number): PageBuffer => {
    const first = findFreeRun(slab.taken, steps);
    slab.taken.fill(1, first, first + steps);
    slab.longest = longestFreeRun(slab.taken);
    slab.touched = true;
    usedSteps += steps;
    let released = false;
    return {
      bytes: slab.bytes.subarray(first * STEP_BYTES, (first + steps) * STEP_BYTES),
      release() {
        if (released) return;
        released = true;
        slab.taken.fill(0, first, first + steps);
        slab.longest = longestFreeRun(slab.taken);
        usedSteps -= steps;
      },
    };
  };

  return {
    take(byteCount) {
      const steps = Math.max(1, Math.ceil(byteCount / STEP_BYTES));
      for (let at = 0; at < usableSlabs; at += 1) {
        const slab = slabs[at];
        // Search from the front, so that later slabs become free when the room shrinks.
        if (slab !== undefined && slab.longest >= steps) return takeFrom(slab, steps);
      }
      return { bytes: Buffer.allocUnsafeSlow(byteCount), release() {} };
    },
    keepWithin(byteCount) {
      usableSlabs = Math.min(slabs.length, slabsFor(byteCount));
      for (let at = usableSlabs; at < slabs.length; at += 1) {
        const slab = slabs[at];
        if (slab?.touched && slab.longest === STEPS) slabs[at] = createSlab();
      }
    },
    usedBytes: () => usedSteps * STEP_BYTES,
  };
}

function slabsFor(byteCount: number): number {
  return Math.floor(Math.max(byteCount, LEAST_BYTES) / SLAB_BYTES);
}

function createSlab(): Slab {
  return { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), taken: new Uint8Array(STEPS), longest: STEPS, touched: false };
}

/** Returns the first step of a free run. The caller must know that there is one. */
function findFreeRun(taken: Uint8Array, steps: number): number {
  let free = 0;
  for (let at = 0; at < taken.length; at += 1) {
    free = taken[at] === 0 ? free + 1 : 0;
    if (free === steps) return at + 1 - steps;
  }
  throw new TypeError('a slab has less room than it says');
}

function longestFreeRun(taken: Uint8Array): number {
  let longest = 0;
  let free = 0;
  for (let at = 0; at < taken.length; at += 1) {
    free = taken[at] === 0 ? free + 1 : 0;
    if (free > longest) longest = free;
  }
  return longest;
}
