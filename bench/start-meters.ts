import { startChild } from './child.ts';
import type { MeterAnswer, MeterOrder } from './meter-process.ts';
import type { Counts } from './meters.ts';

export interface Meters {
  /** Starts a meter and resolves with its address: a URL for a chain, host and port for a database. */
  stand(name: string, before: 'chain' | 'database', target: string): Promise<string>;
  counts(): Promise<Record<string, Counts>>;
}

export function startMeters(begun: AsyncDisposableStack): Meters {
  const child = startChild<MeterOrder, MeterAnswer>(new URL('./meter-process.ts', import.meta.url), 'the meters');
  begun.defer(() => child.stop());
  return {
    stand: async (name, before, target) => (await child.ask({ name, before, target })).url,
    counts: async () => (await child.ask({ counts: true })).counts,
  };
}
