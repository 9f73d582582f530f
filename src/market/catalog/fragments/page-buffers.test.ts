import { expect, test } from 'vitest';
import { createPageBuffers } from './page-buffers.ts';

const KIB = 1024;

test('a buffer that was given back is used again for a page of about its length', () => {
  const buffers = createPageBuffers({ mostIdleBytes: () => 256 * KIB });
  const first = buffers.take(80 * KIB);
  expect(first.bytes.length).toBeGreaterThanOrEqual(80 * KIB);
  first.release();
  expect(buffers.idleBytes()).toBe(first.bytes.length);
  expect(buffers.take(10 * KIB).bytes).not.toBe(first.bytes);
  expect(buffers.take(32 * KIB).bytes).not.toBe(first.bytes);
  const again = buffers.take(79 * KIB);
  expect(again.bytes).toBe(first.bytes);
  expect(buffers.idleBytes()).toBe(0);
  again.release();
  // A somewhat shorter one would have to be made.
  expect(buffers.take(50 * KIB).bytes).toBe(first.bytes);
  expect(buffers.idleBytes()).toBe(0);
});

test('a buffer that is given back twice is never used for two pages at once', () => {
  const buffers = createPageBuffers({ mostIdleBytes: () => 256 * KIB });
  const first = buffers.take(20 * KIB);
  first.release();
  first.release();
  const second = buffers.take(20 * KIB);
  // Whoever held it before has no say any more.
  first.release();
  expect(buffers.idleBytes()).toBe(0);
  expect(second.bytes).toBe(first.bytes);
  expect(buffers.take(20 * KIB).bytes).not.toBe(second.bytes);
});

test('no more lies idle than allowed, and lengths in use push out those that are not', () => {
  const buffers = createPageBuffers({ mostIdleBytes: () => 128 * KIB });
  const large = [1, 2, 3, 4].map(() => buffers.take(64 * KIB));
  for (const buffer of large) buffer.release();
  expect(buffers.idleBytes()).toBe(128 * KIB);
  const small = buffers.take(16 * KIB);
  small.release();
  expect(buffers.idleBytes()).toBeLessThanOrEqual(128 * KIB);
  expect(buffers.take(16 * KIB).bytes).toBe(small.bytes);
});

test('what may lie idle may become less: it goes with the next buffer that is made', () => {
  let most = 256 * KIB;
  const buffers = createPageBuffers({ mostIdleBytes: () => most });
  for (const buffer of [1, 2, 3, 4].map(() => buffers.take(64 * KIB))) buffer.release();
  expect(buffers.idleBytes()).toBe(256 * KIB);
  most = 64 * KIB;
  const other = buffers.take(16 * KIB);
  expect(buffers.idleBytes()).toBe(64 * KIB);
  other.release();
  expect(buffers.idleBytes()).toBeLessThanOrEqual(64 * KIB);
});

test('very long pages and a pool of nothing keep no memory', () => {
  const buffers = createPageBuffers({ mostIdleBytes: () => 64 * KIB * KIB });
  const long = buffers.take(3 * KIB * KIB + 1);
  expect(long.bytes.length).toBeGreaterThan(3 * KIB * KIB);
  long.release();
  expect(buffers.idleBytes()).toBe(0);
  const none = createPageBuffers({ mostIdleBytes: () => 0 });
  none.take(10).release();
  expect(none.idleBytes()).toBe(0);
});
