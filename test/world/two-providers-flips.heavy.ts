import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { RpcFailure } from '../../src/platform/chain/rpc.ts';
import { createDice } from '../stress/dice.ts';
import { type PaidGoods, tradeOnPair } from '../support/rpc-pair.ts';

/** More of them take their time: 1,000 are a matter of minutes on a busy machine. */
const FLIPS = Number(process.env['OPENAISLE_FLIPS'] ?? 250);
const LARGEST_LAG = 500;
const SMALL_LAG = 5;
const SILENT_PART = 0.1;
const PAY_EVERY = 50;
const MINE_EVERY = 5;
const LOOK_EVERY = 25;
const SEED = Number(process.env['OPENAISLE_FLIPS_SEED'] ?? 20_261);

const pair = await tradeOnPair({ chain: { finalityBlocks: 8 } });
const { world, primary, spare, pay, pass, heal, stand } = pair;
const payments = () => world.running.payments;

async function latest(): Promise<bigint> {
  return BigInt(String(await world.chain.rpc.call('eth_blockNumber', [])));
}

async function finalNow(): Promise<bigint | null> {
  try {
    return (await payments().readHead()).finalized?.number ?? null;
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}

async function countDeliveries(): Promise<number> {
  return (await world.db.database.rows(sql`select id from purchases`)).length;
}

it(`${FLIPS} flips between providers 0 to ${LARGEST_LAG} blocks behind undo nothing and wait for the slower one at most (seed ${SEED})`, async () => {
  const dice = createDice(SEED);
  await world.chain.mine(LARGEST_LAG + 20);
  const paid: PaidGoods[] = [];
  const delivered = new Set<PaidGoods>();
  let [highest, deliveries, flipped, head] = [0n, 0, 0, 0n];
  primary.remember();
  spare.remember();
  for (let flip = 0; flip < FLIPS; flip += 1) {
    if (flip % PAY_EVERY === 0) {
      await heal();
      paid.push(await pay());
    }
    if (flip % MINE_EVERY === 0) {
      await world.chain.mine(1 + dice.number(20));
      head = await latest();
    }
    // Now the one is far behind, now the other.
    const slower = dice.pick([primary, spare]);
    const shown = [primary, spare].map((proxy) => {
      const isSilent = dice.chance(SILENT_PART);
      const at = head - BigInt(dice.number(1 + (proxy === slower ? LARGEST_LAG : SMALL_LAG)));
      proxy.silence(isSilent);
      proxy.freezeAt(at);
      return isSilent ? -1n : at;
    });
    const finalized = await finalNow();
    if (finalized !== null) {
      expect(finalized, `flip ${flip}`).toBeGreaterThanOrEqual(highest);
      highest = finalized;
      flipped += 1;
    }
    if (flip % LOOK_EVERY !== 0) continue;
    await pass();
    const final = await finalNow();
    for (const one of paid) {
      const isDelivered = delivered.has(one) || (await stand(one)) === 'completed';
      const isDue = final !== null && [final, ...shown].every((number) => number >= one.block);
      if (isDue) expect(isDelivered, `flip ${flip}: ${one.block} is final and shown by both`).toBe(true);
      if (isDelivered) delivered.add(one);
    }
    const now = await countDeliveries();
    expect(now).toBeGreaterThanOrEqual(deliveries);
    deliveries = now;
  }
  expect(flipped).toBeGreaterThan(FLIPS / 4);
  await heal();
  await world.finalize();
  await world.finalize();
  await pass();
  expect(await Promise.all(paid.map(stand))).toEqual(paid.map(() => 'completed'));
  expect(await countDeliveries()).toBe(paid.length);
  expect((await world.ask('GET', '/readyz')).body['payments']).toBe('open');
  expect(await world.db.database.rows(sql`select id from chain_halts`)).toEqual([]);
}, 300_000);
