import * as fc from 'fast-check';
import type { Act } from './acts/act.ts';
import { Hold, OpenCheckout, Race, Reserve } from './acts/buy.ts';
import { AllAtOnce, Reconcile, Sweep, WorldPass } from './acts/look.ts';
import { Buy, Claim, Pay } from './acts/pay.ts';
import { Cancel, TakeDown } from './acts/sell.ts';
import { Mislead, Sync } from './acts/sync.ts';
import { Mine, Reorg, RestartCity, Wait } from './acts/trouble.ts';

/** Smallest number of acts after the first. */
const SHORTEST = 2;
const LONGEST = 13;

const small = (most: number) => fc.nat({ max: most });
/** Picks the first value in four of five cases. */
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 4 }, { arbitrary: fc.constantFrom(...others), weight: 1 });

/** Numbers of blocks to mine at once. Four make all earlier blocks final. */
const BLOCKS = [4, 4, 3, 1] as const;
const lot = small(1);
const who = fc.constantFrom(0, 0, 1);
const paying = {
  lot,
  amount: fc.constantFrom('exact' as const, 'exact', 'exact', 'tip', 'little'),
  wallet: mostly<'own' | 'other'>('own', 'other'),
  when: fc.constantFrom('now' as const, 'now', 'now', 'last second', 'the end'),
};

const acts: readonly (readonly [number, fc.Arbitrary<Act<object>>])[] = [
  [8, fc.record({ lot, who }).map((given) => new Hold(given))],
  [2, fc.record({ lot, who: small(1) }).map((given) => new OpenCheckout(given))],
  [
    4,
    fc
      .record({ lot, who: small(1), checkout: fc.constantFrom('own' as const, 'other', 'other', 'none') })
      .map((given) => new Reserve(given)),
  ],
  [4, fc.record(paying).map((given) => new Pay(given))],
  [
    5,
    fc
      .record({ ...paying, blocks: fc.constantFrom(0, ...BLOCKS), again: mostly(false, true) })
      .map((given) => new Buy(given)),
  ],
  [
    6,
    fc
      .record({
        lot,
        by: mostly<'holder' | 'other'>('holder', 'other'),
        told: mostly(0, 1),
        hash: mostly<number | 'past' | 'past sold' | 'made up'>(0, 1, 2, 'past', 'past sold', 'made up'),
        signer: mostly<'right' | 'wrong'>('right', 'wrong'),
      })
      .map((given) => new Claim(given)),
  ],
  [2, fc.record({ lot }).map((given) => new Race(given))],
  [3, fc.record({ lot }).map((given) => new AllAtOnce(given))],
  [3, fc.record({ lot, who }).map((given) => new Reconcile(given))],
  [3, fc.constant({}).map((given) => new Sweep(given))],
  [2, fc.constant({}).map((given) => new WorldPass(given))],
  [
    6,
    fc
      .record({
        lot,
        times: fc.integer({ min: 1, max: 3 }),
        wire: fc.constantFrom('honest' as const, 'honest', 'honest', 'hang_up', 'price', 'nothing', 'claimed'),
        by: fc.constantFrom(null, 0, 1),
      })
      .map((given) => new Sync(given)),
  ],
  [1, fc.record({ lot, wire: fc.constantFrom('price' as const, 'nothing') }).map((given) => new Mislead(given))],
  [6, fc.record({ blocks: fc.constantFrom(...BLOCKS) }).map((given) => new Mine(given))],
  [
    3,
    fc
      .record({ depth: fc.integer({ min: 1, max: 3 }), keep: fc.constantFrom(0, 1, 9), shift: small(2) })
      .map((given) => new Reorg(given)),
  ],
  [4, fc.record({ seconds: fc.constantFrom(1, 60, 301, 301, 1_801, 7_205) }).map((given) => new Wait(given))],
  [1, fc.record({ lot, bySeller: mostly(true, false) }).map((given) => new Cancel(given))],
  [1, fc.record({ lot, by: fc.constantFrom('seller' as const, 'keeper') }).map((given) => new TakeDown(given))],
  [1, fc.constant({}).map((given) => new RestartCity(given))],
];

export interface Plan {
  things: number;
  acts: readonly Act<object>[];
}

/** Generates the acts of a run. A reservation usually comes first, because little can happen before it. */
export function aFewActs(): fc.Arbitrary<Plan> {
  const one = fc.oneof(...acts.map(([weight, arbitrary]) => ({ weight, arbitrary })));
  const begin = <T extends Act<object>>(weight: number, begun: (given: { lot: number; who: number }) => T) => {
    return { weight, arbitrary: fc.record({ lot: fc.constant(0), who }).map((given): Act<object> => begun(given)) };
  };
  const first = fc.oneof(
    begin(4, (given) => new Hold(given)),
    begin(1, (given) => new OpenCheckout(given)),
    begin(1, ({ lot: at }) => new Race({ lot: at })),
    { weight: 1, arbitrary: one },
  );
  const others = fc.array(one, { minLength: SHORTEST, maxLength: LONGEST, size: 'max' });
  return fc.record({
    things: mostly(1, 2),
    acts: fc.tuple(first, others).map(([begun, more]) => [begun, ...more]),
  });
}
