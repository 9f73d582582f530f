import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Log } from '../../platform/log.ts';
import { createHistory, type History as SiteHistory } from '../../platform/log-copy/history.ts';
import type { LogCopyPlace } from '../../platform/log-copy/place.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { EventTail } from '../events/event-tail.ts';
import { RECENT_RECOVERY_MS } from '../payments/lost/store.ts';
import { type MarketLosses, readLosses } from './store.ts';

export interface History extends Omit<SiteHistory<MarketLosses>, 'losses'> {
  /** Whether some merchants may do nothing but replace their key. */
  hasLocks(): boolean;
  /** Whether a buyer may have paid for what the books do not hold, and may pay again. */
  hasRecentRecovery(): boolean;
  /** When the last recovery was, as far as this process has heard; null: of none. It hears of one together with the loss's end. */
  recoveredAt(): Date | null;
}

interface Needs {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null: this process keeps no copy and only hears of what others notice. */
  place: LogCopyPlace | null;
  events: Pick<EventTail, 'version'>;
  /** Reloaded when the database holds another history. */
  catalog: Pick<Catalog, 'reload'>;
}

/** The public log is the market's memory. */
export function createMarketHistory({ events, catalog, ...needs }: Needs): History {
  const newestId = (): bigint => BigInt(events.version());
  const { losses, ...history } = createHistory({ ...needs, newestId, readLosses, onOtherHistory: catalog.reload });
  const recoveredAt = (): Date | null => losses()?.recoveredAt ?? null;
  return {
    ...history,
    hasLocks: () => losses()?.locks ?? false,
    hasRecentRecovery: () => {
      const at = recoveredAt();
      return at !== null && needs.clock.now() - at.getTime() < RECENT_RECOVERY_MS;
    },
    recoveredAt,
  };
}
