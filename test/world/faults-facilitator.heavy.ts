import { describe, expect, it } from 'vitest';
import { FACILITATOR_DEADLINE_SECONDS } from '../../src/contract/vocabulary.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { rotated } from '../suite/rotation.ts';
import type { Answer } from '../support/market-world.ts';
import type { Script } from '../support/scripted-facilitator.ts';
import { PRICE, scriptedTrade } from '../support/trade.ts';
import { FINALITY_BLOCKS } from './provider-stage.ts';
import { COURSES, type Course, LIFE_SECONDS, watchMoney } from './watch-money.ts';

const DEADLINE_MS = FACILITATOR_DEADLINE_SECONDS * 1_000;
const AROUND_MS = 100;

/** Faults of a third party's facilitator, by name. Each test adds `to` and the foreign transaction. */
const FACILITATOR_FAULTS = {
  slow_just_in_time: { verify: 'forward', settle: 'forward_slowly', afterMs: DEADLINE_MS - AROUND_MS },
  slow_just_too_late: { verify: 'forward', settle: 'forward_slowly', afterMs: DEADLINE_MS + AROUND_MS },
  never_answers: { verify: 'forward', settle: 'hang' },
  reset_before_settle: { verify: 'forward', settle: 'cut' },
  reset_after_settle: { verify: 'forward', settle: 'forward_then_cut' },
  error_after_settle: { verify: 'forward', settle: 'forward_then_error' },
  garbage: { verify: 'forward', settle: 'garbage' },
  success_without_transaction: { verify: 'forward', settle: 'success' },
  success_with_foreign_transaction: { verify: 'forward', settle: 'success' },
  settlement_pending: { verify: 'forward', settle: 'forward_then_pending' },
  answered_twice: { verify: 'forward', settle: 'forward_answered_twice' },
  verify_yes_settle_no: { verify: 'forward', settle: 'rejected' },
  verify_no_chain_yes: { verify: 'settle_then_invalid', settle: 'rejected' },
  redirect: { verify: 'forward', settle: 'redirect' },
} as const satisfies Record<string, Script>;

type FacilitatorFaultName = keyof typeof FACILITATOR_FAULTS;
const FACILITATOR_FAULT_NAMES = Object.keys(FACILITATOR_FAULTS) as FacilitatorFaultName[];

/** The test takes half a minute on an idle machine, because real deadlines expire. */
const BUSY_MS = 240_000;

/** Offset of the market's and the chain's time from real time. It only grows. */
let offsetMs = 0;
const trade = await scriptedTrade({
  chain: { finalityBlocks: FINALITY_BLOCKS },
  limits: { guard_runs_per_merchant_day: 1_000_000, open_fee_attempts_per_merchant: 1_000 },
  clock: { now: () => systemClock.now() + offsetMs, sleep: systemClock.sleep },
});
const { world, facilitator } = trade;
const money = watchMoney(world);
const pass = () => world.running.payments.reconcileOnce();
const finalize = () => world.chain.mine(FINALITY_BLOCKS + 2);

async function outlive(seconds: number): Promise<void> {
  offsetMs += seconds * 1_000;
  await world.chain.rpc.call('evm_increaseTime', [seconds]);
  await world.chain.mine(1);
}

/** Faults after which the transfer is on the chain, whatever the market was told. */
const SETTLES: ReadonlySet<FacilitatorFaultName> = new Set<FacilitatorFaultName>([
  'slow_just_in_time',
  'slow_just_too_late',
  'reset_after_settle',
  'error_after_settle',
  'settlement_pending',
  'answered_twice',
  'verify_no_chain_yes',
]);

/** Ways a client may continue after its first answer. */
const CLIENTS = {
  'shows the same proof again': 'proof',
  'asks without a proof': 'plain',
  'goes away': null,
} as const;
type Client = keyof typeof CLIENTS;

interface Case {
  title: string;
  fault: FacilitatorFaultName;
  client: Client;
  course: Course;
}

/** Whether the payment succeeds: the fault still settles it, or the client sends the proof again afterwards. */
const isPaid = ({ fault, client }: Case): boolean => SETTLES.has(fault) || CLIENTS[client] === 'proof';

const MAX_TRIES = 10;
/** Limit on concurrent cases, because each waits for its own deadline and a machine with two cores must keep up. */
const AT_ONCE = 14;

async function openCases(): Promise<Case[]> {
  const cases: Case[] = [];
  for (const fault of rotated(import.meta.filename, FACILITATOR_FAULT_NAMES)) {
    for (const client of Object.keys(CLIENTS) as Client[]) {
      for (const open of [COURSES.purchase, COURSES.fee]) {
        const course = await open(trade);
        cases.push({ title: `${fault}, ${course.name}, a client that ${client}`, fault, client, course });
      }
    }
  }
  return cases;
}

async function runCases(cases: readonly Case[], act: (one: Case) => Promise<unknown>): Promise<void> {
  const failed: string[] = [];
  for (let at = 0; at < cases.length; at += AT_ONCE) {
    const group = cases.slice(at, at + AT_ONCE);
    const done = await Promise.allSettled(group.map(act));
    for (const [nth, one] of done.entries()) {
      if (one.status === 'rejected') failed.push(`${group[nth]?.title}: ${one.reason}`);
    }
  }
  expect(failed).toEqual([]);
}

const nonceOf = ({ proof }: Course): string => {
  if (proof === null) throw new TypeError('no proof');
  return proof.authorization.nonce;
};

/** Repeats the request until a payment row exists, because chain or database may be briefly unreachable on a busy machine. */
async function openPayment(course: Course): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await money.ask(course);
    if ((await money.rowsOf(course)).length > 0) return answer;
    if (tries === MAX_TRIES) throw new Error(`no payment was opened: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

/** Asks again the way this client does. Does nothing for a client that went away. */
async function askAgain({ client, course }: Case): Promise<void> {
  const how = CLIENTS[client];
  if (how !== null) await money.ask(course, how);
}

describe('a facilitator with faults', { timeout: BUSY_MS }, () => {
  let cases: Case[] = [];
  let foreign = '';

  it('another payment is made first, for the price of all others', async () => {
    trade.forward();
    const course = await COURSES.purchase(trade);
    expect((await money.ask(course)).status).toBe(202);
    if (course.proof === null) throw new TypeError('no proof');
    foreign = String((await trade.statusOf(course.proof))['tx_hash']);
    expect(course.units).toBe(PRICE);
    expect(foreign).toMatch(/^0x[0-9a-f]{64}$/);
  });

  it('while it lasts no buyer is asked to pay again, and nothing is delivered', async () => {
    cases = await openCases();
    for (const { fault, course } of cases) {
      const transaction = fault === 'success_with_foreign_transaction' ? foreign : '';
      facilitator.scriptFor(nonceOf(course), { ...FACILITATOR_FAULTS[fault], to: world.facilitator.url, transaction });
    }
    await runCases(cases, async ({ course }) => {
      const { status, body } = await openPayment(course);
      expect([202, 503]).toContain(status);
      expect(body['do_not_pay_again']).toBe(true);
    });
    await pass();
    await runCases(cases, askAgain);
    await money.mustBeFinal();
  });

  it('well again, it settles for buyers who come back, and for none twice', async () => {
    for (const { course } of cases) facilitator.scriptFor(nonceOf(course), null);
    await runCases(cases, askAgain);
    await runCases(cases, askAgain);
    await money.mustBeFinal();
    await finalize();
    await pass();
    await runCases(cases, askAgain);
  });

  it('what is not settled waits for the end of its authorization, undecided', async () => {
    await outlive(LIFE_SECONDS + 1);
    await pass();
    await runCases(cases, askAgain);
    // The authorization's end is not final yet, so a reorg could still add a block with the transfer.
    await runCases(cases, async (one) => {
      const expected = isPaid(one) ? 'completed' : 'settling';
      expect((await money.rowsOf(one.course)).map(({ status }) => status)).toEqual([expected]);
    });
  });

  it('in the end each is paid and delivered once, or neither', async () => {
    await finalize();
    await pass();
    await runCases(cases, async (one) => {
      const { course } = one;
      const end = await money.mustHaveEnded(course);
      expect(end).toBe(isPaid(one) ? 'completed' : 'unpaid');
      const answer = await money.ask(course);
      if (end === 'completed') expect(course.delivers(answer)).toBe(true);
      else {
        expect(answer).toMatchObject({ status: 402, body: { do_not_pay_again: false } });
      }
    });
    await money.mustAgree();
  });
});
