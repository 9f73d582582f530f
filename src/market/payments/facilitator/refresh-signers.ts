import type { Market } from '../../context.ts';
import { askSigners } from './ask-facilitator.ts';
import { noteSigners } from './store.ts';

/** Stores who the facilitator settles as. Signers of the past stay known, with the time until which they were named. */
export async function refreshSigners(market: Pick<Market, 'config' | 'log' | 'database' | 'clock'>): Promise<boolean> {
  const signers = await askSigners(market);
  if (signers === null) return false;
  await noteSigners(market.database, market.config.network.chainId, signers, new Date(market.clock.now()));
  return true;
}
