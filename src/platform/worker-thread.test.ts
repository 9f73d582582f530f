import { afterEach, expect, test } from 'vitest';
import type { ThreadQuestion } from '../../test/support/thread-program.ts';
import { startThread, type Thread } from './worker-thread.ts';

const PROGRAM = new URL('../../test/support/thread-program.ts', import.meta.url);

let thread: Thread<ThreadQuestion, unknown>;
const start = () => {
  thread = startThread<ThreadQuestion, unknown>(PROGRAM);
  return thread;
};
afterEach(() => thread.stop());

test('each question gets its own answer, and memory is handed over instead of copied', async () => {
  const { ask } = start();
  const questions = [1, 2, 3].map((byte) => new Uint8Array([byte, byte]));
  const asked = questions.map((add) => ask({ add }, [add.buffer]));
  expect(questions.map(({ byteLength }) => byteLength)).toEqual([0, 0, 0]);
  expect(await Promise.all(asked)).toEqual([2, 3, 4].map((byte) => new Uint8Array([byte, byte])));
});

test('the thread gets none of the variables of this process', async () => {
  expect(Object.keys(process.env).length).toBeGreaterThan(0);
  expect(await start().ask({ do: 'count variables' }, [])).toBe(0);
});

for (const [what, act, reason] of [
  ['fails', 'fail', 'cannot do that'],
  ['ends by itself', 'exit', 'the thread has ended with 3'],
] as const) {
  test(`when the thread ${what}, all who ask are told why, those that come later too`, async () => {
    const { ask } = start();
    const asked = [ask({ do: act }, []), ask({ do: 'count variables' }, [])];
    for (const one of asked) await expect(one).rejects.toThrow(reason);
    await expect(ask({ do: 'count variables' }, [])).rejects.toThrow(reason);
  });
}

test('stopping tells those who wait, and those who come later', async () => {
  const { ask, stop } = start();
  const asked = ask({ do: 'count variables' }, []);
  const told = expect(asked).rejects.toThrow('the thread was stopped');
  await stop();
  await told;
  await expect(ask({ do: 'count variables' }, [])).rejects.toThrow('the thread was stopped');
});

test('a program that is not there is told to who asks', async () => {
  thread = startThread(new URL('./no-such-program.ts', import.meta.url));
  await expect(thread.ask({ do: 'fail' }, [])).rejects.toThrow('no-such-program');
});
