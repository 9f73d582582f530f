import { checkClaim } from '../../../platform/chain/accept-head.ts';
import type { ProviderHealth, ProvidersHealth } from '../../../platform/chain/provider-health.ts';
import { readProviderHead } from '../../../platform/chain/read-provider-head.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Market } from '../../context.ts';
import { haltPayments } from '../head/store.ts';
import { type Claim, type Conflict, conflictWords, findConflict } from './find-conflict.ts';

type Needs = Pick<Market, 'database' | 'clock' | 'config' | 'log'>;

/** Reads the heads of all providers, and halts the payments in every process where two call different blocks final. */
export async function lookForConflict(market: Needs, providerHealth: ProvidersHealth): Promise<void> {
  const { database, clock, config, log } = market;
  const conflict = await confirmConflict(market, providerHealth);
  if (conflict === null) return;
  const detail = conflictWords(conflict);
  const halt = { chainId: config.network.chainId, reason: 'finalized_conflict', detail, now: new Date(clock.now()) };
  if (await haltPayments(database, halt)) log.error('payments_halted_by_conflict', { detail });
}

/** A conflict is read a second time from all providers: a balancer may have mixed two nodes, and only an operator ends a halt. */
async function confirmConflict(market: Needs, providerHealth: ProvidersHealth): Promise<Conflict | null> {
  const claims = await readClaims(market, providerHealth);
  try {
    if ((await findConflict(claims)) === null) return null;
    return await findConflict(await readClaims(market, providerHealth));
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}

async function readClaims(market: Needs, providerHealth: ProvidersHealth): Promise<Claim[]> {
  const claims = await Promise.all(providerHealth.all.map((health) => readClaim(market, health)));
  return claims.filter((claim) => claim !== null);
}

/** Null for one that says nothing, or nothing that could be its word. */
async function readClaim({ clock, config }: Needs, health: ProviderHealth): Promise<Claim | null> {
  const { provider } = health;
  try {
    const reading = await readProviderHead(provider, null);
    if (reading.chainId !== config.network.chainId) return null;
    health.noteHead(reading.latest);
    const checked = checkClaim(reading, clock.now(), config.finalityMinAgeSeconds);
    return 'finalized' in checked ? { provider, finalized: checked.finalized } : null;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    health.noteSilence();
    return null;
  }
}
