import { expect, it } from 'vitest';
import { findChromium } from './find-chromium.ts';

it('finds the one that is named, or says what it needs', () => {
  expect(() => findChromium({ OPENAISLE_CHROMIUM: 'nowhere/chromium' })).toThrow('OPENAISLE_CHROMIUM names no file');
  expect(findChromium({ OPENAISLE_CHROMIUM: process.execPath })).toBe(process.execPath);
  expect(findChromium()).toMatch(/chrom/);
});
