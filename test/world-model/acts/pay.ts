import { usdcAdmin } from '../../support/chain.ts';
import { nextBlockAt } from '../../support/direct.ts';
import { PRICE } from '../../world/thing-stage.ts';
import { secondOf } from '../reference.ts';
import type { Lot, Run } from '../run.ts';
import { Act, otherThan } from './act.ts';
import { toldOf } from './buy.ts';
import { claimOf } from './claim.ts';
import { Mine } from './trouble.ts';

const AMOUNTS = { exact: PRICE, tip: PRICE + 1n, little: PRICE - 1n } as const;
/** From the end of the reservation: a block of that second, if it is still ahead. */
const SECONDS = { 'last second': -1, 'the end': 0 } as const;

export interface Paying {
  lot: number;
  amount: keyof typeof AMOUNTS;
  /** Of the buyer who holds it, or of the other one. */
  wallet: 'own' | 'other';
  when: 'now' | keyof typeof SECONDS;
}

export class Pay extends Act<Paying> {
  async run(run: Run): Promise<void> {
    await pay(run, run.lot(this.given.lot), this.given);
  }
}

async function pay(run: Run, lot: Lot, { amount, wallet, when }: Omit<Paying, 'lot'>): Promise<void> {
  const told = toldOf(lot, 0);
  const holder = told?.who ?? run.buyer(0);
  const payer = wallet === 'own' ? holder : otherThan(run, holder);
  const { market } = run.stage.sites;
  const until = told === undefined ? 0 : secondOf(told.reservation.reserved_until);
  const second = when === 'now' ? 0 : until + SECONDS[when];
  await run.happen(`pay ${amount}`, async () => {
    if (second > run.view.latest.time) await nextBlockAt(market, second);
    await usdcAdmin(market.chain).transfer(payer.wallet, lot.thing.seller.wallet.address, AMOUNTS[amount]);
  });
}

export interface Buying extends Paying {
  /** So many are mined between the payment and the claim. */
  blocks: number;
  /** Pays the price once more, and claims that too. */
  again: boolean;
}

/** Payment and claim, as a buyer does it. */
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
