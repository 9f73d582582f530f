import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { RpcFailure } from '../../src/platform/chain/rpc.ts';
import { createDice, type Dice } from '../support/dice.ts';
import { type PaidGoods, tradeOnPair } from '../support/rpc-pair.ts';

const FLIPS = Number(process.env['OPENAISLE_FLIPS'] ?? 300);
const LARGEST_LAG = 500;
const SMALL_LAG = 5;
const SILENT_PART = 0.1;
const PAY_EVERY = 50;
const MINE_EVERY = 5;
const LOOK_EVERY = 25;
const SEED = Number(process.env['OPENAISLE_FLIPS_SEED'] ?? 20_261);

const pair = await tradeOnPair({ chain: { finalityBlocks: 8 } });
const { world, primary, spare, pay, pass, heal, readStatus } = pair;
const payments = () => world.running.payments;

async function latestBlock(): Promise<bigint> {
  return BigInt(String(await world.chain.rpc.call('eth_blockNumber', [])));
}

/** Returns the finalized head in use and the leading provider. Null if there is none. */
async function headNow(): Promise<{ final: bigint; leader: string } | null> {
  try {
    const { finalized, rpc } = await payments().readHead();
    return finalized && { final: finalized.number, leader: rpc.endpoint };
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}

async function countDeliveries(): Promise<number> {
  return (await world.db.database.rows(sql`select id from purchases`)).length;
}

/** Sets the latest block that each provider shows, or silences the provider. Returns these blocks, and -1 for a silent provider. */
function showDifferently(dice: Dice, head: bigint): bigint[] {
  // Either provider may be the one that is far behind.
  const slower = dice.pick([primary, spare]);
  return [primary, spare].map((proxy) => {
    const isSilent = dice.chance(SILENT_PART);
    const at = head - BigInt(dice.number(1 + (proxy === slower ? LARGEST_LAG : SMALL_LAG)));
    proxy.silence(isSilent);
    proxy.freezeAt(at);
    return isSilent ? -1n : at;
  });
}

/** Checks that payments final at both providers are delivered, and stay delivered. */
async function checkDeliveries(
  paid: readonly PaidGoods[],
  delivered: Set<PaidGoods>,
  { shown, at }: { shown: readonly bigint[]; at: string },
): Promise<void> {
  const final = (await headNow())?.final ?? null;
  for (const one of paid) {
    const isDelivered = (await readStatus(one)) === 'completed';
    if (delivered.has(one)) expect(isDelivered, `${at}: what was delivered stays so`).toBe(true);
    const isDue = final !== null && [final, ...shown].every((number) => number >= one.block);
    if (isDue) expect(isDelivered, `${at}: ${one.block} is final and shown by both`).toBe(true);
    if (isDelivered) delivered.add(one);
  }
}

it(`${FLIPS} flips between providers 0 to ${LARGEST_LAG} blocks behind undo nothing and wait for the slower one at most (seed ${SEED})`, async () => {
  const dice = createDice(SEED);
  await world.chain.mine(LARGEST_LAG + 20);
  const paid: PaidGoods[] = [];
  const delivered = new Set<PaidGoods>();
  let [highest, deliveries, flipped, changes, head] = [0n, 0, 0, 0, 0n];
  let leader = '';
  primary.remember();
  spare.remember();
  for (let flip = 0; flip < FLIPS; flip += 1) {
    if (flip % PAY_EVERY === 0) {
      await heal();
      paid.push(await pay());
    }
    if (flip % MINE_EVERY === 0) {
      await world.chain.mine(1 + dice.number(20));
      head = await latestBlock();
    }
    const shown = showDifferently(dice, head);
    const led = await headNow();
    if (led !== null) {
      expect(led.final, `flip ${flip}`).toBeGreaterThanOrEqual(highest);
      highest = led.final;
      flipped += 1;
      if (led.leader !== leader) changes += 1;
      leader = led.leader;
    }
    if (flip % LOOK_EVERY !== 0) continue;
    await pass();
    await checkDeliveries(paid, delivered, { shown, at: `flip ${flip}` });
    const now = await countDeliveries();
    expect(now).toBeGreaterThanOrEqual(deliveries);
    deliveries = now;
  }
  const told = `${flipped} had a finalized head, another provider led ${changes} times`;
  process.stdout.write(`flips: of ${FLIPS} ${told}, ${paid.length} payments, seed ${SEED}\n`);
  expect(flipped).toBeGreaterThan(FLIPS / 4);
  expect(changes).toBeGreaterThan(FLIPS / 10);
  expect(delivered.size).toBeGreaterThan(0);
  await heal();
  await world.finalize();
  await world.finalize();
  await pass();
  expect(await Promise.all(paid.map(readStatus))).toEqual(paid.map(() => 'completed'));
  expect(await countDeliveries()).toBe(paid.length);
  expect((await world.ask('GET', '/readyz')).body['payments']).toBe('open');
  expect(await world.db.database.rows(sql`select id from chain_halts`)).toEqual([]);
}, 600_000);
