import { beforeAll, describe, expect, test } from 'vitest';
import { cityEndpoints } from '../../src/contract/city.ts';
import { endpoints } from '../../src/contract/index.ts';
import {
  type BoundsWorld,
  MAX_MS,
  type Measured,
  measureWell,
  startBoundsWorld,
} from '../support/bounds/bounds-world.ts';

let bounds: BoundsWorld;
beforeAll(async () => {
  const begun = new AsyncDisposableStack();
  const stop = (): Promise<void> => begun.disposeAsync();
  try {
    bounds = await startBoundsWorld(begun, new AbortController().signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
});

/** Sends every hostile request to an endpoint and returns the slow ones. Returns none for endpoints that compare goods. */
async function findSlow(site: string, name: string): Promise<Measured[]> {
  const target = bounds.targets.find((one) => one.site === site && one.name === name);
  if (target === undefined) throw new Error(`${site} has no ${name}`);
  const measured: Measured[] = [];
  for (const request of target.requests) measured.push(await measureWell(bounds, target, request));
  expect(measured.length).toBeGreaterThan(0);
  // A 500 is a bug, and an `overloaded` refusal would make the measured time meaningless.
  expect(measured.filter(({ status, reason }) => status === 500 || reason === 'overloaded')).toEqual([]);
  return target.exempt === null ? measured.filter(({ ms }) => ms > MAX_MS) : [];
}

describe(`no content of a request takes more than ${MAX_MS} ms of the processor`, () => {
  test.each(Object.keys(endpoints))('at %s of the market', async (name) => {
    expect(await findSlow('market', name)).toEqual([]);
  });

  test.each(Object.keys(cityEndpoints))('at %s of the city', async (name) => {
    expect(await findSlow('city', name)).toEqual([]);
  });

  test('at the tools, the forms and the facilitator', async () => {
    const others = bounds.targets.filter(({ name }) => /^(?:GET|POST) /.test(name));
    expect(others.map(({ site }) => site)).toContain('facilitator');
    for (const { site, name } of others) expect(await findSlow(site, name), name).toEqual([]);
  });
});
