import { systemClock } from '../../src/platform/clock.ts';
import { median } from '../load.ts';
import type { Counts } from '../meters.ts';
import type { World } from '../world.ts';
import { type PassTimes, watchPasses } from './read-pass.ts';

/** Requests to a provider. */
export interface ProviderTraffic {
  requests: number;
  calls: number;
  bytes: number;
  callsByMethod: Record<string, number>;
}

export interface Window {
  name: string;
  seconds: number;
  blocks: number;
  market: ProviderTraffic;
  facilitator: ProviderTraffic;
  passes: PassTimes;
}

export interface Scene {
  world: World;
  metricsUrl: string;
  latest(): number;
}

type Sides = Record<'market' | 'facilitator', Counts>;

export async function countsOf({ meters, side }: World): Promise<Sides> {
  const counts = await meters.counts();
  return { market: counts[`${side.name} market`] ?? {}, facilitator: counts[`${side.name} facilitator`] ?? {} };
}

/** Measures all requests while `act` runs. */
export async function measureWhile(scene: Scene, name: string, act: () => Promise<unknown>): Promise<Window> {
  const passes = watchPasses(scene.metricsUrl);
  const [before, block, begin] = [await countsOf(scene.world), scene.latest(), performance.now()];
  await act();
  const [after, blocks, ms] = [await countsOf(scene.world), scene.latest() - block, performance.now() - begin];
  const took = await passes();
  return {
    ...{ name, seconds: ms / 1_000, blocks },
    market: trafficBetween(before.market, after.market),
    facilitator: trafficBetween(before.facilitator, after.facilitator),
    passes: { medianMs: median(took), longestMs: Math.max(...took) },
  };
}

export const measureFor = (scene: Scene, name: string, seconds: number): Promise<Window> =>
  measureWhile(scene, name, () => systemClock.sleep(seconds * 1_000));

function trafficBetween(before: Counts, after: Counts): ProviderTraffic {
  const gone = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  const methods = Object.keys(after).flatMap((name) => /^calls (\w+)$/.exec(name)?.[1] ?? []);
  const callsByMethod = Object.fromEntries(methods.map((method) => [method, gone(`calls ${method}`)]));
  return { requests: gone('requests'), calls: gone('calls'), bytes: gone('bytes'), callsByMethod };
}
