import type { Clock } from '../../clock.ts';
import { networkLevels } from '../../http/client-network.ts';
import type { Database } from '../database.ts';
import type { Quota } from './quota.ts';
import { takeQuota } from './take-quota.ts';

/** Counts are 32 bits. */
const MOST = 1_000_000_000;

/** What one client network may do in a window, and how many such networks' worth the site around it may. */
export interface ClientQuota extends Omit<Quota, 'subject'> {
  clientNetwork: string;
  networksPerSite: number;
}

/** Counts this call of that network and of its site, and refuses it beyond either. What the network has not left uses nothing of the site's. */
export async function takeClientQuota(
  needs: { database: Database; clock: Clock },
  { clientNetwork, networksPerSite, ...quota }: ClientQuota,
): Promise<void> {
  await takeQuota(needs, { ...quota, subject: clientNetwork });
  const { site } = networkLevels(clientNetwork);
  if (site === clientNetwork) return;
  const limit = Math.min(MOST, quota.limit * networksPerSite);
  await takeQuota(needs, { ...quota, subject: site, limit });
}
