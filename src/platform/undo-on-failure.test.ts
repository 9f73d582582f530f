import { expect, test } from 'vitest';
import { undoOnFailure } from './shutdown.ts';

test('what succeeds is left as it is', async () => {
  const undone: string[] = [];
  expect(
    await undoOnFailure(async (begun) => {
      begun.defer(() => void undone.push('one'));
      return 'started';
    }),
  ).toBe('started');
  expect(undone).toEqual([]);
});

test('what fails is undone from its end, and says why it failed', async () => {
  const undone: string[] = [];
  const start = undoOnFailure(async (begun) => {
    begun.defer(() => void undone.push('one'));
    begun.defer(async () => void undone.push('two'));
    throw new Error('no third');
  });
  await expect(start).rejects.toThrow(new Error('no third'));
  expect(undone).toEqual(['two', 'one']);
});

test('an undoing that fails keeps nothing from being undone, and hides nothing', async () => {
  const undone: string[] = [];
  const start = undoOnFailure(async (begun) => {
    begun.defer(() => void undone.push('one'));
    begun.defer(() => Promise.reject(new Error('stuck')));
    throw new Error('no third');
  });
  await expect(start).rejects.toMatchObject({
    message: 'no third',
    errors: [new Error('no third'), new Error('stuck')],
  });
  expect(undone).toEqual(['one']);
});
