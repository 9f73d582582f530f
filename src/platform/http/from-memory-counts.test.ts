import { describe, expect, it } from 'vitest';
import type { Clock } from '../clock.ts';
import { createLog } from '../log.ts';
import { createReadCounts } from './from-memory.ts';

function start() {
  const lines: Record<string, unknown>[] = [];
  const sleeping: { ms: number; wake(): void }[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        sleeping.push({ ms, wake: resolve });
        signal?.addEventListener('abort', () => resolve());
      }),
  };
  const log = createLog({ stream: { write: (line) => void lines.push(JSON.parse(line)) }, clock });
  const passMinute = async () => {
    now += 60_000;
    for (const { wake } of sleeping.splice(0)) wake();
    await Promise.resolve();
  };
  return { counts: createReadCounts({ clock, log }), lines, sleeping, passMinute };
}

describe('reads without lines of their own', () => {
  it('are one line a minute, by route, with what came since the last', async () => {
    const { counts, lines, passMinute } = start();
    counts.add('/shelves', 200);
    counts.add('/shelves', 304);
    counts.add('/listing/:id', 200);
    expect(lines).toEqual([]);
    await passMinute();
    expect(lines).toMatchObject([
      { event: 'reads_summary', count: 3, ms: 60_000, routes: ['/shelves 2', '/listing/:id 1'] },
    ]);
    counts.add('/shelves', 304);
    await passMinute();
    expect(lines[1]).toMatchObject({ count: 1, routes: ['/shelves 1'] });
    expect(counts.list()).toEqual([
      { route: '/shelves', answered: 1, notModified: 2 },
      { route: '/listing/:id', answered: 1, notModified: 0 },
    ]);
    expect(lines.some((line) => 'left_out' in line)).toBe(false);
  });

  it('cost no line and no timer while there are none', async () => {
    const { counts, lines, sleeping, passMinute } = start();
    expect(sleeping).toHaveLength(0);
    counts.add('/shelves', 200);
    expect(sleeping).toHaveLength(1);
    await passMinute();
    await passMinute();
    expect(sleeping).toHaveLength(0);
    expect(lines).toHaveLength(1);
  });
});
