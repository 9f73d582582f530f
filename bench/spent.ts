import { cpuMs, familyOf, writtenBytes } from './process-facts.ts';

/** Costs so far or per purchase, by name, such as `statements` or `marketMs`. A missing name means zero, NaN unknown. */
export type Spent = Readonly<Record<string, number>>;

export function difference(from: Spent, to: Spent): Spent {
  return mapCosts(to, (value, name) => value - (from[name] ?? 0));
}

export function perOne(spent: Spent, count: number): Spent {
  return mapCosts(spent, (value) => value / count);
}

export function named(prefix: string, counts: Spent): Spent {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [`${prefix}.${name}`, value]));
}

function mapCosts(spent: Spent, change: (value: number, name: string) => number): Spent {
  return Object.fromEntries(Object.entries(spent).map(([name, value]) => [name, change(value, name)]));
}

/** Returns the CPU time of a server and its descendants. */
export async function serverMs(pid: number): Promise<number> {
  return (await cpuMs(await familyOf(pid))) ?? Number.NaN;
}

export async function diskBytes(pid: number): Promise<number> {
  return (await writtenBytes(pid)) ?? Number.NaN;
}

/** Sums up the CPU time of processes that come and go. Ended processes keep their last known value. */
export function createCpuLedger(): (pids: readonly number[]) => Promise<number> {
  const seen = new Map<number, number>();
  return async (pids) => {
    for (const pid of pids) {
      const taken = await cpuMs([pid]);
      if (taken !== null) seen.set(pid, taken);
    }
    return [...seen.values()].reduce((sum, taken) => sum + taken, 0);
  };
}
