import type { ServerContext } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { own } from '../contract/own-words.ts';
import { createClient } from '../sdk/client.ts';
import { followPayment } from './local-tool.ts';

/** A manually driven clock. */
function createManualClock() {
  const sleeping: { ms: number; wake(): void }[] = [];
  const deadlines: { ms: number; end: AbortController }[] = [];
  const environment = {
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        sleeping.push({ ms, wake: resolve });
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    deadline: (ms: number) => {
      const end = new AbortController();
      deadlines.push({ ms, end });
      return end.signal;
    },
  };
  return { sleeping, deadlines, client: createClient({ baseUrl: 'https://market.example', environment }) };
}

/** A call that records progress messages; `moment` resolves at the next one. */
function callOf(progressToken: string | undefined, signal = new AbortController().signal) {
  const told: { progress: number; message: string }[] = [];
  let heard: () => void = () => {};
  const notify = async ({ params }: { params?: object }): Promise<void> => {
    told.push(params as { progress: number; message: string });
    heard();
  };
  const context = { mcpReq: { _meta: { progressToken }, notify, signal } } as unknown as ServerContext;
  const next = () => new Promise<void>((resolve) => (heard = resolve));
  return { context, told, next };
}

const words = { clean: (text: string) => text, sayProgress: () => own`on its way`, patienceSeconds: 45 };

test('the host hears every three seconds that it goes on, with what was said last, until it is done', async () => {
  const { client, sleeping } = createManualClock();
  const { context, told, next } = callOf('token');
  const done = await followPayment({ ...words, client }, context, async ({ onProgress, maxWaitSeconds }) => {
    for (const round of [0, 1]) {
      const heard = next();
      sleeping[round]?.wake();
      await heard;
    }
    onProgress({ phase: 'signed', secondsWaited: 1 });
    const heard = next();
    sleeping[2]?.wake();
    await heard;
    return maxWaitSeconds;
  });
  expect(done).toBe(45);
  expect(sleeping.map(({ ms }) => ms)).toEqual([3_000, 3_000, 3_000, 3_000]);
  expect(told.map(({ progress, message }) => [progress, message])).toEqual([
    [1, 'starting'],
    [2, 'starting'],
    [3, 'on its way'],
    [4, 'on its way'],
  ]);
});

test('a host that did not ask hears nothing', async () => {
  const { client } = createManualClock();
  const { context, told } = callOf(undefined);
  await followPayment({ ...words, client }, context, async ({ onProgress }) =>
    onProgress({ phase: 'signed', secondsWaited: 1 }),
  );
  expect(told).toEqual([]);
});

test('the work is ended when the caller gives up, and soon after the patience is over', async () => {
  const caller = new AbortController();
  const { client, deadlines } = createManualClock();
  await followPayment({ ...words, client }, callOf('token', caller.signal).context, async ({ signal }) => {
    caller.abort();
    expect(signal.aborted).toBe(true);
  });
  await followPayment({ ...words, client }, callOf('token').context, async ({ signal }) => {
    expect([signal.aborted, deadlines.at(-1)?.ms]).toEqual([false, 53_000]);
    deadlines.at(-1)?.end.abort();
    expect(signal.aborted).toBe(true);
  });
});
