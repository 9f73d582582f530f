import fc from 'fast-check';
import { expect, test } from 'vitest';
import { handleSkeleton, isReservedHandle, RESERVED_HANDLES } from './handles.ts';
import { HANDLE_PATTERN } from './identity.ts';

const handles = fc.stringMatching(new RegExp(HANDLE_PATTERN));

test.each([
  ['modern', 'rnodern'],
  ['zoo-keeper', 'z00-keeper'],
  ['paypal', 'paypa1'],
  ['wave', 'vvave'],
  ['a-b', 'a---b'],
  ['abc', 'abc-'],
  ['vvv', 'vw'],
  ['warm-lo0p', 'vvarrn--1oop-'],
])('%s and %s look alike', (one, other) => {
  expect(handleSkeleton(one)).toBe(handleSkeleton(other));
});

test.each([
  ['alice', 'alicia'],
  ['a-b', 'ab'],
  ['north', 'mouth'],
  ['agent-2', 'agent-3'],
])('%s and %s do not', (one, other) => {
  expect(handleSkeleton(one)).not.toBe(handleSkeleton(other));
});

test('any exchange of look-alikes keeps the skeleton', () => {
  const exchanges = [
    ['m', 'rn'],
    ['o', '0'],
    ['l', '1'],
    ['w', 'vv'],
    ['-', '--'],
  ] as const;
  fc.assert(
    fc.property(handles, fc.constantFrom(...exchanges), (handle, [one, other]) => {
      expect(handleSkeleton(handle.replaceAll(one, other))).toBe(handleSkeleton(handle));
      expect(handleSkeleton(handle.replaceAll(other, one))).toBe(handleSkeleton(handle));
    }),
  );
});

test('every reserved word has the form of a handle, is refused, and so is what looks like it', () => {
  for (const word of RESERVED_HANDLES) {
    expect(word).toMatch(new RegExp(HANDLE_PATTERN));
    expect(isReservedHandle(word)).toBe(true);
    expect(isReservedHandle(`${word}-`)).toBe(true);
    expect(isReservedHandle(word.split('').join('-'))).toBe(true);
  }
  for (const alike of ['adrnin', '0fficial', 'rnarket', 'wa11et', 'open-aisle', 'usdc--']) {
    expect(isReservedHandle(alike), alike).toBe(true);
  }
  for (const free of ['administer', 'marketeer', 'my-wallet', 'alice']) {
    expect(isReservedHandle(free), free).toBe(false);
  }
});
