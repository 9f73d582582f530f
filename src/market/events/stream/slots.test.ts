import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientNetwork } from '../../../platform/http/client-network.ts';
import { systemRandom } from '../../../platform/random.ts';
import { createSlots } from './slots.ts';

const options = { most: 400, mostPerNetwork: 10, networksPerSite: 10, random: systemRandom };

/** Returns functions that take and free slots by address. */
function stream(changed: Partial<typeof options> = {}) {
  const take = createSlots({ ...options, ...changed });
  const held = new Map<number, { address: string; free: () => void }>();
  let made = 0;
  const come = (address: string): number | null => {
    const id = made;
    made += 1;
    try {
      const free = take(clientNetwork(address), () => held.delete(id));
      held.set(id, { address, free });
      return id;
    } catch {
      return null;
    }
  };
  const go = (id: number): void => {
    held.get(id)?.free();
    held.delete(id);
  };
  const of = (prefix: string): number => [...held.values()].filter(({ address }) => address.startsWith(prefix)).length;
  return { come, go, of, held };
}

describe('slots of the event stream', () => {
  test('forty networks of one region leave a newcomer a slot', () => {
    const one = stream();
    for (let network = 1; network <= 40; network += 1)
      for (let time = 0; time < 10; time += 1) one.come(`10.1.${network}.1`);
    // Three hundred slots are first come, first served; each of the ten later networks gets one.
    expect(one.of('10.1.')).toBe(310);
    expect(one.come('192.0.2.1')).not.toBeNull();
    // A second stream of a network may only take an unreserved slot.
    expect(one.come('192.0.2.1')).toBeNull();
  });

  test('when all are taken, a newcomer evicts a stream of the fullest region', () => {
    const one = stream();
    for (let region = 1; region <= 40; region += 1)
      for (let network = 1; network <= 20; network += 1) one.come(`10.${region}.${network}.1`);
    expect(one.held.size).toBe(400);
    expect(one.come('192.0.2.1')).not.toBeNull();
    expect(one.held.size).toBe(400);
    expect(one.of('192.0.2.')).toBe(1);
  });

  test('a site has as many as ten of its networks may have', () => {
    const one = stream();
    for (let network = 1; network <= 30; network += 1)
      for (let time = 0; time < 10; time += 1) one.come(`10.1.1.${network}`);
    expect(one.of('10.1.1.')).toBe(100);
  });

  test('are never more than the limit, in any order of clients, and all are free in the end', () => {
    const act = fc.record({ region: fc.nat(12), network: fc.nat(4), leaves: fc.boolean(), which: fc.nat() });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
        const one = stream({ most: 40, mostPerNetwork: 5 });
        for (const { region, network, leaves, which } of acts) {
          const ids = [...one.held.keys()];
          const id = ids[which % Math.max(1, ids.length)];
          if (leaves && id !== undefined) one.go(id);
          else one.come(`10.${region}.${network}.1`);
          expect(one.held.size).toBeLessThanOrEqual(40);
        }
        for (const id of [...one.held.keys()]) one.go(id);
        for (let at = 0; at < 30; at += 1) expect(one.come(`172.16.${at}.1`)).not.toBeNull();
      }),
      { numRuns: 200 },
    );
  });
});
