import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { etagOf } from '../../../platform/http/etag.ts';
import { createKeptPages, type KeptPage } from './kept-pages.ts';

const never = (): never => {
  throw new Error('made again');
};
/** 40 to 80 KB: a megabyte holds a dozen or two. */
const long = (at: number): string => `${at} `.repeat(20_000);
const textOf = ({ body }: KeptPage): string => body.toString();

it('makes a page once, for each encoding, and names its very bytes', () => {
  const kept = createKeptPages(2);
  const text = 'plain, grün, 墨 and 🧵';
  const plain = kept.give('one', false, () => text);
  const packed = kept.give('one', true, () => text);
  expect([textOf(plain), gunzipSync(packed.body).toString()]).toEqual([text, text]);
  expect([plain.etag, packed.etag]).toEqual([etagOf(plain.body), etagOf(packed.body)]);
  expect(kept.give('one', false, never)).toBe(plain);
  expect(kept.give('one', true, never)).toBe(packed);
});

it('keeps as much as it may, and forgets the oldest', () => {
  const kept = createKeptPages(2);
  const made: number[] = [];
  const give = (at: number): void => {
    const page = kept.give(`page ${at}`, false, () => {
      made.push(at);
      return long(at);
    });
    expect(textOf(page)).toBe(long(at));
    page.release();
  };
  for (let at = 0; at < 200; at += 1) give(at);
  expect(made).toHaveLength(200);
  for (let at = 199; at > 185; at -= 1) give(at);
  expect(made).toHaveLength(200);
  give(0);
  expect(made).toHaveLength(201);
});

it('writes over no page that is still on its way to somebody', () => {
  const kept = createKeptPages(1);
  const slow = kept.give('slow', false, () => long(7));
  const quick = kept.give('quick', false, () => 'quick');
  quick.release();
  for (let at = 0; at < 100; at += 1) kept.give(`page ${at}`, at % 2 === 0, () => long(at)).release();
  expect(textOf(slow)).toBe(long(7));
  slow.release();
  // Forgotten all the same: who asks for it now gets what it is made of now.
  expect(textOf(kept.give('slow', false, () => 'anew'))).toBe('anew');
});

it('uses its memory again once nobody reads it', () => {
  const kept = createKeptPages(1);
  const first = kept.give('first', false, () => long(1));
  first.release();
  let memory = new Set<ArrayBufferLike>([first.body.buffer]);
  for (let at = 0; at < 100; at += 1) {
    const page = kept.give(`page ${at}`, false, () => long(at));
    memory = memory.add(page.body.buffer);
    page.release();
  }
  expect(memory.size).toBe(1);
});

it('gives what is longer than any page by rights, and does not keep it', () => {
  const kept = createKeptPages(1);
  const text = 'word '.repeat(400_000);
  for (const isPacked of [false, true]) {
    let made = 0;
    for (let time = 0; time < 2; time += 1) {
      const page = kept.give('book', isPacked, () => {
        made += 1;
        return text;
      });
      expect((isPacked ? gunzipSync(page.body) : page.body).toString()).toBe(text);
      page.release();
    }
    expect(made).toBe(2);
  }
});
