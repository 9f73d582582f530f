import { fault } from '../reference.ts';
import type { Run } from '../run.ts';
import { Act } from './act.ts';

/** The seller cancels the offer, or a resident tries to without the right. */
export class Cancel extends Act<{ lot: number; bySeller: boolean }> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    const { bySeller } = this.given;
    const { key } = (bySeller ? run.seller : run.buyer(0)).resident;
    await run.step({
      ...{ what: 'cancel', lot, who: bySeller ? null : run.buyer(0) },
      ask: () => run.stage.sites.city.ask('POST', `/api/world/offer/${lot.thing.offerId}/cancel`, { key, body: {} }),
      check: ({ offer: { phase } }, after) => {
        const isCanceled = after.offer.phase === 'canceled';
        if (!bySeller && after.offer.phase !== phase) fault('canceled by another resident');
        const isOpen = ['listed', 'payment_invalid', 'payment_expired', 'founder_review'].includes(phase);
        if (bySeller && isOpen && !isCanceled) fault(`it cannot be canceled, and is ${phase}`);
      },
    });
  }
}

/** The seller or the maintainer ends the listing. Existing reservations continue. */
export class TakeDown extends Act<{ lot: number; by: 'seller' | 'keeper' }> {
  async run(run: Run): Promise<void> {
    const lot = run.lot(this.given.lot);
    const { market, keeper } = run.stage.sites;
    const { listingId } = lot.thing;
    const removal = { listing_id: listingId, reason_code: 'fraud', reason: 'a test' };
    await run.step({
      ...{ what: `taken down by ${this.given.by}`, lot, who: null },
      ask: () =>
        this.given.by === 'seller'
          ? market.ask('DELETE', `/api/listing/${listingId}`, { key: run.seller.merchant.key })
          : market.ask('POST', '/api/mod/remove', { key: keeper.key, body: removal }),
      check: (before, after) => {
        if (before.state === 'live' && after.state === 'live') fault('it is still for sale');
      },
    });
  }
}
