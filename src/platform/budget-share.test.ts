import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeShare, needsNewcomerPart, type Share, type ShareUse, SLOTS, unitsForNewcomers } from './budget-share.ts';

const HOUR: Share = { limit: 300, windowMs: 3_600_000, newcomerUnits: 1 };

/** Simulates the counters that a process keeps for one window. */
function window(share: Share, draw: () => number) {
  const used = new Map<string, number>();
  const asks = new Map<string, number>();
  const of = (key: string): number => used.get(key) ?? 0;
  const add = (key: string, units: number): void => void used.set(key, of(key) + units);
  const total = (): number => of('open') + of('kept');
  return {
    of,
    total,
    ask: (from: { network: string; site: string; supernet: string }, elapsedMs: number, units = 1): boolean => {
      const slot = Math.floor((elapsedMs * SLOTS) / share.windowMs);
      const use: ShareUse = {
        open: of('open'),
        kept: of('kept'),
        network: of(`network ${from.network}`),
        siteKept: of(`site ${from.site}`),
        supernetKept: of(`supernet ${from.supernet}`),
        supernetsAsking: 0,
        asksOfSupernet: 0,
      };
      const asked = { units, elapsedMs };
      if (needsNewcomerPart(share, use, asked)) {
        const key = `${slot} ${from.supernet}`;
        asks.set(key, (asks.get(key) ?? 0) + 1);
        const lately = [...asks.keys()].filter((one) => Number.parseInt(one, 10) >= slot - 1);
        use.supernetsAsking = new Set(lately.map((one) => one.split(' ')[1])).size;
        use.asksOfSupernet = Math.max(...[slot, slot - 1].map((at) => asks.get(`${at} ${from.supernet}`) ?? 0));
      }
      const { part } = judgeShare(share, use, asked, draw);
      if (part === null) return false;
      add(part, units);
      add(`network ${from.network}`, units);
      if (part === 'kept') {
        add(`site ${from.site}`, units);
        add(`supernet ${from.supernet}`, units);
      }
      return true;
    },
  };
}

const client = (supernet: number, site: number, network: number) => ({
  network: `${supernet}.${site}.${network}`,
  site: `${supernet}.${site}`,
  supernet: `${supernet}`,
});

/** Seeded random numbers, so that a failure can be reproduced. */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('a share', () => {
  const anyShare = fc.record({
    limit: fc.nat(2_000),
    windowMs: fc.constantFrom(60_000, 3_600_000),
    newcomerUnits: fc.integer({ min: 1, max: 60 }),
  });
  const anyAsk = fc.record({
    supernet: fc.nat(12),
    site: fc.nat(3),
    network: fc.nat(40),
    units: fc.integer({ min: 1, max: 6 }),
  });

  test('gives no more than its limit, and no supernet more of the kept part than its bound', () => {
    fc.assert(
      fc.property(anyShare, fc.array(anyAsk, { maxLength: 400 }), fc.nat(), (share, asks, seed) => {
        const counts = window(share, chanceOf(seed));
        for (const [at, { supernet, site, network, units }] of asks.entries())
          counts.ask(client(supernet, site, network), (share.windowMs * at) / (asks.length + 1), units);
        expect(counts.total()).toBeLessThanOrEqual(share.limit);
        const most = Math.max(share.newcomerUnits, unitsForNewcomers(share.limit) / 8);
        for (let supernet = 0; supernet <= 12; supernet += 1)
          expect(counts.of(`supernet ${supernet}`)).toBeLessThanOrEqual(most);
      }),
      { numRuns: 300 },
    );
  });

  test('lets a newcomer in at once after one supernet has taken all that goes to who comes first', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.9, noNaN: true }), (seed, when) => {
        const counts = window(HOUR, chanceOf(seed));
        for (let network = 0; network < 400; network += 1)
          counts.ask(client(1, network % 7, network), HOUR.windowMs * when);
        // The reserved part is released slot by slot, so nothing of it may be left until the next slot.
        const next = HOUR.windowMs * (when + 2 / SLOTS);
        expect([0, 1, 2].some((time) => counts.ask(client(2, 0, 0), next + time))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('while twenty supernets ask without end, an honest newcomer that asks once a slot gets in within the hour', () => {
    const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
    const shutOut = seeds.filter((seed) => {
      const draw = chanceOf(seed);
      const counts = window(HOUR, draw);
      for (let slot = 0; slot < SLOTS; slot += 1) {
        const honestAt = Math.floor(draw() * 60);
        for (let ask = 0; ask < 60; ask += 1) {
          const elapsedMs = ((slot + ask / 60) * HOUR.windowMs) / SLOTS;
          if (ask === honestAt && counts.ask(client(99, 0, 0), elapsedMs)) return false;
          const supernet = ask % 20;
          counts.ask(client(supernet, slot, slot * 60 + ask), elapsedMs);
        }
      }
      return true;
    });
    // 21 supernets compete for 75 units, and the newcomer gets one in about nine runs of ten.
    expect(shutOut.length, `shut out with seeds ${shutOut.join(', ')}`).toBeLessThan(seeds.length / 5);
  });

  test('too small to be divided, it goes to who comes first', () => {
    const counts = window({ ...HOUR, limit: 3 }, () => 0);
    expect([1, 2, 3, 4].map((supernet) => counts.ask(client(supernet, 0, 0), 0))).toEqual([true, true, true, false]);
  });

  test('says when to ask again: the next slot while it is drawn, the end of the window for who had its turn', () => {
    const spent = {
      open: 225,
      kept: 0,
      network: 0,
      siteKept: 0,
      supernetKept: 0,
      supernetsAsking: 50,
      asksOfSupernet: 4,
    };
    const at = { units: 1, elapsedMs: 130_000 };
    expect(judgeShare(HOUR, spent, at, () => 0.9)).toEqual({ part: null, retryAfterMs: 110_000 });
    expect(judgeShare(HOUR, { ...spent, network: 1 }, at, () => 0)).toEqual({ part: null, retryAfterMs: 3_470_000 });
    expect(judgeShare(HOUR, spent, at, () => 0)).toEqual({ part: 'kept' });
  });
});
