/** What a page takes is rounded up to that. */
const STEP_BYTES = 4 * 1024;
const STEPS = 1024;
/** Of one slab; no page lies in two. Longer pages are rare. */
const SLAB_BYTES = STEPS * STEP_BYTES;
/** So much may wait for clients at a time, however little else is left. */
const LEAST_BYTES = 32 * 1_048_576;

export interface PageBuffer {
  readonly bytes: Buffer;
  /** The bytes may be written again from now on. A second call does nothing. */
  release(): void;
}

/**
 * Memory for pages that is used again and again: touching fresh memory costs more than finding and copying fragments. All of it is
 * reserved at the start, because V8 looks through the whole heap each time 64 MB outside of it came. What was never written takes no
 * memory of the machine yet.
 */
export interface PageBuffers {
  /** At least as long as asked for. Without room in a slab it is a piece of memory of its own, freed once nothing refers to it. */
  take(byteCount: number): PageBuffer;
  /** New pages lie within the first so many bytes, and what is free behind them goes back to the machine. */
  keepWithin(byteCount: number): void;
  /** Taken and not yet given back. */
  usedBytes(): number;
}

interface Slab {
  bytes: Buffer;
  /** A one for each step that is taken. */
  readonly taken: Uint8Array;
  /** The longest row of free steps. */
  longest: number;
  /** Some of it was written. */
  touched: boolean;
}

export function createPageBuffers(reservedBytes: number): PageBuffers {
  const slabs = Array.from({ length: slabsFor(reservedBytes) }, createSlab);
  let within = slabs.length;
  let usedSteps = 0;

  const takeFrom = (slab: Slab, steps: number): PageBuffer => {
    const first = findRow(slab.taken, steps);
    slab.taken.fill(1, first, first + steps);
    slab.longest = longestRow(slab.taken);
    slab.touched = true;
    usedSteps += steps;
    let released = false;
    return {
      bytes: slab.bytes.subarray(first * STEP_BYTES, (first + steps) * STEP_BYTES),
      release() {
        if (released) return;
        released = true;
        slab.taken.fill(0, first, first + steps);
        slab.longest = longestRow(slab.taken);
        usedSteps -= steps;
      },
    };
  };

  return {
    take(byteCount) {
      const steps = Math.max(1, Math.ceil(byteCount / STEP_BYTES));
      for (let at = 0; at < within; at += 1) {
        const slab = slabs[at];
        // From the front, so that what lies behind becomes free when there is less room.
        if (slab !== undefined && slab.longest >= steps) return takeFrom(slab, steps);
      }
      return { bytes: Buffer.allocUnsafeSlow(byteCount), release() {} };
    },
    keepWithin(byteCount) {
      within = Math.min(slabs.length, slabsFor(byteCount));
      for (let at = within; at < slabs.length; at += 1) {
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

/** Where so many free steps begin; there are such. */
function findRow(taken: Uint8Array, steps: number): number {
  let free = 0;
  for (let at = 0; at < taken.length; at += 1) {
    free = taken[at] === 0 ? free + 1 : 0;
    if (free === steps) return at + 1 - steps;
  }
  throw new TypeError('a slab has less room than it says');
}

function longestRow(taken: Uint8Array): number {
  let longest = 0;
  let free = 0;
  for (let at = 0; at < taken.length; at += 1) {
    free = taken[at] === 0 ? free + 1 : 0;
    if (free > longest) longest = free;
  }
  return longest;
}
