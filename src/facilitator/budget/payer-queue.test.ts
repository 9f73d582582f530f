import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from './gas-budget.ts';
import { type Admission, createPayerQueue } from './payer-queue.ts';

const PAYER = `0x${'11'.repeat(20)}` as const;

function payerWith(balance: bigint) {
  const queue = createPayerQueue(DEFAULT_LIMITS, () => 0);
  const onChain: bigint[] = [];
  const ended: bigint[] = [];
  /** Admits a settlement. It counts as admitted until `sent`, and then as in flight until `end`. */
  const enter = async (value: bigint): Promise<{ sent(): void }> => {
    const admission: Admission = await queue.enter({
      payer: PAYER,
      value,
      inFlight: () => ({ count: onChain.length, value: onChain.reduce((sum, one) => sum + one, 0n) }),
      isTried: () => ended.length > 0,
      readBalance: () => Promise.resolve(balance),
      deadlineAt: 1,
    });
    if ('kind' in admission) throw new Error(admission.kind);
    return {
      sent: () => {
        onChain.push(value);
        admission.leave();
      },
    };
  };
  const end = (): void => {
    ended.push(onChain.shift() ?? expect.fail('nothing is in flight'));
    queue.wake(PAYER);
  };
  /** Lets the queue do everything that it can do before the next `end`. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { queue, enter, end, settled };
}

it('who waits while the first is sent and mined gets its turn, however often it was woken for nothing', async () => {
  const { enter, end, settled, queue } = payerWith(10n);
  const first = await enter(1n);
  let isSecondIn = false;
  const second = enter(1n).then((entered) => {
    isSecondIn = true;
    return entered;
  });
  await settled();
  first.sent();
  await settled();
  queue.wake(PAYER);
  await settled();
  expect([isSecondIn, queue.waitingCount()]).toEqual([false, 1]);
  end();
  (await second).sent();
  expect(queue.waitingCount()).toBe(0);
});

it('closing ends every wait, also of those that were woken before', async () => {
  const { enter, settled, queue } = payerWith(10n);
  const first = await enter(1n);
  const second = enter(1n);
  await settled();
  first.sent();
  await settled();
  queue.close();
  await expect(second).rejects.toThrow('late');
});
