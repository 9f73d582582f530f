import { expect, it } from 'vitest';
import { createPageBuffers } from '../fragments/page-buffers.ts';
import { createModel } from '../model/model.ts';
import { createKeptAnswers, type Kept } from './kept-answers.ts';
import { sharePage } from './shared-page.ts';

const KIB = 1024;
const model = createModel({ fragmentBytes: KIB, deflatedBytes: KIB, giveWay: async () => {} });
const buffers = createPageBuffers({ mostIdleBytes: () => 0 });

function page(bytes: number): Kept {
  const { bytes: body, release } = buffers.take(bytes);
  const parts = { prefix: Buffer.alloc(100), ids: [], suffix: Buffer.alloc(100), outline: false };
  const listings = sharePage({ body: body.subarray(0, bytes), release });
  return {
    model,
    version: 1,
    outdated: false,
    minute: 1,
    listingsDigest: '',
    tag: '',
    parts,
    asked: 2,
    listings,
    gzip: null,
  };
}

it('never counts more than there is room for, and counts buffers as long as they are', () => {
  const kept = createKeptAnswers(() => 1024 * KIB);
  for (let at = 0; at < 500; at += 1) {
    kept.put(`page ${at}`, page(17 * KIB));
    if (at % 3 === 0) kept.get(`page ${at - 10}`);
    expect(kept.bytes()).toBeLessThanOrEqual(1024 * KIB);
  }
  // A page of 17 KiB lies in a buffer of 32.
  expect(kept.bytes()).toBeGreaterThan(512 * KIB);
  const there = Array.from({ length: 500 }, (_, at) => at).filter((at) => kept.get(`page ${at}`) !== undefined);
  expect(there.length).toBeLessThanOrEqual(1024 / 32);
  expect(there.at(-1)).toBe(499);
});

it('keeps what is asked for again, all of it where it fits into half of the room', () => {
  const kept = createKeptAnswers(() => 1024 * KIB);
  for (let round = 0; round < 5; round += 1) {
    for (let at = 0; at < 12; at += 1) {
      const key = `page ${at}`;
      if (round > 0) expect(kept.get(key)).toBeDefined();
      else kept.put(key, page(17 * KIB));
    }
    for (let at = 0; at < 2; at += 1) kept.put(`passing ${round} ${at}`, page(17 * KIB));
  }
});

it('gives up what it has as the room shrinks, at the next page or when it is told to', () => {
  let most = 1024 * KIB;
  const kept = createKeptAnswers(() => most);
  const pages = Array.from({ length: 25 }, () => page(30 * KIB));
  for (const [at, one] of pages.entries()) kept.put(`page ${at}`, one);
  expect(kept.bytes()).toBeGreaterThan(512 * KIB);
  most = 600 * KIB;
  kept.trim();
  expect(kept.bytes()).toBeLessThanOrEqual(most);
  most = 300 * KIB;
  kept.put('one more', page(30 * KIB));
  expect(kept.bytes()).toBeLessThanOrEqual(most);
  expect(kept.get('one more')).toBeDefined();
  most = 10 * KIB;
  kept.trim();
  expect(kept.bytes()).toBe(0);
  expect(kept.get('one more')).toBeUndefined();
  for (const { listings } of pages) expect(listings === null || listings.dropped).toBe(true);
});
