/**
 * Reorganizes the chain under payments at every step. To replay a run, set OPENAISLE_REORGS_SEED to the seed of the failure and
 * OPENAISLE_REORGS to the number of reorganizations of one chain.
 */
import { inspect } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { testAccount, USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { audit } from '../audit/audit.ts';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import { startWorld, type World } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { openReorgChain } from './reorg-chain.ts';
import { FINALITY_BLOCKS, ReorgRun } from './reorg-run.ts';

/** Total number of reorganizations. The default takes a minute on an idle machine; 500 combine every step with every event. */
const REORGS = Number(process.env['OPENAISLE_REORGS'] ?? rotatedRounds(import.meta.filename, 60));
const SEED = Number(process.env['OPENAISLE_REORGS_SEED'] ?? 20_262 + 3 * rotationPart());
/** Limited, because the local node drops old states after about two thousand blocks, including replaced ones. */
const REORGS_PER_CHAIN = 25;
/** At this number of reorganizations, every step has met every event. */
const MANY = 500;
/** Faults that the auditor rightly reports, because listings are inserted without a fee or an event. */
const SEEDED = ['a listing without a fee', 'no event tells of this: maintainer_seed'];
const SECOND = 1_000;
/** Keeps the market's clock from falling behind the latest block. */
const BEHIND_MS = 500;

const STEPS = [
  ...['purchase by x402', 'fee by x402'].flatMap((kind) => [`${kind}, mined`, `${kind}, mined and seen`]),
  ...['purchase by transfer', 'fee by transfer'].flatMap((kind) => [
    `${kind}, before the claim`,
    `${kind}, after the claim`,
  ]),
  ...['purchase by x402', 'fee by x402', 'purchase by transfer', 'fee by transfer'].map(
    (kind) => `${kind}, just before final`,
  ),
];
const FATES = ['vanishes', 'moves', 'changes its log index', 'stays'];
const EARLY_STEPS = [
  ...['purchase by x402', 'fee by x402'].flatMap((kind) => [`${kind}, opened`, `${kind}, settling`]),
  ...['purchase by transfer', 'fee by transfer'].flatMap((kind) => [
    `${kind}, intent open`,
    `${kind}, claimed, not mined`,
  ]),
];

const facilitator = await startScriptedFacilitator();
afterAll(() => facilitator.close());

const accounts = (name: string, count: number) => Array.from({ length: count }, (_, n) => testAccount(`${name} ${n}`));

/** Runs one chain with one market. */
async function playChain(seed: number, reorgs: number, tally: Map<string, number>): Promise<void> {
  let now = systemClock.now();
  const clock: Clock = { now: () => now, sleep: systemClock.sleep };
  // The node does not reorganize atomically, so the background job runs only on request.
  const world = await startWorld({
    ...{ facilitatorUrl: facilitator.url, chain: { finalityBlocks: FINALITY_BLOCKS }, clock },
    reconcileEveryMs: 3_600_000,
    limits: { guard_runs_per_merchant_day: 1_000_000, open_fee_attempts_per_merchant: 1_000 },
  });
  try {
    await world.join('the-keeper');
    const [senders, payers, wallets] = [accounts('sender', 50), accounts('x402 payer', 4), accounts('wallet', 20)];
    const chain = await openReorgChain(world.chain, [...payers, ...wallets], senders);
    const members = { seller: await world.join('seller-one'), buyer: await world.join('buyer-one') };
    const run = new ReorgRun({
      hangar: { world, chain, facilitator, senders, payers, wallets, ...members, now: () => now },
      dice: createDice(seed),
      setTime: (second) => {
        now = second * SECOND + BEHIND_MS;
      },
      count: (what) => tally.set(what, (tally.get(what) ?? 0) + 1),
    });
    for (let reorg = 0; reorg < reorgs; reorg += 1) await run.round();
    await run.finishPayments();
    await mustAgree(world);
  } catch (error) {
    const logged = world.logLines.filter(({ level }) => level === 'error').map((line) => inspect(line, { depth: 6 }));
    throw new Error(`seed ${seed}; the market logged ${logged.join('\n') || 'no error'}`, { cause: error });
  } finally {
    await world.stop();
  }
}

async function mustAgree({ db, chain }: World): Promise<void> {
  const { faults } = await audit({ databaseUrl: db.url, rpcUrl: chain.url, token: USDC_ADDRESS, quiet: true });
  expect(faults.filter((fault) => !SEEDED.some((rule) => fault.startsWith(rule)))).toEqual([]);
}

it(`${REORGS} reorganisations of up to ${FINALITY_BLOCKS} blocks at every step deliver nothing that vanished, and what came to stay once (seed ${SEED})`, async () => {
  const tally = new Map<string, number>();
  try {
    for (let done = 0; done < REORGS; done += REORGS_PER_CHAIN) {
      process.stdout.write(`reorgs: seed ${SEED + done / REORGS_PER_CHAIN}, ${done} of ${REORGS} done\n`);
      await playChain(SEED + done / REORGS_PER_CHAIN, Math.min(REORGS_PER_CHAIN, REORGS - done), tally);
    }
  } finally {
    const lines = [...tally].sort().map(([what, times]) => `${times} ${what}`);
    process.stdout.write(`reorgs: from seed ${SEED}\n${lines.join('\n')}\n`);
  }
  if (REORGS < MANY) return;
  const met = [
    ...STEPS.flatMap((step) => FATES.map((fate) => `${step}: ${fate}`)),
    ...EARLY_STEPS.map((step) => `${step}: appears`),
  ];
  expect(met.filter((what) => !tally.has(what))).toEqual([]);
}, 3_600_000);
