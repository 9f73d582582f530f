import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openFeeIntent, signChallenge } from '../support/direct.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import type { Answer } from '../support/market-world.ts';
import { offerPath } from '../support/scripted-city.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { fundedWallet } from '../support/trade.ts';
import { statusAndReason } from './fee-stage.ts';
import { type DraftedThing, thingFeeStage } from './thing-fee-stage.ts';

const ROUNDS = 50;
const HOUR = 3_600;
/** Hash of a transaction that does not exist, which keeps a fee undecided until its window ends. */
const NOWHERE = `0x${'9'.repeat(64)}`;

// The facilitator gives no usable answer, so an x402 fee stays undecided until its authorization expires.
const facilitator = await startScriptedFacilitator();
facilitator.script({ verify: 'garbage', settle: 'garbage' });
afterAll(() => facilitator.close());
let aheadMs = 0;
const clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };
const { stage, city, draftThing, list, sign, draft, cancel, stateOf } = await thingFeeStage({
  facilitatorUrl: facilitator.url,
  clock,
});
let payer: TestAccount;
beforeAll(async () => {
  payer = await fundedWallet(stage.world);
});

const database = () => stage.world.db.database;

/** Moves only the market's clock; `chainFollows` then moves the chain. */
function moveClock(seconds: number): void {
  aheadMs += seconds * 1_000;
}
async function chainFollows(seconds: number): Promise<void> {
  await stage.world.chain.rpc.call('evm_increaseTime', [seconds]);
  await stage.world.chain.mine(1);
}

/** Prepares a request that opens a fee by x402 or by transfer. */
async function feeOf(thing: DraftedThing, round: number): Promise<Act> {
  if (round % 2 === 0) {
    const { v2: proof } = await sign(payer);
    return () => list(thing, { proof });
  }
  const intent = await openFeeIntent(stage.world, thing.seller);
  const claim = { intent, signature: await signChallenge(payer, intent), txHash: NOWHERE };
  return () => list(thing, { claim });
}

type Act = () => Promise<Answer>;

/**
 * Runs both acts at once. In half of the rounds a lock on the draft makes both wait, so that each act comes first in some rounds. In the
 * other rounds neither waits. `meanwhile` runs once both are in flight and have checked the draft.
 */
async function raceActs(
  thing: DraftedThing,
  round: number,
  acts: [Act, Act],
  meanwhile = (): void => {},
): Promise<Answer[]> {
  const [first, second] = round % 4 < 2 ? acts : [acts[1], acts[0]];
  const answers =
    round % 8 < 4 ? await oneByOne(thing, first, second, meanwhile) : await runFree(thing, first, second, meanwhile);
  return acts[0] === first ? answers : answers.toReversed();
}

async function oneByOne(thing: DraftedThing, first: Act, second: Act, meanwhile: () => void): Promise<Answer[]> {
  const row = sql`select id from world_drafts where id = ${thing.draftId} for update`;
  const held = await holdTransactionOpen(database(), (tx) => tx.one(row));
  const asked: Promise<Answer>[] = [];
  try {
    for (const act of [first, second]) {
      asked.push(act());
      await untilWaiting(database(), asked.length);
    }
    meanwhile();
  } finally {
    await held.commit();
  }
  return await Promise.all(asked);
}

async function runFree(thing: DraftedThing, first: Act, second: Act, meanwhile: () => void): Promise<Answer[]> {
  const before = city.asked.length;
  const asked = [first(), second()];
  let isOver = false;
  const all = Promise.all(asked).finally(() => {
    isOver = true;
  });
  // The fee request reads the offer after its first check of the draft, unless it was refused before.
  const path = offerPath(thing.offerId);
  await expect.poll(() => isOver || city.asked.slice(before).includes(path), { interval: 1 }).toBe(true);
  meanwhile();
  return await all;
}

/** Returns drafts, wallets and bodies reserved for nothing, open fees that reserve nothing, and merchants with two open drafts. */
async function findFaults(): Promise<unknown[]> {
  return await database().rows(sql`
    select 'a fee that is over holds the draft' as fault, d.id::text as what from world_drafts d
      where state = 'fee_pending'
        and not exists (select from payments p where p.id = d.payment_id and p.status in ('verifying', 'settling'))
    union all select 'an open fee holds nothing', p.id::text from payments p
      where purpose = 'listing_fee' and status in ('verifying', 'settling')
        and not exists (select from world_drafts d where d.payment_id = p.id and d.state = 'fee_pending')
    union all select 'a wallet is held for nothing', encode(wallet, 'hex') from wallet_uses w
      where kind = 'world' and not exists (select from world_drafts d where d.held_wallet = w.wallet)
        and not exists (select from listings l where l.seller_wallet = w.wallet)
    union all select 'a body is kept for nothing', n.payment_id::text from pending_listings n
      where not exists (select from world_drafts d where d.id = n.draft_id and d.state = 'fee_pending')
    union all select 'two drafts are open', merchant_id::text from world_drafts
      where state in ('pending', 'fee_pending') group by merchant_id having count(*) > 1`);
}

/** Checks that these fees are decided and every draft is closed or free. */
async function expectAllFree(): Promise<void> {
  moveClock(HOUR);
  await chainFollows(HOUR);
  await stage.finalize();
  await stage.world.running.payments.reconcileOnce();
  expect(await findFaults()).toEqual([]);
  const held = sql`select count(*) as held from world_drafts where state = 'fee_pending'`;
  expect(await database().one(held)).toEqual({ held: 0n });
  expect(await database().rows(sql`select from wallet_uses where kind = 'world'`)).toEqual([]);
}

const isFeeOpen = ({ status }: Answer): boolean => status === 202 || status === 503;
const told = (answer: Answer | undefined) => statusAndReason(answer ?? expect.fail());

describe(`${ROUNDS} times at once`, () => {
  it('cancel and the fee: one of them comes through, and nothing is left behind', async () => {
    const seen = { canceled: 0, held: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      const thing = await draftThing();
      const open = await feeOf(thing, round);
      const [canceled, opened] = await raceActs(thing, round, [() => cancel(thing), open]);
      if (isFeeOpen(opened ?? expect.fail())) {
        seen.held += 1;
        expect([round, told(canceled), await stateOf(thing)]).toEqual([
          round,
          [409, 'draft_fee_pending'],
          'fee_pending',
        ]);
      } else {
        seen.canceled += 1;
        expect([round, told(opened), canceled?.status]).toEqual([round, [409, 'draft_closed'], 200]);
        expect([await stateOf(thing), await stage.countOf('payments', thing.seller)]).toEqual(['canceled', 0]);
      }
      expect([round, await findFaults()]).toEqual([round, []]);
    }
    expect(seen.canceled * seen.held, JSON.stringify(seen)).toBeGreaterThan(0);
    await expectAllFree();
  });

  it('the end of its hour, another draft and the fee: the draft is paid for, or over', async () => {
    const seen = { over: 0, held: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      const thing = await draftThing();
      const open = await feeOf(thing, round);
      const another = () => draft(thing.seller, { seller_wallet: thing.wallet });
      // In some rounds the hour ends only after both requests, so the fee was in time.
      const isInTime = round % 16 >= 12;
      const [drafted, opened] = await raceActs(thing, round, [another, open], () => moveClock(isInTime ? 0 : HOUR));
      if (isInTime) moveClock(HOUR);
      if (isFeeOpen(opened ?? expect.fail())) {
        seen.held += 1;
        expect([round, told(drafted), await stateOf(thing)]).toEqual([round, [409, 'draft_pending'], 'fee_pending']);
      } else {
        seen.over += 1;
        // An authorization is not valid for an hour either.
        expect([round, told(opened)[1]]).toEqual([round, expect.stringMatching(/^(draft_closed|payment_invalid)$/)]);
        expect(await stateOf(thing)).toBe('expired');
        expect([201, 409]).toContain(drafted?.status);
        expect(await stage.countOf('payments', thing.seller)).toBe(0);
      }
      await chainFollows(HOUR);
      expect([round, await findFaults()]).toEqual([round, []]);
    }
    expect(seen.over * seen.held, JSON.stringify(seen)).toBeGreaterThan(0);
    await expectAllFree();
  });
});
