import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFragments, type Fragments, type OutlineSpan } from './fragments.ts';

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** Returns a fragment of about this size. It differs with each turn. */
function sampleFragment(id: number, size: number, turn = 0): Buffer {
  const start = `{"id":${id},"usd":"${turn}","description":"`;
  return Buffer.from(`${start}${'é-'.repeat(size).slice(0, Math.max(1, size - start.length))}"}`);
}

const USUAL = Buffer.from(',"usual":[null,null,null],"and":"so on"');
/** Returns the same text with the usual middle inserted. */
const withUsual = (bytes: Buffer): Buffer => {
  const at = bytes.indexOf(':"é') + 2;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from('"'), USUAL, Buffer.from(',"rest":"'), bytes.subarray(at)]);
};

const spanOf = (bytes: Buffer): OutlineSpan => ({ head: bytes.indexOf(',"description"'), line: 0 });

function putText(fragments: Fragments, id: number, bytes: Buffer): void {
  fragments.put(id, bytes, spanOf(bytes));
}

function copied(fragments: Fragments, id: number): Buffer {
  const target = Buffer.alloc(fragments.size(id) + 2, 0x2e);
  expect(fragments.copy(id, target, 1)).toBe(fragments.size(id));
  expect([target[0], target.at(-1)]).toEqual([0x2e, 0x2e]);
  return target.subarray(1, -1);
}

function stampOf(fragments: Fragments, id: number): string {
  const target = Buffer.alloc(10);
  fragments.stampInto(id, target, 1);
  expect([target[0], target[9]]).toEqual([0, 0]);
  return Buffer.from(target.subarray(1, 9)).toString('hex');
}

const stampOfBytes = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

describe('a fragment', () => {
  test('comes back as it was put, with its stamp, by copy and by view', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT });
    const bytes = sampleFragment(7, 300);
    putText(fragments, 7, bytes);
    expect(copied(fragments, 7)).toEqual(bytes);
    expect(Buffer.from(fragments.view(7) ?? [])).toEqual(bytes);
    expect(stampOf(fragments, 7)).toBe(stampOfBytes(bytes));
    expect([fragments.size(7), fragments.span(7), fragments.has(7)]).toEqual([bytes.length, spanOf(bytes), true]);
  });

  test('that was never put is unknown to every method', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT });
    putText(fragments, 7, sampleFragment(7, 300));
    for (const id of [1, 6, 8, 5000]) {
      expect([fragments.size(id), fragments.span(id), fragments.version(id), fragments.has(id)]).toEqual([
        0,
        { head: 0, line: 0 },
        0,
        false,
      ]);
      expect([fragments.view(id), fragments.copy(id, Buffer.alloc(9), 0)]).toEqual([null, 0]);
      expect(stampOf(fragments, id)).toBe('0'.repeat(16));
    }
  });

  test('may be longer than a slab', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT, slabBytes: 256 });
    const texts = [40, 900, 50, 256, 255, 60].map((size, index) => sampleFragment(index + 1, size));
    texts.forEach((bytes, index) => {
      putText(fragments, index + 1, bytes);
    });
    texts.forEach((bytes, index) => {
      expect(copied(fragments, index + 1)).toEqual(bytes);
    });
  });

  test('with the usual middle is stored without it, and comes back whole', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT, usualMiddle: USUAL });
    const texts = [1, 2, 3, 4].map((id) => (id === 3 ? sampleFragment(id, 90) : withUsual(sampleFragment(id, 90))));
    const plain = texts.reduce((sum, { length }) => sum + length + 1, 0);
    texts.forEach((bytes, index) => {
      putText(fragments, index + 1, bytes);
    });
    expect(fragments.bytes()).toEqual({ live: plain - 3 * USUAL.length, garbage: 0 });
    texts.forEach((bytes, index) => {
      const id = index + 1;
      expect(copied(fragments, id)).toEqual(bytes);
      expect(Buffer.from(fragments.view(id) ?? [])).toEqual(bytes);
      expect([stampOf(fragments, id), fragments.size(id)]).toEqual([stampOfBytes(bytes), bytes.length]);
    });
    const version = fragments.version(1);
    putText(fragments, 1, Buffer.from(texts[0] ?? []));
    expect(fragments.version(1)).toBe(version);
    // Keep the length, but change the text before the middle, after it, or in its place.
    for (const change of ['-é', '"}', USUAL.toString()]) {
      putText(fragments, 1, texts[0] ?? Buffer.alloc(0));
      const bytes = Buffer.from(texts[0] ?? []);
      const at = bytes.indexOf(change);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      const before = fragments.version(1);
      fragments.put(1, bytes, spanOf(texts[0] ?? bytes));
      expect([change, fragments.version(1) === before, copied(fragments, 1)]).toEqual([change, false, bytes]);
    }
  });

  test('that is put again unchanged keeps its version and makes no garbage', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT });
    const bytes = sampleFragment(3, 200);
    putText(fragments, 3, bytes);
    const version = fragments.version(3);
    putText(fragments, 3, Buffer.from(bytes));
    expect([fragments.version(3), fragments.bytes().garbage]).toEqual([version, 0]);
    putText(fragments, 3, sampleFragment(3, 200, 1));
    expect(fragments.version(3)).not.toBe(version);
    expect(fragments.bytes()).toEqual({ live: bytes.length + 1, garbage: bytes.length + 1 });
  });

  test('without an outline or with an id that is none is refused', () => {
    const fragments = createFragments({ budgetBytes: NO_LIMIT });
    const bytes = sampleFragment(3, 200);
    for (const head of [0, -1, bytes.length - 16, Number.NaN])
      expect(() => fragments.put(3, bytes, { head, line: 0 })).toThrow(RangeError);
    for (const line of [-1, bytes.length - 25, Number.NaN])
      expect(() => fragments.put(3, bytes, { head: 9, line })).toThrow(RangeError);
    for (const id of [0, -1, 1.5, 2 ** 29])
      expect(() => fragments.put(id, bytes, { head: 9, line: 0 })).toThrow(RangeError);
    expect(fragments.bytes()).toEqual({ live: 0, garbage: 0 });
  });
});

describe('memory', () => {
  test('garbage is given back while fragments change all the time', () => {
    const slabBytes = 1024;
    const fragments = createFragments({ budgetBytes: NO_LIMIT, slabBytes });
    const texts = new Map<number, Buffer>();
    let most = 0;
    let seed = 1;
    for (let turn = 0; turn < 20_000; turn++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      // Change some ids often and others hardly ever, so that no slab empties without compaction.
      const id = 1 + Math.floor(200 * (seed / 2 ** 32) ** 3);
      const bytes = sampleFragment(id, 60 + ((turn * 31) % 120), turn);
      putText(fragments, id, bytes);
      texts.set(id, bytes);
      const { live: held, garbage } = fragments.bytes();
      expect(garbage).toBeGreaterThanOrEqual(0);
      most = Math.max(most, garbage - Math.max(2 * slabBytes, held / 8));
    }
    // Garbage may exceed the limit only by what is written while a slab is being compacted.
    expect(most).toBeLessThan(3 * slabBytes);
    for (const [id, bytes] of texts) expect(copied(fragments, id)).toEqual(bytes);
  });

  test('above the budget the lowest ids leave, and come back no more; size, head and stamp stay', () => {
    const budgetBytes = 64 * 1024;
    const fragments = createFragments({ budgetBytes, slabBytes: 1024 });
    const texts = Array.from({ length: 1000 }, (_, index) => sampleFragment(index + 1, 200));
    texts.forEach((bytes, index) => {
      putText(fragments, index + 1, bytes);
      const { live: held, garbage } = fragments.bytes();
      expect(held + garbage).toBeLessThanOrEqual(budgetBytes);
    });
    const firstHeld = texts.findIndex((_, index) => fragments.has(index + 1)) + 1;
    expect(fragments.bytes().live).toBeGreaterThan(0.8 * budgetBytes);
    expect(firstHeld).toBeGreaterThan(1);
    texts.forEach((bytes, index) => {
      const id = index + 1;
      expect([id, fragments.has(id)]).toEqual([id, id >= firstHeld]);
      expect([fragments.size(id), fragments.span(id)]).toEqual([bytes.length, spanOf(bytes)]);
      expect(stampOf(fragments, id)).toBe(stampOfBytes(bytes));
    });
    const edited = sampleFragment(5, 100, 1);
    putText(fragments, 5, edited);
    expect([fragments.has(5), fragments.size(5), stampOf(fragments, 5)]).toEqual([
      false,
      edited.length,
      stampOfBytes(edited),
    ]);
  });

  test('a budget of nothing holds nothing and still knows every stamp', () => {
    const fragments = createFragments({ budgetBytes: 0 });
    const bytes = sampleFragment(2, 100);
    putText(fragments, 2, bytes);
    expect([fragments.has(2), fragments.bytes().live, stampOf(fragments, 2)]).toEqual([false, 0, stampOfBytes(bytes)]);
  });
});

test('any order of puts, changes and captures leaves what a map would hold, within the budget', () => {
  const act = fc.record({
    id: fc.integer({ min: 1, max: 80 }),
    size: fc.integer({ min: 40, max: 300 }),
    capture: fc.boolean(),
    usual: fc.boolean(),
  });
  const budgets = fc.constantFrom(NO_LIMIT, 8192, 3000, 500);
  fc.assert(
    fc.property(fc.array(act, { minLength: 150, maxLength: 600 }), budgets, (acts, budgetBytes) => {
      const fragments = createFragments({ budgetBytes, slabBytes: 512, usualMiddle: USUAL });
      const texts = new Map<number, Buffer>();
      const captured: { view: Uint8Array; was: Buffer }[] = [];
      acts.forEach(({ id, size, capture, usual }, turn) => {
        const plain = sampleFragment(id, size, turn);
        const bytes = usual ? withUsual(plain) : plain;
        putText(fragments, id, bytes);
        texts.set(id, bytes);
        const view = capture ? fragments.view(id) : null;
        if (view !== null) captured.push({ view, was: Buffer.from(view) });
        const { live: held, garbage } = fragments.bytes();
        expect(held).toBeLessThanOrEqual((budgetBytes * 5) / 6);
        expect(garbage).toBeGreaterThanOrEqual(0);
      });
      for (const { view, was } of captured) expect(was.equals(view)).toBe(true);
      const held = [...texts.keys()].filter((id) => fragments.has(id));
      const gone = [...texts.keys()].filter((id) => !fragments.has(id));
      expect(Math.max(0, ...gone)).toBeLessThan(Math.min(NO_LIMIT, ...held));
      if (budgetBytes === NO_LIMIT) expect(gone).toEqual([]);
      const storedOf = (id: number): number =>
        fragments.size(id) - (texts.get(id)?.includes(USUAL) === true ? USUAL.length : 0);
      expect(fragments.bytes().live).toBe(held.reduce((sum, id) => sum + storedOf(id) + 1, 0));
      const page = Buffer.alloc(held.reduce((sum, id) => sum + fragments.size(id) + 1, 0));
      const end = fragments.join(held, page, 0);
      expect(page.toString('utf8', 0, end)).toBe(held.map((id) => texts.get(id)?.toString()).join(','));
      for (const [id, bytes] of texts) {
        expect([fragments.size(id), fragments.span(id)]).toEqual([bytes.length, spanOf(bytes)]);
        expect(stampOf(fragments, id)).toBe(stampOfBytes(bytes));
        if (fragments.has(id)) expect(copied(fragments, id).equals(bytes)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});
