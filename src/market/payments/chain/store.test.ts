import { expect, it } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import type { Hex } from '../../../platform/hex.ts';
import { findChainState, raiseWatermark, resetWatermark, writeCommand } from './store.ts';

const CHAIN = 8453n;
const NOW = new Date('2026-01-02T03:04:05Z');
const db = testDatabase();
const block = (number: bigint) => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}` as Hex,
  timestamp: 1_700_000_000n + number,
});
const mark = async () => (await findChainState(db.database, CHAIN)).watermark?.number;
const raise = (number: bigint, resets: number) =>
  raiseWatermark(db.database, CHAIN, block(number), { resets, now: NOW });

it('a head that was accepted before a reset does not raise the watermark after it', async () => {
  expect(await raise(100n, 0)).toBe(true);
  expect(await raise(99n, 0)).toBe(true);
  expect(await mark()).toBe(100n);
  const to = block(90n);
  await db.database.transaction(async (tx) => {
    const after = { block_number: Number(to.number), block_hash: to.hash };
    await writeCommand(tx, { chainId: CHAIN, act: 'reset_watermark', reason: 'r', before: {}, after, now: NOW });
    await resetWatermark(tx, CHAIN, to);
  });
  expect(await raise(101n, 0)).toBe(false);
  expect(await mark()).toBe(90n);
  expect(await raise(101n, 1)).toBe(true);
  expect(await findChainState(db.database, CHAIN)).toMatchObject({
    watermark: { number: 101n },
    resets: 1,
    halt: null,
  });
});

it('a command lets the watermark go to its own block alone, and in its own transaction alone', async () => {
  const { watermark } = await findChainState(db.database, CHAIN);
  const command = {
    chainId: CHAIN,
    act: 'reset_watermark' as const,
    reason: 'r',
    before: {},
    after: { block_number: 50, block_hash: block(50n).hash },
    now: NOW,
  };
  const elsewhere = db.database.transaction(async (tx) => {
    await writeCommand(tx, command);
    await resetWatermark(tx, CHAIN, block(51n));
  });
  await expect(elsewhere).rejects.toMatchObject({ code: '23001' });
  await db.database.transaction((tx) => writeCommand(tx, command));
  const later = db.database.transaction((tx) => resetWatermark(tx, CHAIN, block(50n)));
  await expect(later).rejects.toMatchObject({ code: '23001' });
  expect((await findChainState(db.database, CHAIN)).watermark).toEqual(watermark);
});
