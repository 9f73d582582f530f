import { expect, it } from 'vitest';
import { settableClock } from '../../../../test/support/market-context.ts';
import { cacheSums } from './create-treasury.ts';

const START_MS = Date.UTC(2026, 0, 6);

it('counts once for all who ask at the same time, and not again for ten seconds', async () => {
  const clock = settableClock(START_MS);
  let counted = 0;
  const read = cacheSums(clock, async () => ++counted);
  expect(await Promise.all([read(), read(), read()])).toMatchObject([{ sums: 1 }, { sums: 1 }, { sums: 1 }]);
  clock.set(START_MS + 9_999);
  expect(await read()).toMatchObject({ sums: 1, countedAtMs: START_MS });
  clock.set(START_MS + 10_000);
  expect(await read()).toMatchObject({ sums: 2, countedAtMs: START_MS + 10_000 });
});

it('keeps for longer what took long', async () => {
  const clock = settableClock(START_MS);
  let counted = 0;
  const read = cacheSums(clock, async () => {
    clock.set(clock.now() + 2_000);
    return ++counted;
  });
  await read();
  clock.set(START_MS + 2_000 + 99_999);
  expect(await read()).toMatchObject({ sums: 1, countedAtMs: START_MS });
  clock.set(START_MS + 2_000 + 100_000);
  expect(await read()).toMatchObject({ sums: 2 });
});

it('does not keep a failure, and does not pass off as new what it had before', async () => {
  const clock = settableClock(START_MS);
  let fails = false;
  const read = cacheSums(clock, async () => {
    if (fails) throw new Error('away');
    return 'counted';
  });
  await read();
  fails = true;
  clock.set(START_MS + 20_000);
  const both = await Promise.allSettled([read(), read()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await read()).toMatchObject({ sums: 'counted', countedAtMs: START_MS + 20_000 });
});
