import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { createDice, type Dice } from '../support/dice.ts';
import { type Case, drawAttempt, drawClaim, drawRefund } from './cases.ts';
import { judgeAttempt, judgeClaim, judgeRefund, type Rules, type Ruling } from './judge.ts';
import { answersOf, attemptVerdict, claimVerdict, refundVerdict, type Verdict } from './market-side.ts';
import { PAYEE, PAYER } from './scene.ts';

// Compares the market's verdicts with the judge's on receipts that are mostly near misses. To replay one case, set its seed and one run:
// OPENAISLE_TEST_SEED=... OPENAISLE_TEST_RUNS=1.

const DEEP = process.env['OPENAISLE_TEST_DEEP'] === '1';
const SEED = Number(process.env['OPENAISLE_TEST_SEED'] ?? (DEEP ? randomInt(2 ** 32) : 20_260_501));
const RUNS = process.env['OPENAISLE_TEST_RUNS'];
/** Each outcome must occur this often, because the generator is otherwise too narrow. */
const LEAST = 50;
/** Number of disagreements shown in a failure. */
const SHOWN = 8;

interface Compared<Drawn extends Case<Rules>> {
  runs: number;
  draw(dice: Dice): Drawn;
  judge(drawn: Drawn): Ruling;
  market(drawn: Drawn): Promise<Verdict>;
  outcomes: string[];
  whys: string[];
}

async function compare<Drawn extends Case<Rules>>(what: string, given: Compared<Drawn>): Promise<void> {
  const runs = RUNS === undefined ? given.runs : Number(RUNS);
  const met = new Map<string, number>();
  const count = (name: string): unknown => met.set(name, (met.get(name) ?? 0) + 1);
  const disagreements: string[] = [];
  const began = performance.now();
  for (let run = 0; run < runs; run += 1) {
    const seed = (SEED + run) >>> 0;
    const drawn = given.draw(createDice(seed));
    const { why, ...verdict } = await given.market(drawn);
    const ruling = given.judge(drawn);
    count(ruling.reason ?? ruling.outcome);
    if (why !== undefined) count(`unknown: ${why}`);
    const [market, judge] = [JSON.stringify(verdict), JSON.stringify(ruling)];
    if (market === judge) continue;
    disagreements.push(
      `seed ${seed} (${drawn.scene.faults.join(', ')}): the market says ${market}, the judge ${judge}`,
    );
    // Print a single replayed case.
    if (runs === 1)
      console.error(JSON.stringify(drawn, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value), 1));
  }
  const counts = [...met]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, times]) => `${name} ${times}`);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.error(`${what}: seed ${SEED}, ${runs} runs in ${seconds} s: ${counts.join(', ')}`);
  expect(disagreements.slice(0, SHOWN)).toEqual([]);
  if (runs < given.runs) return;
  const wanted = [...given.outcomes, ...given.whys.map((why) => `unknown: ${why}`)];
  expect(wanted.filter((name) => (met.get(name) ?? 0) < LEAST)).toEqual([]);
  expect([...met.keys()].toSorted()).toEqual([...new Set([...wanted, 'unknown'])].toSorted());
}

const CHAIN_WHYS = [
  'wrong_chain',
  'not_mined',
  'not_canonical',
  'contradiction',
  'no_finalized_head',
  'not_final',
  'unreadable',
];

test(`claims: market and judge agree on outcome, reason and log (seed ${SEED})`, { timeout: 600_000 }, async () => {
  await compare('claims', {
    runs: DEEP ? 100_000 : 15_000,
    draw: drawClaim,
    judge: (drawn) => judgeClaim(answersOf(drawn, 2, PAYEE), drawn.rules),
    market: (drawn) => claimVerdict(answersOf(drawn, 2, PAYEE), drawn.rules),
    outcomes: [
      'settled',
      'transfer_not_found',
      'wrong_payer',
      'transaction_used',
      'authorized_transfer',
      'amount_too_little',
      'outside_window',
      'paid_after_removal',
      'already_bought',
    ],
    whys: CHAIN_WHYS,
  });
});

test(`x402 attempts: market and judge agree on outcome, reason and log (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  await compare('x402 attempts', {
    runs: DEEP ? 30_000 : 8_000,
    draw: drawAttempt,
    judge: (drawn) => judgeAttempt({ ...answersOf(drawn, 1, PAYER), ...drawn }, drawn.rules),
    market: (drawn) => attemptVerdict(answersOf(drawn, 1, PAYER), drawn),
    outcomes: [
      'settled',
      'expired',
      'canceled',
      'no_fitting_transfer',
      'used_before_opening',
      'listing_removed',
      'listing_changed',
    ],
    whys: [...CHAIN_WHYS, 'receipt_missing', 'used_without_log', 'use_without_transfer'],
  });
});

test(`refunds: market and judge agree on outcome and log (seed ${SEED})`, { timeout: 600_000 }, async () => {
  await compare('refunds', {
    runs: DEEP ? 30_000 : 4_000,
    draw: drawRefund,
    judge: (drawn) => judgeRefund(answersOf(drawn, 2, PAYER), drawn.rules),
    market: (drawn) => refundVerdict(answersOf(drawn, 2, PAYER), drawn.rules),
    outcomes: ['settled', 'refund_not_found'],
    whys: ['unreadable'],
  });
});
