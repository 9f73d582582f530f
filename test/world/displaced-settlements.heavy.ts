/** Thirty concurrent buyers while an operator uses the facilitator's account. Each buyer gets the goods and pays once. */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { audit } from '../audit/audit.ts';
import { createDice, type Dice } from '../support/dice.ts';
import { minedBy, takeEtherOut } from '../support/facilitator.ts';
import { BASE_URL, type Member, paidUnits, signProof, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods, PRICE } from '../support/trade.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const BUYERS = 30;
const FOREIGN = 4;
/** Fast enough for a test, slow enough that many settlements are still unmined. */
const BLOCK_MS = 250;
const SEED = Number(process.env['OPENAISLE_DISPLACED_SEED'] ?? randomInt(2 ** 31));
const { sellerOne } = WORLD_ACCOUNTS;

let world: World;
let listingId: bigint;
let artifact: string;

beforeAll(async () => {
  world = await startWorld({
    facilitator: { timing: { answerMs: 900, confirmationMs: 700 } },
    reconcileEveryMs: 200,
  });
  const keeper = await world.join('the-keeper');
  await world.ask('POST', '/api/listing', { key: keeper.key, body: newGoods() });
  const goods = newGoods();
  artifact = goods.artifact;
  const listed = await listPaid(world, await world.join('seller-one'), goods, await fundedWallet(world));
  listingId = BigInt(Number(listed.body['listing_id']));
});
afterAll(() => world?.stop());

interface Buyer {
  member: Member;
  payer: TestAccount;
}

/** Repeats the request with the same proof until it gets the goods. Never signs a second time. */
async function buyOnce({ member, payer }: Buyer): Promise<unknown> {
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${listingId}` };
  const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: 600 });
  for (;;) {
    const { status, body } = await world.buy(listingId, { key: member.key, proof: proof.v2 });
    if (status === 200) return body['artifact'];
    // The answer must never tell the client to pay again or end the purchase.
    if (status !== 202 && status !== 503) throw new Error(`${status} ${JSON.stringify(body)}`);
    if (body['do_not_pay_again'] === false && status === 202) throw new Error('told to pay again');
    await systemClock.sleep(100);
  }
}

/**
 * Pauses mining at a random moment and sends another transaction with the account nonce of a randomly chosen pending settlement, so that
 * the settlement is never mined.
 */
async function useAccountElsewhere(
  dice: Dice,
  blocks: ReturnType<typeof createBlocks>,
  used: Set<number>,
): Promise<void> {
  const { address } = world.facilitator;
  for (;;) {
    await blocks.stop();
    const mined = await minedBy(world.chain, address);
    const pending = Number(await world.chain.rpc.call('eth_getTransactionCount', [address, 'pending']));
    const places = Array.from({ length: pending - mined }, (_, n) => mined + n).filter((place) => !used.has(place));
    if (places.length > 0) {
      const place = dice.pick(places);
      used.add(place);
      await takeEtherOut(world.chain, place);
      blocks.start();
      return;
    }
    blocks.start();
    await systemClock.sleep(dice.number(20));
  }
}

function createBlocks() {
  let stopping = new AbortController();
  let running = Promise.resolve();
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await systemClock.sleep(BLOCK_MS, signal);
      if (!signal.aborted) await world.chain.mine();
    }
  };
  return {
    start: (): void => {
      stopping = new AbortController();
      running = run(stopping.signal);
    },
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
    },
  };
}

it(`thirty buyers and four foreign transactions: everybody has the goods, each paid once`, async () => {
  process.stdout.write(`displaced settlements: seed ${SEED}\n`);
  const dice = createDice(SEED);
  const { address } = world.facilitator;
  const buyers = await Promise.all(
    Array.from({ length: BUYERS }, async (_, n): Promise<Buyer> => {
      return { member: await world.join(`buyer-${n}`), payer: await fundedWallet(world, PRICE) };
    }),
  );
  const before = await minedBy(world.chain, address);
  await world.chain.rpc.call('evm_setAutomine', [false]);
  const blocks = createBlocks();
  blocks.start();
  const bought = Promise.all(buyers.map(buyOnce));
  try {
    const used = new Set<number>();
    for (let n = 0; n < FOREIGN; n += 1) await useAccountElsewhere(dice, blocks, used);
    expect(await bought).toEqual(buyers.map(() => artifact));
  } finally {
    await blocks.stop();
    await world.chain.rpc.call('evm_setAutomine', [true]);
  }
  const displaced = world.facilitator.lines.filter(({ event }) => event === 'settlement_displaced');
  expect(displaced.length).toBeGreaterThanOrEqual(FOREIGN);
  for (const { payer } of buyers) {
    expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
  }
  // Every mined transaction had a purpose: one per buyer and four of the operator.
  expect(await minedBy(world.chain, address)).toBe(before + BUYERS + FOREIGN);
  await world.running.eventsSettled();
  const order = { databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS, quiet: true };
  const { faults, purchases } = await audit(order);
  expect([faults, purchases]).toEqual([[], BUYERS]);
});
