import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits } from '../support/market-world.ts';
import { COURSES, type Course } from '../support/rig/courses.ts';
import { NODE_FAULTS, type NodeFault, startFaultyNode } from '../support/rig/faulty-node.ts';
import { watchMoney } from '../support/rig/watch-money.ts';
import { testTrade } from '../support/trade.ts';

const SEED = Number(process.env['OPENAISLE_FAULTS_SEED'] ?? 20_264);
const FINALITY_BLOCKS = 4;
/** A client that asks again; blocks come once a second. */
const ASK_MS = 100;
const BUSY_MS = 180_000;
const WAIT = { timeout: 60_000, interval: 250 };
/** Past the last moment of every authorization here. */
const LONG_SECONDS = 700;

const node = await startFaultyNode();
afterAll(() => node.close());
afterEach(() => node.heal());
const port = await freePort();
node.leadTo(`http://127.0.0.1:${port}`);
let aheadMs = 0;
const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };

/** Market and facilitator read and send through one provider, whose chain goes on by itself. */
const trade = testTrade({
  chain: { port, blockTimeSeconds: 1, finalityBlocks: FINALITY_BLOCKS },
  clock,
  rpcUrl: () => node.url,
  facilitator: { rpcUrl: node.url, clock },
  reconcileEveryMs: 300,
});
const { world } = trade;
const money = watchMoney(world);

const numberOf = async (which: 'latest' | 'finalized'): Promise<bigint> =>
  (await readBlock(world.chain.rpc, which))?.number ?? 0n;

async function isPaid({ payer, payee }: Course): Promise<boolean> {
  return (await paidUnits(world.chain, payer.address, payee)).length > 0;
}

/** What a client does, and what must hold whatever it is told. */
async function ask(course: Course): Promise<boolean> {
  const wasPaid = await isPaid(course);
  const answer = await money.ask(course);
  await money.mustBeFinal();
  if (wasPaid) {
    expect(answer.status, `${course.name}: ${JSON.stringify(answer.body)}`).not.toBe(402);
    const [row, ...more] = await money.rowsOf(course);
    expect(more).toEqual([]);
    expect(['verifying', 'settling', 'completed', undefined]).toContain(row?.status);
  }
  return course.delivers(answer);
}

async function askAll(courses: readonly Course[]): Promise<boolean> {
  return (await Promise.all(courses.map(ask))).every(Boolean);
}

/** Each is asked for until it is paid, or for so long that a fault may be why it is not. */
async function open(courses: readonly Course[], seconds: number): Promise<boolean> {
  const until = (await numberOf('latest')) + BigInt(seconds);
  while ((await numberOf('latest')) < until) {
    await askAll(courses);
    if ((await Promise.all(courses.map(isPaid))).every(Boolean)) return true;
    await systemClock.sleep(ASK_MS);
  }
  return false;
}

/** For chain, market and facilitator alike. */
async function letTimePass(): Promise<void> {
  await world.chain.rpc.call('evm_increaseTime', [LONG_SECONDS]);
  aheadMs += LONG_SECONDS * 1_000;
  await world.chain.mine();
}

async function asked(courses: readonly Course[], blocks: number): Promise<void> {
  const until = (await numberOf('latest')) + BigInt(blocks);
  while ((await numberOf('latest')) < until) {
    await askAll(courses);
    await systemClock.sleep(ASK_MS);
  }
}

/** Two purchases and a claim: the second purchase while the first is on its way. */
async function begin(): Promise<Course[]> {
  const courses = [await COURSES.purchase(trade), await COURSES.claim(trade), await COURSES.purchase(trade)];
  // So that a node that is behind knows of the money in their wallets: without it a payment is refused rightly.
  await world.chain.mine(FINALITY_BLOCKS);
  return courses;
}

async function endure(fault: NodeFault, moment: 'from the beginning' | 'once it is paid'): Promise<void> {
  const courses = await begin();
  const given = { from: await numberOf('latest'), seed: SEED };
  const before = node.struck();
  if (moment === 'from the beginning') node.play(fault, given);
  const areAllPaid = await open(courses, 3 * FINALITY_BLOCKS);
  if (moment === 'once it is paid') {
    expect(areAllPaid).toBe(true);
    node.play(fault, given);
  }
  // What is not paid yet would be refused rightly afterwards; and a transaction that the only provider has never shown, and denies until
  // its time is over and final, cannot be told from one that was never sent.
  const isDenied = fault === 'forgets_a_block' && moment === 'from the beginning';
  if (areAllPaid && !isDenied) await letTimePass();
  await asked(courses, FINALITY_BLOCKS + 4);
  expect(node.struck()).toBeGreaterThan(before);
  node.heal();
  await expect.poll(() => askAll(courses), WAIT).toBe(true);
  for (const course of courses) expect(await money.mustHaveEnded(course)).toBe('completed');
}

describe(`a provider for market and facilitator (seed ${SEED})`, () => {
  for (const moment of ['from the beginning', 'once it is paid'] as const) {
    it.each(NODE_FAULTS)(`%s ${moment}: nothing missed, nothing wrong`, { timeout: BUSY_MS }, (fault) =>
      endure(fault, moment),
    );
  }
  it('in the end books and chain agree', async () => {
    await money.mustAgree();
  });
});
