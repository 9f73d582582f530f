import { isDeepStrictEqual } from 'node:util';
import type { OfferOut } from '../../../src/contract/world-records.ts';
import type { Answer } from '../../support/market-world.ts';
import type { SiteTwist } from '../../support/site-proxy.ts';
import { fault } from '../reference.ts';
import type { Lot, Run } from '../run.ts';
import type { Seen, Wire } from '../terms.ts';
import { Act } from './act.ts';
import { Wait } from './trouble.ts';

const LASTING_SECONDS = 601;

export interface Syncing {
  lot: number;
  times: number;
  wire: Wire;
  /** Index of the buyer who syncs. Null for the seller. */
  by: number | null;
}

/** Makes the market sync the offer once or several times, over a connection that may lie. */
export class Sync extends Act<Syncing> {
  async run(run: Run): Promise<void> {
    const { times, wire, by } = this.given;
    const lot = run.lot(this.given.lot);
    const { sites } = run.stage;
    const who = by === null ? null : run.buyer(by);
    const key = (who ?? run.seller).merchant.key;
    sites.toCity.twist(twistOf(run, lot, wire));
    try {
      let last: Answer | null = null;
      for (let nth = 0; nth < times; nth += 1) {
        const answer = await run.step({
          ...{ what: `sync ${wire}`, lot, who, isLied: wire !== 'honest' },
          ask: () => sites.market.ask('POST', `/api/world/sync/${lot.thing.listingId}`, { key, body: {} }),
          check: (before, after, said) => judgeSync(before, after, { said, wire, last }),
        });
        last = answer;
      }
    } finally {
      sites.toCity.twist(null);
    }
  }
}

/** The city shows another offer until the market gives up the listing. A sale through that listing still counts. */
export class Mislead extends Act<{ lot: number; wire: 'price' | 'nothing' }> {
  async run(run: Run): Promise<void> {
    const lie = new Sync({ ...this.given, times: 1, by: null });
    await lie.run(run);
    await new Wait({ seconds: LASTING_SECONDS }).run(run);
    await lie.run(run);
  }
}

function judgeSync(before: Seen, after: Seen, { said, wire, last }: { said: Answer; wire: Wire; last: Answer | null }) {
  if (last !== null && !isDeepStrictEqual(comparable(said), comparable(last)))
    fault(`asked once more: ${JSON.stringify(last.body)}`);
  if (wire !== 'honest') {
    if (after.state !== before.state && after.state !== 'stale') fault(`a lie made it ${after.state}`);
    return;
  }
  const { phase } = after.offer;
  const ended = { claimed: ['sold', 'completed'], canceled: ['canceled', 'canceled'] } as const;
  const [state, status] = phase === 'claimed' || phase === 'canceled' ? ended[phase] : [before.state, phase];
  const expected = state === 'stale' ? 'stale' : status;
  if (after.state !== state || said.body['status'] !== expected) fault(`it should be ${state} and ${expected}`);
}

function comparable({ status, body }: Answer): unknown {
  const { request_id: _, ...rest } = body;
  return [status, rest];
}

type Lies = Record<Exclude<Wire, 'honest'>, SiteTwist>;

function twistOf(run: Run, lot: Lot, wire: Wire): SiteTwist | null {
  if (wire === 'honest') return null;
  const lies: Lies = {
    hang_up: () => 'hang_up',
    price: offerWith(() => ({ price_usdc: 1 })),
    nothing: () => ({ status: 404, json: { reason: 'not_found' } }),
    claimed: offerWith((offer) => claimedBy(run, lot, offer)),
  };
  return lies[wire];
}

const offerWith =
  (changes: (offer: OfferOut) => Partial<OfferOut>): SiteTwist =>
  ({ path, status, json }) => {
    if (!path.includes('/api/world/offer/')) return null;
    const { offer } = json as { offer: OfferOut };
    return { status, json: { offer: { ...offer, ...changes(offer) } } };
  };

/** Returns the offer as sold by a transfer that is not final yet or was never made. */
function claimedBy(run: Run, { thing }: Lot, offer: OfferOut): Partial<OfferOut> {
  const young = run.sent.findLast(({ block }) => block > run.view.finalized.number);
  const now = new Date(run.stage.time.clock.now()).toISOString();
  return {
    phase: 'claimed',
    buyer: offer.buyer ?? thing.seller.resident.handle,
    market_buyer: offer.market_buyer ?? thing.seller.merchant.handle,
    market_checkout_id: offer.market_checkout_id ?? 1,
    buyer_wallet: offer.buyer_wallet ?? offer.seller_wallet,
    reserved_at: offer.reserved_at ?? now,
    reserved_until: offer.reserved_until ?? now,
    claimed_at: now,
    tx_hash: (young?.hash ?? `0x${'e'.repeat(64)}`) as `0x${string}`,
    block_number: young?.block ?? 1,
    block_time: now,
  };
}
