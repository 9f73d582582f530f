/** Runs the market of a model test as a child process that can really be killed. Follows its parent's orders. */
import type { CrashPoint, MarketConfig } from '../../src/market/context.ts';
import { crashAt } from '../../src/platform/crash-points.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { Log } from '../../src/platform/log.ts';
import { startMarket } from './start-market.ts';

export type Order =
  | { what: 'start'; config: MarketConfig; databaseUrl: string; now: number }
  | { what: 'now'; now: number }
  | { what: 'crash'; at: CrashPoint | null }
  | { what: 'pass' }
  | { what: 'look' };

export interface Numbered {
  id: number;
  order: Order;
}

const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => SILENT };

let now = 0;
let armed: CrashPoint | null = null;
let market: Awaited<ReturnType<typeof startMarket>> | null = null;

async function obey(order: Order): Promise<string | null> {
  switch (order.what) {
    case 'start': {
      now = order.now;
      const database = await openDatabase({ url: order.databaseUrl, poolSize: 6, allowUnsafe: true });
      const crashPoint = (reached: CrashPoint): void =>
        armed === null ? undefined : crashAt({ name: armed, nth: 1 })(reached);
      market = await startMarket({ config: order.config, database, log: SILENT, now: () => now, crashPoint });
      return market.url;
    }
    case 'now':
      now = order.now;
      return 'alive';
    case 'crash':
      armed = order.at;
      return null;
    case 'pass':
      await market?.running.payments.reconcileOnce();
      return null;
    case 'look':
      await market?.running.payments.watch.check();
      return null;
  }
}

process.on('message', ({ id, order }: Numbered) => {
  obey(order).then(
    (answer) => process.send?.({ id, answer }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
// The parent is gone, so exit.
process.on('disconnect', () => process.exit());
