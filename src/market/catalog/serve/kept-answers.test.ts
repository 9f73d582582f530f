import { expect, it } from 'vitest';
import { createPageBuffers } from '../fragments/page-buffers.ts';
import type { PageBytes } from '../fragments/page-bytes.ts';
import { createModel } from '../model/model.ts';
import { createKeptAnswers, type Kept } from './kept-answers.ts';
import { type FramedPage, sharePage } from './shared-page.ts';

const KIB = 1024;
const model = createModel({ fragmentBytes: KIB, deflatedBytes: KIB, pageBytes: 0, giveWay: async () => {} });
const buffers = createPageBuffers(64 * KIB * KIB);

const framed = (page: PageBytes): FramedPage => Object.assign(sharePage(page), { within: () => null });

function page(bytes: number): Kept {
  const { bytes: body, release } = buffers.take(bytes);
  const takenBytes = body.length;
  const parts = { prefix: Buffer.alloc(100), ids: [], suffix: Buffer.alloc(100), outline: false };
  const listings = framed({ body: body.subarray(0, bytes), takenBytes, release });
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
  const there = Array.from({ length: 500 }, (_, at) => at).filter(
    (at) => (kept.get(`page ${at}`)?.listings ?? null) !== null,
  );
  expect(there.length).toBeGreaterThan(512 / 32 / 2);
  expect(there.length).toBeLessThanOrEqual(1024 / 32);
  expect(there.at(-1)).toBe(499);
});

it('knows what a page consists of when its bytes have gone long ago, and makes them a kept one only when it is asked for twice again', () => {
  const kept = createKeptAnswers(() => 1024 * KIB);
  const pages = Array.from({ length: 50 }, () => page(100 * KIB));
  for (const [at, one] of pages.entries()) kept.put(`page ${at}`, one);
  const [first] = pages;
  expect(kept.get('page 0')).toBe(first);
  expect([first?.listings, first?.asked]).toEqual([null, 0]);
  const { bytes: body, release } = buffers.take(100 * KIB);
  const before = kept.bytes();
  if (first !== undefined) {
    first.listings = framed({ body, takenBytes: body.length, release });
    kept.note('page 0', first);
  }
  expect(kept.bytes()).toBeGreaterThan(before);
  // So many others that even the entry goes, and its bytes with it.
  const shared = first?.listings;
  for (let at = 0; at < 200; at += 1) kept.put(`other ${at}`, { ...page(KIB), listings: null });
  expect(kept.get('page 0')).toBeUndefined();
  expect([first?.listings, shared?.dropped]).toEqual([null, true]);
  expect(kept.bytes()).toBeLessThan(before);
});

it('keeps what is asked for again, all of it where it fits into half of the room', () => {
  const kept = createKeptAnswers(() => 1024 * KIB);
  for (let round = 0; round < 5; round += 1) {
    for (let at = 0; at < 12; at += 1) {
      const key = `page ${at}`;
      if (round > 0) expect(kept.get(key)?.listings ?? null).not.toBeNull();
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

it('gives up a page that is nothing but its frame as a whole, and not before its time', () => {
  const kept = createKeptAnswers(() => 1024 * KIB);
  const framed = (): Kept => {
    const one = { ...page(KIB), listings: null };
    return { ...one, parts: { ...one.parts, prefix: Buffer.alloc(40 * KIB) } };
  };
  for (let at = 0; at < 10; at += 1) kept.put(`frame ${at}`, framed());
  for (let at = 0; at < 10; at += 1) expect(kept.get(`frame ${at}`)).toBeDefined();
  for (let at = 10; at < 100; at += 1) kept.put(`frame ${at}`, framed());
  expect(kept.bytes()).toBeLessThanOrEqual(1024 * KIB);
  expect(kept.get('frame 0')).toBeUndefined();
  expect(kept.get('frame 99')).toBeDefined();
});
