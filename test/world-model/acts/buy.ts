import type { Answer } from '../../support/market-world.ts';
import type { Person, Reservation as ToldReservation } from '../../world/thing-stage.ts';
import { fault, secondOf } from '../reference.ts';
import type { Lot, Run } from '../run.ts';
import { Act, never, recent } from './act.ts';

export interface Opening {
  lot: number;
  who: number;
}

export class OpenCheckout extends Act<Opening> {
  async run(run: Run): Promise<void> {
    const who = run.buyer(this.given.who);
    await openCheckout(run, run.lot(this.given.lot), who);
  }
}

async function openCheckout(run: Run, lot: Lot, who: Person): Promise<void> {
  await run.step({
    ...{ what: 'checkout', lot, who },
    ask: () => run.stage.sites.checkout(who, lot.thing),
    note: ({ body }) => {
      const { id } = (body['checkout'] ?? {}) as { id?: number };
      if (id !== undefined && !lot.checkouts.some((one) => one.id === id)) lot.checkouts.push({ id, who });
    },
    check: (before, _, { status }) => {
      if (status <= 201 && before.state !== 'live') fault(`a checkout of a listing that is ${before.state}`);
    },
  });
}

export class Reserve extends Act<Opening & { checkout: 'own' | 'other' | 'none' }> {
  async run(run: Run): Promise<void> {
    const { who: nth, checkout } = this.given;
    const lot = run.lot(this.given.lot);
    const who = run.buyer(nth);
    const holder = checkout === 'own' ? who : run.buyer(nth + 1);
    const id = lot.checkouts.findLast((one) => one.who === holder)?.id;
    await reserve(run, lot, who, checkout === 'none' || id === undefined ? NO_CHECKOUT : id);
  }
}

const NO_CHECKOUT = 999_999_999;

async function reserve(run: Run, lot: Lot, who: Person, checkout: number): Promise<void> {
  const { reference, thing } = lot;
  // Use the state before this request, because the request itself makes a site check the offer.
  const mayHave = reference.mayReserve(lot.seen, who.resident.handle, checkout);
  await run.step({
    ...{ what: 'reserve', lot, who },
    ask: () => run.stage.sites.reserve(who, thing, checkout),
    note: (answer) => noteReservation(lot, who, checkout, answer),
    check: (_before, _after, { status }) => {
      if (status <= 201 !== mayHave) fault(mayHave ? 'it is free, and refused' : 'it is reserved, and should not be');
    },
  });
}

function noteReservation(lot: Lot, who: Person, checkoutId: number, { status, body }: Answer): void {
  if (status > 201 || lot.told.some(({ reservation }) => reservation.id === idOf(body))) return;
  const reservation = { ...(body['reservation'] as ToldReservation), checkoutId };
  lot.told.push({ reservation, who });
  lot.reference.begin(knownOf(reservation, who, body));
}

export class Race extends Act<{ lot: number }> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    for (const who of run.buyers) await openCheckout(run, lot, who);
    const racers = run.buyers.map((who) => {
      const checkout = lot.checkouts.findLast((one) => one.who === who)?.id ?? NO_CHECKOUT;
      return { who, checkout, mayHave: lot.reference.mayReserve(lot.seen, who.resident.handle, checkout) };
    });
    const won: boolean[] = [];
    await run.step({
      ...{ what: 'race', lot, who: null },
      ask: async () => {
        const asked = racers.map(({ who, checkout }) => run.stage.sites.reserve(who, lot.thing, checkout));
        const answers = await Promise.all(asked);
        for (const [at, answer] of answers.entries()) {
          const { who, checkout } = racers[at] ?? never();
          noteReservation(lot, who, checkout, answer);
          won.push(answer.status <= 201);
          if (answer.status >= 500) fault(`a site failed: ${JSON.stringify(answer.body)}`);
        }
        return answers.find(({ status }) => status <= 201) ?? answers[0] ?? never();
      },
      check: () => {
        const wanted = racers.some(({ mayHave }) => mayHave) ? 1 : 0;
        if (won.filter(Boolean).length !== wanted) fault(`${wanted} of two may have it, and won: ${won}`);
        if (racers.some(({ mayHave }, at) => won[at] && !mayHave)) fault('it is reserved, and should not be');
      },
    });
  }
}

const idOf = (body: Record<string, unknown>): unknown => (body['reservation'] as { id: unknown }).id;

function knownOf(told: ToldReservation, { resident, merchant, wallet }: Person, body: Record<string, unknown>) {
  const { amount_units: units } = body['reservation'] as { amount_units: string };
  return {
    ...{ who: resident.handle, merchant: merchant.handle, checkout: told.checkoutId },
    ...{ payer: wallet.address as string, payee: told.seller_wallet.toLowerCase(), units: BigInt(units) },
    ...{ from: secondOf(told.reserved_at), until: secondOf(told.reserved_until) },
    ...{ named: new Set<string>(), hasFitted: false, pendingSince: null, lostAt: null },
  };
}

/** Checks out and reserves, as a buyer does. */
export class Hold extends Act<Opening> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    const who = run.buyer(this.given.who);
    await openCheckout(run, lot, who);
    const checkout = lot.checkouts.findLast((one) => one.who === who);
    if (checkout !== undefined) await reserve(run, lot, who, checkout.id);
  }
}

/** Returns a reservation by age, newest first. */
export const reservationOf = (lot: Lot, nth: number): Lot['told'][number] | undefined => recent(lot.told, nth);
