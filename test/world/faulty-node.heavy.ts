import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { rotated } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits } from '../support/market-world.ts';
import { type Ask, askInThePast, type Call, createNode, hex, type Json, numberOf } from '../support/rpc-faults.ts';
import { startRpcServer } from '../support/rpc-server.ts';
import { testTrade } from '../support/trade.ts';
import { COURSES, type Course, watchMoney } from './watch-money.ts';

/**
 * Faults of an honest provider: its index lacks a block; it names a head that its state has not reached; two nodes of different heights
 * share its address; it temporarily loses a block.
 */
const NODE_FAULTS = ['no_logs_of_a_block', 'behind_its_own_head', 'two_nodes', 'forgets_a_block'] as const;
type NodeFault = (typeof NODE_FAULTS)[number];

/** One faulty provider shared by market and facilitator. */
interface FaultyNode {
  url: string;
  leadTo(url: string): void;
  /**
   * Starts the fault. A fault that loses a block loses every block after `from` that holds a transaction. With two nodes, the seed picks
   * the node that answers.
   */
  play(fault: NodeFault, given: { from: bigint; seed: number }): void;
  heal(): void;
  /** Number of calls answered differently than the real node would. */
  struck(): number;
  close(): Promise<void>;
}

const BEHIND = 3n;
const HEADS = new Set(['latest', 'finalized', 'safe']);

async function startFaultyNode(): Promise<FaultyNode> {
  const server = await startRpcServer();
  const node = createNode();
  let playing: { fault: NodeFault; from: bigint; dice: ReturnType<typeof createDice> } | null = null;
  let struck = 0;

  /** Answers as a node whose head is some blocks behind. */
  const askBehind = async ({ method, params }: Call): Promise<Json> => {
    const head = numberOf((await node.ask('eth_blockNumber', []))['result']) - BEHIND;
    return await askAt(node.ask, { method, params }, head, await node.finality());
  };
  const answer = async (call: Call, isBehind: boolean): Promise<Json> => {
    const { method, params } = call;
    if (playing === null) return await node.ask(method, params);
    const { fault, from } = playing;
    const namesHead = method === 'eth_blockNumber' || HEADS.has(String(params[0]));
    if (fault === 'behind_its_own_head') return namesHead ? await node.ask(method, params) : await askBehind(call);
    if (fault === 'two_nodes') return isBehind ? await askBehind(call) : await node.ask(method, params);
    const truth = await node.ask(method, params);
    return { ...truth, result: LOSSES[fault](call, truth['result'], from) };
  };
  const answerAll = async (response: ServerResponse, body: unknown): Promise<void> => {
    const isBehind = playing?.dice.chance(0.5) === true;
    const answers = await Promise.all(
      ([body].flat() as Call[]).map(async (call) => {
        const { error, result } = await answer(call, isBehind);
        if (playing !== null) {
          const truth = await node.ask(call.method, call.params);
          if (READINGS.has(call.method) && JSON.stringify(truth['result']) !== JSON.stringify(result)) struck += 1;
        }
        return { jsonrpc: '2.0', id: call.id, ...(error === undefined ? { result: result ?? null } : { error }) };
      }),
    );
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };
  server.answer((response, body) => void answerAll(response, body).catch(() => response.destroy()));
  return {
    url: server.url,
    leadTo: node.leadTo,
    play: (fault, { from, seed }) => {
      playing = { fault, from, dice: createDice(seed) };
    },
    heal: () => {
      playing = null;
    },
    struck: () => struck,
    close: () => server.close(),
  };
}

/** Read methods, which can be called twice to compare the answers. */
const READINGS = new Set([
  ...['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getTransactionReceipt', 'eth_getBlockReceipts', 'eth_getLogs'],
  ...['eth_call', 'eth_getTransactionCount', 'eth_getTransactionByHash'],
]);

type Loss = (call: Call, result: unknown, from: bigint) => unknown;

const LOSSES: Readonly<Record<'no_logs_of_a_block' | 'forgets_a_block', Loss>> = {
  no_logs_of_a_block: ({ method }, result, from) =>
    method === 'eth_getLogs' && Array.isArray(result)
      ? result.filter((log: Json) => numberOf(log['blockNumber']) <= from)
      : result,
  forgets_a_block: ({ method }, result, from) => {
    if (typeof result !== 'object' || result === null) return result;
    const { number, blockNumber, transactions } = result as Json;
    if (method === 'eth_getTransactionReceipt') return numberOf(blockNumber) > from ? null : result;
    if (method === 'eth_getBlockReceipts') return null;
    const isEmpty = !Array.isArray(transactions) || transactions.length === 0;
    return number === undefined || isEmpty || numberOf(number) <= from ? result : null;
  },
};

/**
 * Answers as of that head, including what `askInThePast` does not cover: account nonces, gas estimates and lookups by transaction or block.
 */
async function askAt(ask: Ask, call: Pick<Call, 'method' | 'params'>, head: bigint, finality: bigint): Promise<Json> {
  const { method, params } = call;
  if (method === 'eth_getTransactionCount') return await ask(method, [params[0], hex(head)]);
  if (method === 'eth_estimateGas') return await ask(method, [params[0], hex(head)]);
  if (method === 'eth_getTransactionByHash' || method === 'eth_getBlockReceipts') {
    const answered = await ask(method, params);
    const first = [answered['result']].flat()[0] as Json | null | undefined;
    const height = first?.['blockNumber'] ?? null;
    return height !== null && numberOf(height) > head ? { result: null } : answered;
  }
  return await askInThePast(ask, call, head, finality);
}

const SEED = Number(process.env['OPENAISLE_FAULTS_SEED'] ?? 20_264);
const FINALITY_BLOCKS = 4;
/** Client retry interval in milliseconds. The chain mines one block per second. */
const ASK_MS = 100;
const BUSY_MS = 180_000;
const WAIT = { timeout: 60_000, interval: 250 };
/** Longer than any authorization in this file is valid, in seconds. */
const LONG_SECONDS = 700;

const node = await startFaultyNode();
afterAll(() => node.close());
afterEach(() => node.heal());
const port = await freePort();
node.leadTo(`http://127.0.0.1:${port}`);
let aheadMs = 0;
const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };

/** Market and facilitator share one provider, whose chain keeps mining. */
const trade = testTrade({
  chain: { port, blockTimeSeconds: 1, finalityBlocks: FINALITY_BLOCKS },
  clock,
  rpcUrl: () => node.url,
  facilitator: { rpcUrl: node.url, clock },
  reconcileEveryMs: 300,
});
const { world } = trade;
const money = watchMoney(world);

const heightOf = async (which: 'latest' | 'finalized'): Promise<bigint> =>
  (await readBlock(world.chain.rpc, which))?.number ?? 0n;

async function isPaid({ payer, payee }: Course): Promise<boolean> {
  return (await paidUnits(world.chain, payer.address, payee)).length > 0;
}

/** Sends the client's request and checks what must hold under any fault. Returns whether the answer delivers what was paid for. */
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

/** Repeats the requests until all payments are mined. Returns false once `seconds` blocks have been mined. */
async function askUntilPaid(courses: readonly Course[], seconds: number): Promise<boolean> {
  const until = (await heightOf('latest')) + BigInt(seconds);
  while ((await heightOf('latest')) < until) {
    await askAll(courses);
    if ((await Promise.all(courses.map(isPaid))).every(Boolean)) return true;
    await systemClock.sleep(ASK_MS);
  }
  return false;
}

/** Advances chain, market and facilitator together. */
async function letTimePass(): Promise<void> {
  await world.chain.rpc.call('evm_increaseTime', [LONG_SECONDS]);
  aheadMs += LONG_SECONDS * 1_000;
  await world.chain.mine();
}

async function askForBlocks(courses: readonly Course[], blocks: number): Promise<void> {
  const until = (await heightOf('latest')) + BigInt(blocks);
  while ((await heightOf('latest')) < until) {
    await askAll(courses);
    await systemClock.sleep(ASK_MS);
  }
}

/** Prepares two purchases and a claim, which are then in flight at the same time. */
async function startCourses(): Promise<Course[]> {
  const courses = [await COURSES.purchase(trade), await COURSES.claim(trade), await COURSES.purchase(trade)];
  // Make the funding final, so that a lagging node sees it. Otherwise a payment is rightly refused.
  await world.chain.mine(FINALITY_BLOCKS);
  return courses;
}

async function playFault(fault: NodeFault, moment: 'from the beginning' | 'once it is paid'): Promise<void> {
  const courses = await startCourses();
  const given = { from: await heightOf('latest'), seed: SEED };
  const before = node.struck();
  if (moment === 'from the beginning') node.play(fault, given);
  const areAllPaid = await askUntilPaid(courses, 3 * FINALITY_BLOCKS);
  if (moment === 'once it is paid') {
    expect(areAllPaid).toBe(true);
    node.play(fault, given);
  }
  // Skip the wait where a refusal would be right: if a payment is unpaid, or if the only provider denies the transaction until its
  // authorization has expired and is final, which looks as if it had never been sent.
  const isDenied = fault === 'forgets_a_block' && moment === 'from the beginning';
  if (areAllPaid && !isDenied) await letTimePass();
  await askForBlocks(courses, FINALITY_BLOCKS + 4);
  expect(node.struck()).toBeGreaterThan(before);
  node.heal();
  await expect.poll(() => askAll(courses), WAIT).toBe(true);
  for (const course of courses) expect(await money.mustHaveEnded(course)).toBe('completed');
}

describe(`a provider for market and facilitator (seed ${SEED})`, () => {
  for (const moment of ['from the beginning', 'once it is paid'] as const) {
    it.each(rotated(import.meta.filename, NODE_FAULTS))(
      `%s ${moment}: nothing missed, nothing wrong`,
      { timeout: BUSY_MS },
      (fault) => playFault(fault, moment),
    );
  }
  it('in the end books and chain agree', async () => {
    await money.mustAgree();
  });
});
