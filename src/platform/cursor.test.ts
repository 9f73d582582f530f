import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { createCursors } from './cursor.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 5, 12, 0, 30);
const KEY = Buffer.alloc(32, 7);
const WALK = { of: 'shelves', aisle: 'data' };

function clockAt(ms: number): Clock & { ms: number } {
  const clock = { ms, now: () => clock.ms, sleep: async () => {} };
  return clock;
}

function reasonOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
  }
  return 'accepted';
}

describe('cursors', () => {
  it('gives back what was sealed, in another process with the same key too', () => {
    const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(fc.array(number, { maxLength: 6 }), (position) => {
        const cursor = createCursors([KEY], clockAt(START_MS)).seal(WALK, position);
        expect(cursor.length).toBeLessThanOrEqual(512);
        expect(
          createCursors([Buffer.from(KEY)], clockAt(START_MS)).open({ aisle: 'data', of: 'shelves' }, cursor),
        ).toEqual(position);
      }),
    );
  });

  it('gives back words of any script, in another process with the same key too', () => {
    const word = fc.constantFrom(
      '',
      '*',
      '-',
      'design',
      '\u043a\u043e\u0442',
      '\u4eba\u5de5',
      'ma\u00f1ana',
      '\u{1d54f}',
      '"\\',
    );
    const words = fc.oneof(
      fc.array(word, { maxLength: 32 }),
      fc.array(fc.string({ unit: 'binary' }), { maxLength: 9 }),
    );
    fc.assert(
      fc.property(words, fc.array(fc.nat(), { maxLength: 9 }), (choices, numbers) => {
        const position = [choices.join(','), ...numbers];
        const cursor = createCursors([KEY], clockAt(START_MS)).seal(WALK, position);
        expect(createCursors([KEY], clockAt(START_MS)).open(WALK, cursor)).toEqual(position);
      }),
    );
  });

  it('are sealed with HMAC-SHA-256 over walk, minute and position', () => {
    for (const key of [KEY, Buffer.alloc(64, 3), Buffer.alloc(100, 9)]) {
      const bytes = Buffer.from(createCursors([key], clockAt(START_MS)).seal(WALK, [1, 2, 3]), 'base64url');
      const mac = createHmac('sha256', key)
        .update('{"aisle":"data","of":"shelves"}\n')
        .update(bytes.subarray(16))
        .digest();
      expect(bytes.subarray(0, 16)).toEqual(mac.subarray(0, 16));
    }
  });

  it('refuses every change of a single character', () => {
    const cursors = createCursors([KEY], clockAt(START_MS));
    const cursor = cursors.seal(WALK, [1, 2, 3, 4]);
    for (let at = 0; at < cursor.length; at += 1) {
      for (const other of ['A', 'b', '9', '_', '=', ' ', '']) {
        if (other === cursor[at]) continue;
        const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
        expect(reasonOf(() => cursors.open(WALK, changed))).toBe('cursor_invalid');
      }
    }
  });

  it('refuses a cursor of other filters, of another key, and what was never a cursor', () => {
    const cursors = createCursors([KEY], clockAt(START_MS));
    const cursor = cursors.seal(WALK, [1]);
    expect(reasonOf(() => cursors.open({ of: 'shelves', aisle: 'tools' }, cursor))).toBe('cursor_invalid');
    expect(reasonOf(() => cursors.open({ of: 'shelves' }, cursor))).toBe('cursor_invalid');
    const foreign = createCursors([Buffer.alloc(32, 8)], clockAt(START_MS));
    expect(reasonOf(() => foreign.open(WALK, cursor))).toBe('cursor_invalid');
    for (const text of ['', '1', 'AAAA', '%00', 'A'.repeat(27), 'A'.repeat(512)]) {
      expect(reasonOf(() => cursors.open(WALK, text))).toBe('cursor_invalid');
    }
  });

  it('holds for 24 hours and says afterwards that it is too old', () => {
    const clock = clockAt(START_MS);
    const cursors = createCursors([KEY], clock);
    const cursor = cursors.seal(WALK, [1]);
    clock.ms = START_MS + DAY_MS;
    expect(cursors.open(WALK, cursor)).toEqual([1]);
    clock.ms = START_MS + DAY_MS + 60_000;
    expect(reasonOf(() => cursors.open(WALK, cursor))).toBe('cursor_expired');
  });

  it('opens what an older key sealed, as long as that key is kept', () => {
    const newer = Buffer.alloc(32, 9);
    const cursor = createCursors([KEY], clockAt(START_MS)).seal(WALK, [1]);
    expect(createCursors([newer, KEY], clockAt(START_MS)).open(WALK, cursor)).toEqual([1]);
    expect(reasonOf(() => createCursors([newer], clockAt(START_MS)).open(WALK, cursor))).toBe('cursor_invalid');
  });

  it('is the same text within a minute, so that an unchanged page keeps its ETag', () => {
    const clock = clockAt(START_MS);
    const cursors = createCursors([KEY], clock);
    const cursor = cursors.seal(WALK, [1]);
    clock.ms += 29_000;
    expect(cursors.seal(WALK, [1])).toBe(cursor);
  });
});
