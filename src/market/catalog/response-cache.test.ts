import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPageBuffers } from './fragments/page-buffers.ts';
import { createResponseCache, useResponse } from './response-cache.ts';

const clock = { now: () => 0, sleep: async () => {} };

type Act =
  | { kind: 'read'; key: number; version: number; gzip: boolean }
  | { kind: 'release' }
  | { kind: 'room'; kib: number };
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      key: fc.nat(6),
      version: fc.nat(2),
      gzip: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('room' as const), kib: fc.nat(60) }) },
);

const textOf = (key: number, version: number): string => `${key} ${version} `.repeat(400 + 900 * key);

it('a text is of its version, stays whole while it is sent, and gives its memory back once', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      let most = 40 * 1_024;
      const buffers = createPageBuffers(4 * 1_048_576);
      const cache = createResponseCache({ clock, mostBytes: () => most, buffers: () => buffers });
      const sending: { body: Uint8Array; copy: Buffer; release?(): void }[] = [];
      for (const one of acts) {
        if (one.kind === 'room') {
          most = one.kib * 1_024;
          cache.trim();
        } else if (one.kind === 'release') {
          const { release } = sending.shift() ?? {};
          release?.();
          // A second call does nothing.
          release?.();
        } else {
          const text = textOf(one.key, one.version);
          const write = () => ({ head: [], text });
          const page = cache.text(`/${one.key}`, one.version, { acceptsGzip: one.gzip, write });
          expect(page.head.includes('gzip')).toBe(one.gzip);
          if (!one.gzip) expect(Buffer.from(page.body).toString()).toBe(text);
          sending.push({ ...page, copy: Buffer.from(page.body) });
        }
        expect(cache.bytes()).toBeLessThanOrEqual(most);
        for (const { body, copy } of sending) expect(copy.equals(body)).toBe(true);
      }
      for (const { release } of sending) release?.();
      cache.clear();
      expect(buffers.usedBytes()).toBe(0);
    }),
  );
});

it('writes a text once for each version and encoding', () => {
  const buffers = createPageBuffers(1_048_576);
  const cache = createResponseCache({ clock, mostBytes: () => 100_000, buffers: () => buffers });
  let written = 0;
  const give = (version: string, acceptsGzip: boolean): void => {
    const write = () => {
      written += 1;
      return { head: [], text: version };
    };
    cache.text('/', version, { acceptsGzip, write }).release?.();
  };
  for (const version of ['a', 'a', 'b', 'b', 'a']) for (const gzip of [false, true]) give(version, gzip);
  expect(written).toBe(6);
});

it('drops what was used least lately first, and replaces what is put again', () => {
  const buffers = createPageBuffers(1_048_576);
  const cache = createResponseCache({ clock, mostBytes: () => 3 * 4_096, buffers: () => buffers });
  const put = (key: string) => {
    const { bytes, release } = buffers.take(2_048);
    useResponse(
      cache.put(key, { version: 1, etag: '"e"', head: [], page: { body: bytes, takenBytes: 3_000, release } }),
    ).release?.();
  };
  for (const key of ['a', 'b', 'c', 'a']) put(key);
  expect(cache.get('b')).toBeDefined();
  put('d');
  expect([cache.get('a') !== undefined, cache.get('b') !== undefined, cache.get('c') !== undefined]).toEqual([
    true,
    true,
    false,
  ]);
});
