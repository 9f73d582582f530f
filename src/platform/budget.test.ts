import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type SettableClock, settableClock } from '../../test/support/market-context.ts';
import { type Budget, type BudgetOptions, type Client, createBudget } from './budget.ts';
import { clientNetwork } from './http/client-network.ts';
import { systemRandom } from './random.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const MINUTE = 60_000;
let clock: SettableClock;

beforeEach(() => {
  clock = settableClock(NOON);
});

const budget = (changes: Partial<BudgetOptions> = {}): Budget =>
  createBudget({
    clock,
    random: { ...systemRandom, int: () => 0 },
    windowSeconds: 60,
    perNetwork: { name: 'per_network', limit: 100 },
    networksPerSite: 10,
    perAccount: { name: 'per_account', limit: 200 },
    forAll: { name: 'for_all', limit: 4_000 },
    ...changes,
  });
const from = (address: string): Client => ({ network: clientNetwork(address) });
const passes = (of: Budget, client: Client, units = 1): boolean => {
  try {
    of.take(client, units);
    return true;
  } catch {
    return false;
  }
};

describe('a budget', () => {
  test('ends for one network and not for the next, says when it begins again, and does', () => {
    const one = budget();
    one.take(from('192.0.2.1'), 100);
    clock.set(NOON + 20_500);
    expect(() => one.take(from('192.0.2.1'), 1)).toThrow(
      expect.objectContaining({
        reason: 'rate_limited',
        options: expect.objectContaining({ retryAfterSeconds: 40, budget: 'per_network' }),
      }),
    );
    expect(passes(one, from('192.0.2.2'))).toBe(true);
    clock.set(NOON + MINUTE);
    expect(passes(one, from('192.0.2.1'))).toBe(true);
  });

  test('ends for a site whose networks each are within theirs, and on loopback each address is a site', () => {
    const sites = (prefix: string): boolean[] => {
      const one = budget();
      return Array.from({ length: 11 }, (_, at) => passes(one, from(`${prefix}.${at + 1}`), 100));
    };
    expect(sites('192.0.2')).toEqual([...Array(10).fill(true), false]);
    expect(sites('127.0.2')).toEqual(Array(11).fill(true));
  });

  test('counts an account by itself, with a limit of its own', () => {
    const one = budget();
    expect(passes(one, { account: 'merchant 7' }, 200)).toBe(true);
    expect(passes(one, { account: 'merchant 7' })).toBe(false);
    expect(passes(one, from('192.0.2.1'))).toBe(true);
  });

  test('gives back what was taken and not spent, and counts what was spent beyond it', () => {
    const one = budget();
    one.take(from('192.0.2.1'), 60).adjustTo(10);
    expect(passes(one, from('192.0.2.1'), 91)).toBe(false);
    one.take(from('192.0.2.1'), 80).adjustTo(100);
    expect(passes(one, from('192.0.2.1'))).toBe(false);
    // Units reserved in a past window are not refunded to the next one.
    const late = one.take(from('192.0.2.2'), 50);
    clock.set(NOON + MINUTE);
    late.adjustTo(0);
    expect(passes(one, from('192.0.2.2'), 100)).toBe(true);
    expect(passes(one, from('192.0.2.2'))).toBe(false);
  });

  test('keeps a quarter for who has not had its turn', () => {
    const one = budget();
    for (let at = 0; at < 40; at += 1) passes(one, from(`10.1.${at}.1`), 100);
    expect(passes(one, from('10.1.99.1'), 60)).toBe(false);
    clock.set(NOON + 30_000);
    expect(passes(one, from('10.2.0.1'), 10)).toBe(true);
    // The network has used a tenth of its limit, so it is no longer a newcomer.
    expect(passes(one, from('10.2.0.1'), 1)).toBe(false);
    expect(passes(one, from('10.1.0.1'), 1)).toBe(false);
  });

  test('has tables that no number of networks grows, and bounds those without a row with their site', () => {
    fc.assert(
      fc.property(fc.array(fc.ipV6(), { minLength: 60, maxLength: 200 }), (addresses) => {
        const one = budget({ rows: 20 });
        for (const address of addresses) passes(one, from(address));
        expect(one.rows()).toBeLessThanOrEqual(20);
      }),
      { numRuns: 50 },
    );
    const one = budget({ rows: 20 });
    const networks = Array.from({ length: 2_000 }, (_, at) => from(`2001:db8:1:${at.toString(16)}::1`));
    expect(networks.filter((network) => passes(one, network)).length).toBe(1_000);
  });

  test('never lets a network or all together use more than their limits', () => {
    const act = fc.record({ site: fc.nat(30), network: fc.nat(3), units: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 300 }), fc.nat(), (acts, seed) => {
        let state = seed;
        const random = {
          ...systemRandom,
          int: (below: number) => {
            state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
            return state % below;
          },
        };
        const one = budget({ random, forAll: { name: 'for_all', limit: 1_000 } });
        const used = new Map<string, number>();
        for (const { site, network, units } of acts) {
          const address = `10.${site}.0.${network}`;
          if (passes(one, from(address), units)) used.set(address, (used.get(address) ?? 0) + units);
        }
        for (const units of used.values()) expect(units).toBeLessThanOrEqual(100);
        expect([...used.values()].reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 200 },
    );
  });
});
