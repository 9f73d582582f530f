import { expect, it } from 'vitest';
import { createPasses } from './create-passes.ts';

it('gives whoever comes while a pass runs the one after it, shared', async () => {
  const gates: PromiseWithResolvers<number>[] = [];
  const passes = createPasses(() => {
    const gate = Promise.withResolvers<number>();
    gates.push(gate);
    return gate.promise;
  });
  const first = passes.fresh();
  const late = [passes.fresh(), passes.fresh(), passes.fresh()];
  expect(gates).toHaveLength(1);
  gates[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => gates.length).toBe(2);
  gates[1]?.resolve(2);
  expect(await Promise.all(late)).toEqual([2, 2, 2]);
  await passes.ended();
  expect(gates).toHaveLength(2);
});

it('fails those of the failed pass only', async () => {
  let count = 0;
  const passes = createPasses(async () => {
    count += 1;
    if (count === 1) throw new Error('the first fails');
    return count;
  });
  const [first, second] = [passes.fresh(), passes.fresh()];
  await expect(first).rejects.toThrow('the first fails');
  expect(await second).toBe(2);
});
