import { createWorldSyncJob } from '../../../src/market/world/sync/world-sync-job.ts';
import { fault } from '../reference.ts';
import type { Run } from '../run.ts';
import { Act } from './act.ts';
import { claimOf } from './pay.ts';

const NEVER_MS = 78_000_000;

/** A resident makes the city check the chain. */
export class Reconcile extends Act<{ lot: number; who: number }> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    const who = run.buyer(this.given.who);
    const { key } = who.resident;
    await run.step({
      ...{ what: 'reconcile', lot, who },
      ask: () => run.stage.sites.city.ask('POST', `/api/world/offer/${lot.thing.offerId}/reconcile`, { key, body: {} }),
      check: (before, after) => lot.reference.judgeLook(before, after),
    });
  }
}

/** The city runs its own sweep. */
export class Sweep extends Act<object> {
  async run(run: Run): Promise<void> {
    await run.runAct(
      'sweep',
      () => run.stage.sites.city.running.sweep.sweepOnce(),
      ({ reference, seen }, before) => reference.judgeLook(before, seen),
    );
  }
}

/** The market runs its own background job. */
export class WorldPass extends Act<object> {
  async run(run: Run): Promise<void> {
    const { market, payments } = run.stage.sites.market.running;
    await run.runAct('world pass', () => createWorldSyncJob(market, payments, NEVER_MS).syncOnce());
  }
}

/** The holder claims while everybody checks, all at the same time. */
export class AllAtOnce extends Act<{ lot: number }> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    const { sites } = run.stage;
    const step = claimOf(run, lot, { by: 'holder', told: 0, hash: 0, signer: 'right' });
    if (step === null) return;
    const { offerId, listingId } = lot.thing;
    const reconcile = { key: run.seller.resident.key, body: {} };
    const sync = { key: run.seller.merchant.key, body: {} };
    await run.step({
      ...step,
      what: 'all at once',
      ask: async () => {
        const [claimed, ...others] = await Promise.all([
          step.ask(),
          sites.city.ask('POST', `/api/world/offer/${offerId}/reconcile`, reconcile),
          sites.market.ask('POST', `/api/world/sync/${listingId}`, sync),
          sites.market.ask('POST', `/api/world/sync/${listingId}`, sync),
          sites.city.running.sweep.sweepOnce(),
        ]);
        for (const other of others) if (other && other.status !== 200) fault(`refused: ${JSON.stringify(other.body)}`);
        return claimed;
      },
    });
  }
}
