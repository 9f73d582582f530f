import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { liveMemory } from '../support/live-memory.ts';
import { askTus, createUpload, faultsOf, openPatch, readUpload, startUploadStage } from '../support/upload-stage.ts';

const BYTES = 16 * 1_048_576;
const UPLOADS = 8;
/** Market and clients run in this process, so the clients send one small piece again and again. */
const PIECE = systemRandom.bytes(65_536);
const MOST_GROWTH = 60 * 1_048_576;
/** Bytes sent by all uploads together between two measurements. */
const MEASURE_EVERY = 8 * 1_048_576;

test('eight uploads of 16 MiB at once need less than 60 MiB of memory', { timeout: 300_000 }, async () => {
  const stage = await startUploadStage();
  const owners = await Promise.all(['one', 'two', 'three'].map((handle) => stage.join(handle)));
  const hash = createHash('sha256');
  for (let sent = 0; sent < BYTES; sent += PIECE.length) hash.update(PIECE);
  const sha256 = hash.digest('hex');
  const before = liveMemory();
  let peak = before;
  let sentByAll = 0;
  const upload = async (at: number): Promise<void> => {
    const owner = owners[at % owners.length];
    if (owner === undefined) throw new Error('there is no owner');
    const path = await createUpload(stage, owner.key, BYTES);
    const patch = openPatch(stage, path, { key: owner.key, offset: 0, bytes: BYTES });
    for (let sent = 0; sent < BYTES; sent += PIECE.length) {
      await patch.write(PIECE);
      sentByAll += PIECE.length;
      if (sentByAll % MEASURE_EVERY === 0) peak = Math.max(peak, liveMemory());
    }
    patch.end();
    expect((await patch.answer).status).toBe(204);
    expect((await readUpload(stage, owner, path)).sha256?.toString('hex')).toBe(sha256);
    expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(204);
  };
  await Promise.all(Array.from({ length: UPLOADS }, (_, at) => upload(at)));
  const grown = ((peak - before) / 1_048_576).toFixed(1);
  process.stdout.write(`eight uploads of 16 MiB: ${grown} MiB in use\n`);
  expect(peak - before).toBeLessThan(MOST_GROWTH);
  expect(faultsOf(stage)).toEqual([]);
  await stage.stop();
});
