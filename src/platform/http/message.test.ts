import { expect, it } from 'vitest';
import { type Outgoing, readOutgoing } from './message.ts';

const TEXT = 'Zwölf Körbe, 十二籠';
const BYTES = Buffer.from(TEXT);
// Splits the text in the middle of a character.
const PARTS = [BYTES.subarray(0, 3), BYTES.subarray(3)];

async function* piecewise(fails: boolean): AsyncGenerator<Uint8Array> {
  for (const part of PARTS) yield part;
  if (fails) throw new Error('the database is away');
}

const bodies: [string, Outgoing['body']][] = [
  ['text', TEXT],
  ['bytes', BYTES],
  ['a view into more bytes', new Uint8Array(Buffer.concat([Buffer.from('x'), BYTES])).subarray(1)],
  ['pieces', piecewise(false)],
];

it.each(bodies)('reads %s, and lets go of it once', async (_what, body) => {
  let released = 0;
  const text = await readOutgoing({
    body,
    release: () => {
      released += 1;
    },
  });
  expect([text, released]).toEqual([TEXT, 1]);
});

it('lets go of what breaks off on the way', async () => {
  let released = 0;
  const read = readOutgoing({
    body: piecewise(true),
    release: () => {
      released += 1;
    },
  });
  await expect(read).rejects.toThrow('away');
  expect(released).toBe(1);
});
