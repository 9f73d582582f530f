import { serveOrders } from './child.ts';
import { type Counts, type Meter, meterChain, meterDatabase } from './meters.ts';

/** Stand a meter before a chain or a database, or say what all of them have counted. */
export type MeterOrder = { name: string; before: 'chain' | 'database'; target: string } | { counts: true };

export interface MeterAnswer {
  url: string;
  counts: Record<string, Counts>;
}

const meters = new Map<string, Meter>();

/** In a process of its own, so that what passes does not wait for the client that measures. */
serveOrders<MeterOrder, MeterAnswer>(async (order) => {
  if ('counts' in order) {
    return { url: '', counts: Object.fromEntries([...meters].map(([name, meter]) => [name, meter.counts()])) };
  }
  const meter = await (order.before === 'chain' ? meterChain(order.target) : meterDatabase(order.target));
  meters.set(order.name, meter);
  return { url: meter.url, counts: {} };
});
