import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeflated } from './deflated.ts';
import { createFragments, type OutlineSpan } from './fragments.ts';
import { createPageBuffers } from './page-buffers.ts';
import { joinGzipPage, joinPage, type PageBytes, type PageSources } from './page-bytes.ts';

interface Budgets {
  fragments?: number;
  blocks?: number;
}

function createSources({ fragments: budgetBytes = 2 ** 30, blocks = 2 ** 26 }: Budgets = {}): PageSources {
  const fragments = createFragments({ budgetBytes, slabBytes: 64 * 1024 });
  const deflated = createDeflated(fragments, { budgetBytes: blocks });
  return { fragments, deflated, buffers: createPageBuffers(2 ** 25) };
}

function textOf(id: number, body: string): string {
  return JSON.stringify({ id, price_usdc: '1.25', description: body, rest: [] });
}

/** Returns the first nine characters of the description, as its first line. */
const lineOf = (text: string): string =>
  [...(JSON.parse(text) as { description: string }).description].slice(0, 9).join('');

const spanOf = (text: string): OutlineSpan => ({
  head: Buffer.byteLength(text.slice(0, text.indexOf(',"description"'))),
  line: Buffer.byteLength(JSON.stringify(lineOf(text))) - 2,
});

const outlineOf = (text: string): string =>
  `${text.slice(0, text.indexOf(',"description"'))},"first_line":${JSON.stringify(lineOf(text))}}`;

function putText(sources: PageSources, id: number, text: string): void {
  sources.fragments.put(id, Buffer.from(text), spanOf(text));
}

/** Returns the bytes as sent and releases them, as a server does. */
function sent(page: PageBytes | null): Buffer {
  if (page === null) throw new Error('there is no page');
  const body = Buffer.from(page.body);
  page.release();
  return body;
}

const bytes = (text: string): Buffer => Buffer.from(text);

const sampleText = (id: number): string => textOf(id, `${id} `.repeat(1 + ((id * 37) % 400)));

function fill(sources: PageSources, count: number): Map<number, string> {
  const texts = new Map(Array.from({ length: count }, (_, index) => [index + 1, sampleText(index + 1)]));
  for (const [id, text] of texts) putText(sources, id, text);
  return texts;
}

const affix = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom('', '['.repeat(65_535), 'x'.repeat(65_536), 'y'.repeat(200_001)),
);

test('pages of any fragments in any order, plain and in gzip, hold what was put', () => {
  const fragment = fc.record({
    id: fc.integer({ min: 1, max: 60 }),
    body: fc.string({ maxLength: 3000, unit: 'binary' }),
  });
  const ids = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 80 });
  const budget = fc.constantFrom(0, 500, 4000, 30_000, 2 ** 26);
  const rounds = fc.array(fc.record({ changes: fc.array(fragment, { maxLength: 10 }), ids }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(rounds, affix, affix, budget, (turns, prefix, suffix, blocks) => {
      const sources = createSources({ blocks });
      const texts = fill(sources, 60);
      for (const turn of turns) {
        for (const { id, body } of turn.changes) {
          texts.set(id, textOf(id, body));
          putText(sources, id, textOf(id, body));
        }
        const rows = turn.ids.map((id) => texts.get(id) ?? '');
        const parts = { prefix: bytes(prefix), ids: turn.ids, suffix: bytes(suffix) };
        const page = sent(joinPage(sources, { ...parts, outline: false }));
        expect(page.equals(bytes(prefix + rows.join(',') + suffix))).toBe(true);
        const zipped = joinGzipPage(sources, { ...parts, outline: false }, Number.POSITIVE_INFINITY);
        expect(gunzipSync(sent(zipped)).equals(page)).toBe(true);
        const outlines = sent(joinPage(sources, { ...parts, outline: true }));
        expect(outlines.equals(bytes(prefix + rows.map(outlineOf).join(',') + suffix))).toBe(true);
        const zippedOutlines = joinGzipPage(sources, { ...parts, outline: true });
        if (zippedOutlines !== null) expect(gunzipSync(sent(zippedOutlines)).equals(outlines)).toBe(true);
        else expect(outlines.length).toBeGreaterThan(32 * 1024);
      }
    }),
    { numRuns: 60 },
  );
});

describe('pages of none, one, fifty and five hundred', () => {
  const sources = createSources();
  const texts = fill(sources, 600);
  test.each([0, 1, 50, 500])('%i fragments', (count) => {
    const newestFirst = Array.from({ length: count }, (_, index) => 600 - index);
    const scattered = newestFirst.map((id) => 1 + ((id * 379) % 600));
    for (const ids of [newestFirst, [...newestFirst].reverse(), scattered]) {
      const parts = { prefix: bytes('{"listings":['), ids, suffix: bytes(']}'), outline: false };
      const expected = `{"listings":[${ids.map((id) => texts.get(id)).join(',')}]}`;
      expect(sent(joinPage(sources, parts)).toString()).toBe(expected);
      expect(gunzipSync(sent(joinGzipPage(sources, parts))).toString()).toBe(expected);
      // Join again, now that all blocks exist.
      expect(sources.deflated.missing(ids)).toBe(0);
      expect(gunzipSync(sent(joinGzipPage(sources, parts))).toString()).toBe(expected);
    }
  });
});

describe('blocks', () => {
  const page = (ids: number[]) => ({ prefix: bytes('['), ids, suffix: bytes(']'), outline: false });

  test('of an older version are not used', () => {
    const sources = createSources();
    fill(sources, 3);
    sent(joinGzipPage(sources, page([1, 2, 3])));
    putText(sources, 2, textOf(2, 'changed'));
    expect(sources.deflated.missing([1, 2, 3])).toBe(1);
    expect(gunzipSync(sent(joinGzipPage(sources, page([2])))).toString()).toBe(`[${textOf(2, 'changed')}]`);
  });

  test('that are asked for again and again outlive those that are not, and the budget is kept', () => {
    const budgetBytes = 100_000;
    const sources = createSources({ blocks: budgetBytes });
    fill(sources, 2000);
    sent(joinGzipPage(sources, page([1])));
    for (let id = 1; id <= 2000; id++) {
      expect(sources.deflated.missing([1])).toBe(0);
      sent(joinGzipPage(sources, page([1, id])));
      expect(sources.deflated.bytes()).toBeLessThanOrEqual(budgetBytes);
    }
    expect(sources.deflated.hasOverwritten()).toBe(true);
    expect(sources.deflated.missing([2, 3, 4, 2000])).toBe(3);
  });

  test('that do not fit into memory are not made by the hundred', () => {
    const sources = createSources({ blocks: 20_000 });
    fill(sources, 600);
    const first = Array.from({ length: 300 }, (_, index) => index + 1);
    expect(sources.deflated.hasOverwritten()).toBe(false);
    expect(joinGzipPage(sources, page(first))).not.toBeNull();
    expect(sources.deflated.hasOverwritten()).toBe(true);
    expect(joinGzipPage(sources, page(first.map((id) => id + 300)))).toBeNull();
    expect(joinGzipPage(sources, page(first.slice(0, 20)), 5)).toBeNull();
    expect(joinGzipPage(sources, page([301, 302]), 5)).not.toBeNull();
  });
});

test('fragments that left memory are taken from what was read again, and without it there is no page', () => {
  const sources = createSources({ fragments: 40_000 });
  const texts = fill(sources, 300);
  const ids = [300, 2, 299, 1];
  expect(ids.map((id) => sources.fragments.has(id))).toEqual([true, false, true, false]);
  for (const outline of [false, true]) {
    const parts = { prefix: bytes('['), ids, suffix: bytes(']'), outline };
    expect(joinPage(sources, parts)).toBeNull();
    expect(joinGzipPage(sources, parts)).toBeNull();
    const absentFragments = new Map(
      ids.map((id) => {
        const text = texts.get(id) ?? '';
        return [id, { bytes: bytes(text), span: spanOf(text) }];
      }),
    );
    const rows = ids.map((id) => texts.get(id) ?? '').map((text) => (outline ? outlineOf(text) : text));
    expect(sent(joinPage(sources, { ...parts, absentFragments })).toString()).toBe(`[${rows.join(',')}]`);
  }
});

test('a page in use is not touched by the next one, and its memory serves again afterwards', () => {
  const sources = createSources();
  const texts = fill(sources, 20);
  const parts = { prefix: bytes('['), ids: [1, 2], suffix: bytes(']'), outline: false };
  const first = joinPage(sources, parts);
  const second = joinPage(sources, { ...parts, ids: [3, 4] });
  expect(Buffer.from(first?.body ?? []).toString()).toBe(`[${texts.get(1)},${texts.get(2)}]`);
  first?.release();
  first?.release();
  const third = joinPage(sources, { ...parts, ids: [5, 6] });
  const fourth = joinPage(sources, { ...parts, ids: [7, 8] });
  const places = [first, second, third, fourth].map((page) => page?.body.byteOffset);
  expect(places[2]).toBe(places[0]);
  expect(new Set(places).size).toBe(3);
  expect(Buffer.from(second?.body ?? []).toString()).toBe(`[${texts.get(3)},${texts.get(4)}]`);
});
