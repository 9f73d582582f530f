import { createPasses } from '../../../../platform/create-passes.ts';
import type { Market } from '../../../context.ts';
import { askSigners } from './ask-facilitator.ts';
import { noteReading } from './store.ts';

type Needs = Pick<Market, 'config' | 'log' | 'database' | 'clock'>;

/** However many transfers of strangers there are, the facilitator is asked no more often than this. */
const ASK_AGAIN_MS = 10_000;

/** Stores who the facilitator settles as. False when it does not answer. */
export async function refreshSigners(market: Needs): Promise<boolean> {
  const addresses = await askSigners(market);
  if (addresses === null) return false;
  const { config, clock, database } = market;
  const reading = {
    chainId: config.network.chainId,
    url: config.facilitatorUrl,
    addresses,
    now: new Date(clock.now()),
  };
  await database.transaction((tx) => noteReading(tx, reading));
  return true;
}

/** The same, shared by all who ask, and at most once in ten seconds: between them the last outcome holds. */
export function createSignerRefresh(market: Needs): () => Promise<boolean> {
  let last = { at: Number.NEGATIVE_INFINITY, outcome: false };
  const passes = createPasses(async () => {
    if (market.clock.now() - last.at >= ASK_AGAIN_MS) {
      const outcome = await refreshSigners(market);
      last = { at: market.clock.now(), outcome };
    }
    return last.outcome;
  });
  return () => passes.fresh();
}
