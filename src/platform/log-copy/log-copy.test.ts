import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CopiedEvent, hashAfter, type LogEnd, openLogCopy, readCopies, readLogEnd } from './log-copy.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 4, 20, 12);
let folder = '';
let now = NOW;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-copy-'));
  now = NOW;
});
afterEach(() => rm(folder, { recursive: true }));

function makeEvents(count: number, from = 1n, before = Buffer.alloc(0)): CopiedEvent[] {
  const events: CopiedEvent[] = [];
  let end: LogEnd = { id: from - 1n, hash: before };
  for (let at = 0; at < count; at += 1) {
    const next = { id: end.id + 1n, canonical: Buffer.from(`{"detail":{"n":${at},"text":"ä\\n"},"kind":"sale"}`) };
    end = { id: next.id, hash: hashAfter(end, next) };
    events.push({ ...next, hash: end.hash });
  }
  return events;
}
const open = () => openLogCopy(folder, () => now);
const files = async (): Promise<string[]> => (await readdir(folder)).sort();
const copied = async () => readCopies((await files()).map((name) => join(folder, name)));
const endOf = (events: readonly CopiedEvent[]) => {
  const { id, hash } = events.at(-1) as CopiedEvent;
  return { id, hash };
};

test('what was appended is read by the next process that opens it, and by one that reads while it is written', async () => {
  const events = makeEvents(5);
  const copy = await open();
  expect([copy.end(), await readLogEnd(folder)]).toEqual([null, null]);
  await copy.append(events.slice(0, 2));
  expect(await readLogEnd(folder)).toEqual(endOf(events.slice(0, 2)));
  await copy.append(events.slice(2));
  expect(copy.end()).toEqual(endOf(events));
  await copy.close();
  const again = await open();
  expect(again.end()).toEqual(endOf(events));
  await again.close();
  expect(await copied()).toEqual(events);
  expect(await readLogEnd(join(folder, 'nowhere'))).toBeNull();
});

test('whatever a crash leaves of the last lines, the copy is a beginning of what was written, and goes on from there', async () => {
  const events = makeEvents(6);
  const copy = await open();
  await copy.append(events);
  await copy.close();
  const [name = ''] = await files();
  const path = join(folder, name);
  const whole = await readFile(path);
  const damage = fc.record({ keep: fc.nat(whole.length), junk: fc.uint8Array({ maxLength: 40 }) });
  await fc.assert(
    fc.asyncProperty(damage, async ({ keep, junk }) => {
      await writeFile(path, whole.subarray(0, keep));
      await appendFile(path, junk);
      const lines = whole.subarray(0, keep).toString('latin1').split('\n').length - 1;
      const left = events.slice(0, lines);
      expect(await readLogEnd(folder)).toEqual(lines === 0 ? null : endOf(left));
      const again = await open();
      await again.append(events.slice(lines, lines + 1));
      await again.close();
      expect(await copied()).toEqual(events.slice(0, Math.min(lines + 1, events.length)));
    }),
    { numRuns: 60 },
  );
});

test('a line whose hash does not follow from the one before is no part of it', async () => {
  const events = makeEvents(3);
  const copy = await open();
  const [first, second, third] = events as [CopiedEvent, CopiedEvent, CopiedEvent];
  await copy.append([first, { ...second, canonical: Buffer.from('{"kind":"listing"}') }, third]);
  await copy.close();
  expect(await readLogEnd(folder)).toEqual(endOf([first]));
});

test('behind a gap in the ids, which a recovery leaves, it goes on', async () => {
  const events = [...makeEvents(2), ...makeEvents(2, 1_000n, Buffer.alloc(32, 7))];
  const copy = await open();
  await copy.append(events);
  await copy.close();
  expect(await readLogEnd(folder)).toEqual(endOf(events));
});

test('one file a day; those of more than 30 days ago go, and the newest never', async () => {
  const events = makeEvents(4);
  const copy = await open();
  await copy.append(events.slice(0, 1));
  now = NOW + DAY_MS;
  await copy.append(events.slice(1, 2));
  expect(await files()).toEqual(['2026-05-20.log', '2026-05-21.log']);
  now = NOW + 31 * DAY_MS + 1;
  await copy.append(events.slice(2, 3));
  expect(await files()).toEqual(['2026-05-21.log', '2026-06-20.log']);
  // With a clock that was set back, the copy still goes to the newest file.
  now = NOW;
  await copy.append(events.slice(3));
  await copy.close();
  expect(await files()).toEqual(['2026-05-21.log', '2026-06-20.log']);
  now = NOW + 400 * DAY_MS;
  const again = await open();
  expect(again.end()).toEqual(endOf(events));
  await again.close();
  expect(await readLogEnd(folder)).toEqual(endOf(events));
});

test('an empty newest file does not hide the one before it', async () => {
  const events = makeEvents(2);
  const copy = await open();
  await copy.append(events);
  await copy.close();
  await writeFile(join(folder, '2026-05-22.log'), '');
  expect(await readLogEnd(folder)).toEqual(endOf(events));
  await truncate(join(folder, '2026-05-22.log'), 3);
  expect(await readLogEnd(folder)).toEqual(endOf(events));
});

test('copies that hold different events of one id are refused', async () => {
  const [one, other] = [join(folder, 'a'), join(folder, 'b')];
  const write = async (path: string, n: number) => {
    const copy = await openLogCopy(path, () => NOW);
    await copy.append(makeEvents(2, 1n, Buffer.alloc(32, n)));
    await copy.close();
    return join(path, '2026-05-20.log');
  };
  const paths = [await write(one, 1), await write(other, 2)];
  await expect(readCopies(paths)).rejects.toThrow('event 1 differs');
});
