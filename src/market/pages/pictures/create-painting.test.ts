import { expect, it, onTestFinished } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { createPainting, type PaintingLimits } from './create-pictures.ts';
import type { IconQuestion } from './picture-question.ts';

function painting(limits?: PaintingLimits) {
  const made = createPainting(limits);
  onTestFinished(() => made.stop());
  return made;
}

const square = (size: number, colour = '#1c5a3d'): IconQuestion => ({
  kind: 'icon',
  svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="${colour}"/></svg>`,
  size,
  background: null,
});
const sizeOf = (png: Uint8Array): number => Buffer.from(png).readUInt32BE(16);

it('paints the same bytes for the same question, in whichever process', async () => {
  const one = await painting().paint(square(64));
  expect(Buffer.from(one).subarray(1, 4).toString()).toBe('PNG');
  expect(sizeOf(one)).toBe(64);
  expect(Buffer.from(await painting().paint(square(64))).equals(one)).toBe(true);
});

it('refuses what is too much at once, and paints once what is wanted twice', async () => {
  const { paint } = painting({ keptBytes: 100_000, mostWaiting: 2 });
  const [first, same] = [paint(square(10)), paint(square(10))];
  const second = paint(square(11));
  const refused = await Promise.allSettled([paint(square(12))]);
  expect(refused[0]).toMatchObject({
    status: 'rejected',
    reason: { reason: 'unavailable', options: { retryAfterSeconds: 2 } },
  });
  expect(await first).toBe(await same);
  expect(sizeOf(await second)).toBe(11);
  expect(sizeOf(await paint(square(12)))).toBe(12);
  expect(await paint(square(10))).toBe(await first);
});

it('keeps no more than it may, the newest', async () => {
  const bytes = (await painting().paint(square(20))).byteLength;
  const { paint } = painting({ keptBytes: 2.5 * bytes, mostWaiting: 8 });
  const first = await paint(square(20, '#111111'));
  const second = await paint(square(20, '#222222'));
  expect(await paint(square(20, '#111111'))).toBe(first);
  await paint(square(20, '#333333'));
  expect(await paint(square(20, '#111111'))).toBe(first);
  expect(await paint(square(20, '#222222'))).not.toBe(second);
});

it('goes on after a picture that could not be painted, and ends when it is stopped', async () => {
  const made = painting();
  await expect(made.paint({ ...square(9), svg: 'no picture' })).rejects.toThrow();
  expect(sizeOf(await made.paint(square(9)))).toBe(9);
  await made.stop();
  expect(await reasonOf(made.paint(square(8)))).toBe('unavailable');
});
