import type { Hex } from '../../../src/platform/hex.ts';
import { usdcAdmin } from '../../support/chain.ts';
import { nextBlockAt } from '../../support/direct.ts';
import { PRICE } from '../../world/thing-stage.ts';
import { secondOf } from '../reference.ts';
import type { Lot, Run, Step } from '../run.ts';
import type { Transfer } from '../terms.ts';
import { Act, otherThan, recent } from './act.ts';
import { reservationOf } from './buy.ts';
import { Mine } from './trouble.ts';

const AMOUNTS = { exact: PRICE, tip: PRICE + 1n, little: PRICE - 1n } as const;
/** Block times in seconds relative to the end of the reservation. A block with that time is mined if it is still ahead. */
const SECONDS = { 'last second': -1, 'the end': 0 } as const;

export interface Paying {
  lot: number;
  amount: keyof typeof AMOUNTS;
  /** Whether the holding buyer's wallet pays, or the other buyer's. */
  wallet: 'own' | 'other';
  when: 'now' | keyof typeof SECONDS;
}

export class Pay extends Act<Paying> {
  async run(run: Run): Promise<void> {
    await pay(run, run.lot(this.given.lot), this.given);
  }
}

async function pay(run: Run, lot: Lot, { amount, wallet, when }: Omit<Paying, 'lot'>): Promise<void> {
  const told = reservationOf(lot, 0);
  const holder = told?.who ?? run.buyer(0);
  const payer = wallet === 'own' ? holder : otherThan(run, holder);
  const { market } = run.stage.sites;
  const until = told === undefined ? 0 : secondOf(told.reservation.reserved_until);
  const second = when === 'now' ? 0 : until + SECONDS[when];
  await run.runAct(`pay ${amount}`, async () => {
    if (second > run.view.latest.time) await nextBlockAt(market, second);
    await usdcAdmin(market.chain).transfer(payer.wallet, lot.thing.seller.wallet.address, AMOUNTS[amount]);
  });
}

interface Claiming {
  lot: number;
  /** Whether the holder of the reservation claims, or the other resident. */
  by: 'holder' | 'other';
  /** Index of the reservation whose challenge is signed, newest first. */
  told: number;
  /** Index of a transfer of this run, newest first; or one of an earlier run, or one that was never made. */
  hash: number | 'past' | 'past sold' | 'made up';
  signer: 'right' | 'wrong';
}

export class Claim extends Act<Claiming> {
  async run(run: Run): Promise<void> {
    const step = claimOf(run, run.lot(this.given.lot), this.given);
    if (step !== null) await run.step(step);
  }
}

/** Builds the step that claims. Null if there is nothing to sign. */
export function claimOf(run: Run, lot: Lot, given: Omit<Claiming, 'lot'>): Step | null {
  const { reference, thing, seen } = lot;
  const told = reservationOf(lot, given.told);
  if (told === undefined) return null;
  const who = given.by === 'holder' ? told.who : otherThan(run, told.who);
  const { wallet } = given.signer === 'right' ? told.who : otherThan(run, told.who);
  const hash = hashOf(run, given.hash);
  const held = reference.holder(seen.offer);
  const isUndecided = ['reserved', 'payment_pending'].includes(seen.offer.phase);
  const isOwn = held !== null && isCurrent(lot, told) && held.who === who.resident.handle;
  const isGood = isUndecided && isOwn && given.signer === 'right';
  return {
    ...{ what: 'claim', lot, who },
    ask: () => run.stage.sites.claim({ ...who, wallet }, thing, told.reservation, hash as Hex),
    note: ({ body }) => {
      if (isGood && body['reason'] !== 'transaction_used') held.named.add(hash);
    },
    check: (before, after, { body }) => {
      if (isGood && body['reason'] !== 'transaction_used') reference.judgeLook(before, after);
    },
  };
}

/** Whether this is the newest reservation shown to anybody and the offer shows it. */
function isCurrent({ told, reference, seen }: Lot, one: Lot['told'][number]): boolean {
  return one === told.at(-1) && reference.holder(seen.offer) === reference.reservations.at(-1);
}

function hashOf(run: Run, which: Claiming['hash']): string {
  const madeUp = `0x${run.view.latest.number.toString(16).padStart(64, 'f')}`;
  const past = (one: Transfer | null): string => one?.hash ?? madeUp;
  if (which === 'made up') return madeUp;
  if (which === 'past') return past(run.stage.past.paid);
  if (which === 'past sold') return past(run.stage.past.sold);
  return recent(run.sent, which)?.hash ?? madeUp;
}

export interface Buying extends Paying {
  blocks: number;
  /** True to pay and claim the price once more. */
  again: boolean;
}

/** Pays and claims, as a buyer does. */
export class Buy extends Act<Buying> {
  async run(run: Run): Promise<void> {
    const { given } = this;
    await this.#buy(run, given);
    if (given.again) await this.#buy(run, { ...given, amount: 'exact', wallet: 'own', when: 'now' });
  }

  async #buy(run: Run, given: Buying): Promise<void> {
    const lot = run.lot(given.lot);
    await pay(run, lot, given);
    if (given.blocks > 0) await new Mine({ blocks: given.blocks }).run(run);
    const step = claimOf(run, lot, { by: 'holder', told: 0, hash: 0, signer: 'right' });
    if (step !== null) await run.step(step);
  }
}
