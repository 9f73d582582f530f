import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDeflated } from '../fragments/deflated.ts';
import { createFragments } from '../fragments/fragments.ts';
import { createPageBuffers } from '../fragments/page-buffers.ts';
import type { PageSources } from '../fragments/page-bytes.ts';
import { dropPage, type FramedPage, frameListings, LONG_FRAME_BYTES } from './shared-page.ts';

const LISTINGS = ['{"id":1,"body":"one"}', '{"id":2,"body":"two"}'];

function createSources(): PageSources {
  const fragments = createFragments({ budgetBytes: 2 ** 20, slabBytes: 64 * 1024 });
  for (const [at, text] of LISTINGS.entries()) fragments.put(at + 1, Buffer.from(text), text.indexOf(',"body"'));
  return { fragments, deflated: createDeflated(fragments, { budgetBytes: 0 }), buffers: createPageBuffers(0) };
}

const frame = (prefix: string, suffix: string) => ({ prefix: Buffer.from(prefix), suffix: Buffer.from(suffix) });
const partsOf = (around: ReturnType<typeof frame>) => ({ ...around, ids: [1, 2], outline: false });
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

const text = fc.string({ maxLength: 700 });
const act = fc.oneof(
  fc.record({ kind: fc.constant('frame' as const), prefix: text, suffix: text }),
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({ kind: fc.constant('end' as const) }),
);

/** What is being sent, and what it has to be to the end. */
type Sending = { bytes: Uint8Array; text: string }[];

function begin(page: FramedPage, { prefix, suffix }: ReturnType<typeof frame>, sending: Sending): void {
  const bytes = page.within(prefix, suffix);
  page.users += 1;
  const listings = LISTINGS.join();
  sending.push(
    bytes === null ? { bytes: page.body, text: listings } : { bytes, text: `${prefix}${listings}${suffix}` },
  );
}

it('listings stand within whatever is put around them, as long as nobody is being sent something else', () => {
  fc.assert(
    fc.property(text, text, fc.array(act, { maxLength: 30 }), (prefix, suffix, acts) => {
      const sources = createSources();
      let around = frame(prefix, suffix);
      const page = frameListings(sources, partsOf(around));
      if (page === null) throw new Error('its listings are held');
      const sending: Sending = [];
      for (const one of acts) {
        if (one.kind === 'frame') around = frame(one.prefix, one.suffix);
        else if (one.kind === 'begin') begin(page, around, sending);
        else if (sending.pop() !== undefined) page.release();
        for (const { bytes, text } of sending) expect(textOf(bytes)).toBe(text);
      }
      while (sending.pop() !== undefined) page.release();
      dropPage(page);
      expect(sources.buffers.usedBytes()).toBe(0);
    }),
  );
});

it('the same frame is the same bytes, another one is written when the last reader is done, and one that grew too much is not', () => {
  const first = frame('[', '],"total":2}');
  const page = frameListings(createSources(), partsOf(first));
  const bytes = page?.within(first.prefix, first.suffix) ?? null;
  expect(textOf(bytes)).toBe(`[${LISTINGS.join()}],"total":2}`);
  expect(page?.within(first.prefix, first.suffix)).toBe(bytes);
  const other = frame('{"more":[', '],"total":20}');
  if (page !== null) page.users += 1;
  expect(page?.within(other.prefix, other.suffix)).toBeNull();
  page?.release();
  expect(textOf(page?.within(other.prefix, other.suffix) ?? null)).toBe(`{"more":[${LISTINGS.join()}],"total":20}`);
  const grown = frame('[', `]${' '.repeat(1_000)}}`);
  expect(page?.within(grown.prefix, grown.suffix)).toBeNull();
});

it('what stands around is not copied where it is the page', () => {
  const long = frame('['.padEnd(LONG_FRAME_BYTES), ']');
  const page = frameListings(createSources(), partsOf(long));
  expect(page?.within(long.prefix, long.suffix)).toBeNull();
  expect(textOf(page?.body ?? null)).toBe(LISTINGS.join());
});
