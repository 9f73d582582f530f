import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rotatedRounds, rotationPart } from '../../../../../test/suite/rotation.ts';
import { describeIndex, randomText, seededTexts } from '../../../../../test/support/text-index.ts';
import { createTextIndex, type ListingText, type TextIndex } from '../text-index.ts';
import { BLOCK, createBlockReader, createBlockWriter, DamagedFile } from './blocks.ts';
import { encodeFacts, FORMAT } from './facts.ts';
import { type ReadIndex, readIndex } from './read-index.ts';
import { writeEnd, writeIndex } from './write-index.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-index-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const IDENTITY = { format: FORMAT, unicode: 'any', system: '7', server: '00000001 5' };
const giveWay = async (): Promise<void> => {};
const signal = new AbortController().signal;

const create = (): TextIndex => createTextIndex({ giveWay });

interface Change {
  id: number;
  text: ListingText | null;
}

/** Saves an index. Calls `between` before each block is written, as other work may run there. */
async function save(index: TextIndex, path: string, between: () => void = () => {}): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    const writer = createBlockWriter(handle, signal);
    const slow = {
      ...writer,
      write: async (...block: Parameters<typeof writer.write>) => {
        // Copy before other work runs, because a block is as it was when it was handed over.
        const [kind, first, second] = [block[0], block[1].slice(), block[2]?.slice()];
        await writer.write(kind, first, second);
        between();
      },
    };
    await slow.write(BLOCK.identity, encodeFacts(IDENTITY));
    const facts = await writeIndex(
      index,
      slow,
      () => ({ revisions: Float64Array.of(0, 2 ** 40), lastRevision: 9 }),
      512,
    );
    await writeEnd(writer, { ...facts, anchor: null });
  } finally {
    await handle.close();
  }
}

async function load(path: string): Promise<ReadIndex> {
  const handle = await open(path, 'r');
  try {
    return await readIndex(handle, { judge: () => {}, giveWay, signal });
  } finally {
    await handle.close();
  }
}

async function kindsIn(path: string): Promise<Set<number>> {
  const handle = await open(path, 'r');
  const reader = await createBlockReader(handle);
  const kinds = new Set<number>();
  while (!reader.isAtEnd()) kinds.add((await reader.next()).kind);
  await handle.close();
  return kinds;
}

async function saveAndLoad(index: TextIndex, between?: () => void): Promise<TextIndex> {
  const path = join(folder, 'index');
  await save(index, path, between);
  return createTextIndex({ giveWay }, (await load(path)).state);
}

function apply(live: Map<number, ListingText>, { id, text }: Change, ...indexes: TextIndex[]): void {
  for (const index of indexes) {
    if (text === null) index.remove(id);
    else index.put(id, text);
  }
  if (text === null) live.delete(id);
  else live.set(id, text);
}

function freshOf(live: ReadonlyMap<number, ListingText>): TextIndex {
  const index = create();
  for (const [id, text] of live) index.put(id, text);
  return index;
}

/** Returns the parts of an index that differ, as their JSON from the first difference on. */
function differences(index: TextIndex, live: ReadonlyMap<number, ListingText>, expected: object): string[] {
  const found = describeIndex(index, live);
  return Object.entries(expected).flatMap(([name, part]) => {
    const [has, wanted] = [JSON.stringify(found[name as keyof typeof found]), JSON.stringify(part)];
    const at = [...wanted].findIndex((char, place) => char !== has[place]);
    return has === wanted
      ? []
      : [`${name}: ${has.slice(Math.max(0, at - 40), at + 60)} not ${wanted.slice(at, at + 60)}`];
  });
}

const change: fc.Arbitrary<Change> = fc.record({
  id: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 5_000 })),
  text: fc.option(randomText, { freq: 3 }),
});
const changes = fc.array(change, { maxLength: 40, size: 'max' });
const rounds = { numRuns: rotatedRounds(import.meta.filename, 60), seed: 20_261_128 + rotationPart() };

describe('an index that was saved', () => {
  test('is the same once it is read, and goes on changing like the one it was', async () => {
    await fc.assert(
      fc.asyncProperty(changes, changes, async (before, after) => {
        const [index, live] = [create(), new Map<number, ListingText>()];
        for (const one of before) apply(live, one, index);
        const read = await saveAndLoad(index);
        expect(differences(read, live, describeIndex(freshOf(live), live))).toEqual([]);
        for (const one of after) apply(live, one, index, read);
        const expected = describeIndex(freshOf(live), live);
        expect(differences(index, live, expected)).toEqual([]);
        expect(differences(read, live, expected)).toEqual([]);
        expect(differences(await saveAndLoad(read), live, expected)).toEqual([]);
      }),
      rounds,
    );
  });

  test('is that of the last moment when listings change between the blocks', async () => {
    await fc.assert(
      fc.asyncProperty(
        changes,
        fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 8 }),
        async (before, meanwhile) => {
          const [index, live] = [create(), new Map<number, ListingText>()];
          for (const one of before) apply(live, one, index);
          // Changes after the last set go into the index, but not into the file.
          let inFile = new Map(live);
          const steps = [...meanwhile];
          const path = join(folder, 'meanwhile');
          await save(index, path, () => {
            if (index.state().stems.journal === null) return;
            for (const one of steps.shift() ?? []) apply(live, one, index);
            inFile = new Map(live);
          });
          const read = createTextIndex({ giveWay }, (await load(path)).state);
          expect(differences(read, inFile, describeIndex(freshOf(inFile), inFile))).toEqual([]);
        },
      ),
      rounds,
    );
  });
});

describe('an index of many listings', () => {
  const texts = seededTexts(7, 6_000);
  const many = (): { index: TextIndex; live: Map<number, ListingText> } => {
    const [index, live] = [create(), new Map<number, ListingText>()];
    for (const [at, text] of texts.slice(0, 4_000).entries()) apply(live, { id: at + 1, text }, index);
    return { index, live };
  };

  test('keeps its large sets and its slabs, and says when each listing was edited', async () => {
    const { index, live } = many();
    const path = join(folder, 'many');
    await save(index, path);
    const { state, revisions, lastRevision } = await load(path);
    const read = createTextIndex({ giveWay }, state);
    expect([...revisions, lastRevision]).toEqual([0, 2 ** 40, 9]);
    expect(state.stems.postings.some(({ dense }) => dense !== null)).toBe(true);
    expect(differences(read, live, describeIndex(freshOf(live), live))).toEqual([]);
    expect(Math.abs(read.bytes() - index.bytes()) / index.bytes()).toBeLessThan(0.2);
    for (let at = 0; at < 2_000; at += 1) {
      apply(live, { id: ((at * 7) % 5_000) + 1, text: at % 3 === 0 ? null : (texts[4_000 + at] ?? null) }, index, read);
    }
    const expected = describeIndex(freshOf(live), live);
    expect(differences(index, live, expected)).toEqual([]);
    expect(differences(read, live, expected)).toEqual([]);
  });

  test('is that of the last moment when hundreds of them change between each two blocks', async () => {
    const { index, live } = many();
    let next = 0;
    let inFile = live;
    const path = join(folder, 'hundreds');
    await save(index, path, () => {
      if (index.state().stems.journal === null) return;
      // The index writes this many new listings set by set. Half of the sets are in the file by then.
      for (let id = 5_001; next === 11_000 && id <= 5_800; id += 1) {
        apply(live, { id, text: texts[id - 1] ?? null }, index);
      }
      for (let count = 0; count < 20; count += 1, next += 1) {
        const text = next % 4 === 0 ? null : (texts[(next * 13) % texts.length] ?? null);
        apply(live, { id: ((next * 31) % 5_000) + 1, text }, index);
      }
      inFile = new Map(live);
    });
    expect(next).toBeGreaterThan(12_000);
    const read = createTextIndex({ giveWay }, (await load(path)).state);
    expect(differences(read, inFile, describeIndex(freshOf(inFile), inFile))).toEqual([]);
  });
});

describe('a damaged file', () => {
  test('is refused, wherever it is cut off and whichever byte is another', async () => {
    const index = create();
    const text = { title: 'Run', tags: ['art'], keywords: [], merchant: 'x', description: 'k8s', preview: '' };
    for (const id of [1, 2]) index.put(id, { ...text, title: `Run ${id}` });
    const path = join(folder, 'whole');
    await save(index, path, () => {
      if (index.state().stems.journal === null) return;
      index.remove(1);
      index.put(3, { ...text, title: 'Later' });
    });
    expect(await kindsIn(path)).toEqual(new Set(Object.values(BLOCK)));
    const handle = await open(path, 'r');
    const whole = await handle.readFile();
    await handle.close();
    const damaged = join(folder, 'damaged');
    const refused = async (bytes: Uint8Array): Promise<boolean> => {
      const copy = await open(damaged, 'w');
      await copy.writeFile(bytes);
      await copy.close();
      return await load(damaged).then(
        () => false,
        (error: unknown) => error instanceof DamagedFile,
      );
    };
    expect(await refused(whole)).toBe(false);
    expect(await refused(Buffer.concat([whole, Buffer.of(0)]))).toBe(true);
    const passed: string[] = [];
    for (let at = 0; at < whole.length; at += 1) {
      if (!(await refused(whole.subarray(0, at)))) passed.push(`cut at ${at}`);
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      if (!(await refused(flipped))) passed.push(`flipped at ${at}`);
    }
    expect(passed).toEqual([]);
  });
});
