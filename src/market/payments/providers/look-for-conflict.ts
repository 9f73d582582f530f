import { checkClaim } from '../../../platform/chain/accept-head.ts';
import { readProviderHead } from '../../../platform/chain/read-provider-head.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Standing, Standings } from '../../../platform/chain/standing.ts';
import type { Market } from '../../context.ts';
import { haltPayments } from '../head/store.ts';
import { type Claim, type Conflict, conflictWords, findConflict } from './find-conflict.ts';

type Needs = Pick<Market, 'database' | 'clock' | 'config' | 'log'>;

/** Reads the heads of all providers, and halts the payments in every process where two call different blocks final. */
export async function lookForConflict(market: Needs, standings: Standings): Promise<void> {
  const { database, clock, config, log } = market;
  const conflict = await confirmConflict(market, standings);
  if (conflict === null) return;
  const detail = conflictWords(conflict);
  const halt = { chainId: config.network.chainId, reason: 'finalized_conflict', detail, now: new Date(clock.now()) };
  if (await haltPayments(database, halt)) log.error('payments_halted_by_conflict', { detail });
}

/** Where there is one, both are asked anew: a balancer may have mixed two nodes, and only an operator ends a halt. */
async function confirmConflict(market: Needs, standings: Standings): Promise<Conflict | null> {
  const claims = await readClaims(market, standings);
  try {
    if ((await findConflict(claims)) === null) return null;
    return await findConflict(await readClaims(market, standings));
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}

async function readClaims(market: Needs, standings: Standings): Promise<Claim[]> {
  const claims = await Promise.all(standings.all.map((standing) => readClaim(market, standing)));
  return claims.filter((claim) => claim !== null);
}

/** Null for one that says nothing, or nothing that could be its word. */
async function readClaim({ clock, config }: Needs, standing: Standing): Promise<Claim | null> {
  const { provider } = standing;
  try {
    const reading = await readProviderHead(provider, null);
    if (reading.chainId !== config.network.chainId) return null;
    standing.noteHead(reading.latest);
    const checked = checkClaim(reading, clock.now(), config.finalityMinAgeSeconds);
    return 'finalized' in checked ? { provider, finalized: checked.finalized } : null;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    standing.noteSilence();
    return null;
  }
}
