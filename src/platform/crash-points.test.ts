import { expect, test } from 'vitest';
import { ConfigError } from './config.ts';
import { CRASH_VARIABLE, readCrash } from './crash-points.ts';

const POINTS = { before_lunch: true, after_lunch: true } as const;
const read = (text: string | undefined) => readCrash({ [CRASH_VARIABLE]: text }, POINTS);

test('a point is named, and which time of coming there', () => {
  expect([read(undefined), read(' ')]).toEqual([null, null]);
  expect(read('after_lunch')).toEqual({ name: 'after_lunch', nth: 1 });
  expect(read(' before_lunch:12 ')).toEqual({ name: 'before_lunch', nth: 12 });
});

test.each(['at_lunch', 'after_lunch:0', 'after_lunch:', 'after_lunch:1.5', 'toString', 'after_lunch after_lunch'])(
  '%s stops the start, and is not shown',
  (text) => {
    expect(() => read(text)).toThrow(ConfigError);
    expect(() => read(text)).toThrow(/OPENAISLE_TEST_CRASH_AT must be unset or one of before_lunch, after_lunch$/);
  },
);
