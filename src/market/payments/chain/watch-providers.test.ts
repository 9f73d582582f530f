import { afterEach, expect, test } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { createProviderHealth } from '../../../platform/chain/providers.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { ChainHead } from './read-head.ts';
import { type ChainWatch, createChainWatch } from './watch-providers.ts';

const db = testDatabase();
const patiently = { timeout: 5_000, interval: 5 };
let watch: ChainWatch | null = null;

afterEach(() => watch?.stop());

test('of one provider that was read for a payment lately the heads are not read again', async () => {
  const market = marketContext({ database: db.database });
  const headAt = (number: bigint): ChainHead => ({ latest: { number } }) as ChainHead;
  let lately: { head: ChainHead; at: number } | null = { head: headAt(1n), at: Number.POSITIVE_INFINITY };
  let reads = 0;
  watch = createChainWatch(market, createProviderHealth(market.providers, systemClock), {
    readHead: async () => {
      reads += 1;
      return headAt(2n);
    },
    lastRead: () => lately,
    ...{ everyMs: 5, isLeader: () => true },
  });
  watch.start();
  await expect.poll(() => watch?.head()?.latest.number, patiently).toBe(1n);
  expect(reads).toBe(0);
  lately = { head: headAt(1n), at: systemClock.now() - 60_000 };
  await expect.poll(() => watch?.head()?.latest.number, patiently).toBe(2n);
  expect(reads).toBeGreaterThan(0);
});
