import { serveOrders } from './child.ts';
import { type Counts, type Meter, meterChain, meterDatabase } from './meters.ts';

/** Orders to put a meter before a chain or a database, or to return all counts. */
export type MeterOrder = { name: string; before: 'chain' | 'database'; target: string } | { counts: true };

export interface MeterAnswer {
  url: string;
  counts: Record<string, Counts>;
}

const meters = new Map<string, Meter>();

/** Runs in its own process, so that metered traffic does not wait for the measuring client. */
serveOrders<MeterOrder, MeterAnswer>(async (order) => {
  if ('counts' in order) {
    return { url: '', counts: Object.fromEntries([...meters].map(([name, meter]) => [name, meter.counts()])) };
  }
  const meter = await (order.before === 'chain' ? meterChain(order.target) : meterDatabase(order.target));
  meters.set(order.name, meter);
  return { url: meter.url, counts: {} };
});
