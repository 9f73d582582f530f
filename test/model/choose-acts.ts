import * as fc from 'fast-check';
import type { CrashPoint } from '../../src/market/context.ts';
import type { Act } from './acts/act.ts';
import { Buy, PayDirectly, type Paying, SpendTogether } from './acts/buy.ts';
import { Claim, OpenIntent, type Sending, Transfer } from './acts/claim.ts';
import { ChangeListing, List, Review } from './acts/run-shop.ts';
import { Finalize, Pass, Reorg, Restart, SwitchProvider, Wait } from './acts/trouble.ts';
import { FINALITY_BLOCKS } from './model-chain.ts';
import type { Reference } from './reference.ts';
import type { Run } from './run.ts';

const CRASHES_OF_PROOFS: readonly CrashPoint[] = [
  'before_verify',
  'after_settling_committed',
  'after_settle_before_answer',
  'after_final_before_delivery',
  'after_commit_before_answer',
];
const CRASHES_OF_CLAIMS: readonly CrashPoint[] = [
  'after_claim_committed',
  'after_final_before_delivery',
  'after_commit_before_answer',
];

const small = (most: number) => fc.nat({ max: most });
const seldom = fc.oneof({ arbitrary: fc.constant(false), weight: 7 }, { arbitrary: fc.constant(true), weight: 1 });
const often = fc.oneof({ arbitrary: fc.constant(true), weight: 2 }, { arbitrary: fc.constant(false), weight: 1 });
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 4 }, { arbitrary: fc.constantFrom(...others), weight: 1 });
const rarely = (points: readonly CrashPoint[]) =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 11 }, { arbitrary: fc.constantFrom(...points), weight: 1 });

const buying = {
  who: small(2),
  wallet: small(2),
  listing: mostly(0, 1, 2),
  version: fc.constantFrom('v1' as const, 'v2' as const),
  nth: small(3),
  ahead: mostly(120, 25, 600),
  twice: seldom,
};
const amount = mostly<Sending['amount']>('exact', 'tip', 'little', 'more than there is');
const to = mostly<Sending['to']>('payee', 'stranger');

const acts: readonly (readonly [number, fc.Arbitrary<Act<object>>])[] = [
  [
    5,
    fc
      .record({ ...buying, how: fc.constant('sign' as const), crashAt: rarely(CRASHES_OF_PROOFS) })
      .map((given) => new Buy(given)),
  ],
  [
    6,
    fc
      .record({
        ...buying,
        how: fc.constantFrom('again' as const, 'bare', 'collect', 'token', 'again'),
        crashAt: rarely(CRASHES_OF_PROOFS),
      })
      .map((given) => new Buy(given)),
  ],
  [
    5,
    fc
      .record({
        who: small(1),
        listing: mostly(0, 1, 2),
        named: mostly(null, 0, 1),
        wallet: small(2),
        amount,
        to,
        authorized: seldom,
        review: fc.constantFrom(null, 'deliver', 'declined', 'refunded'),
        meanwhile: mostly<Paying['meanwhile']>('nothing', 'window over', 'withdraw', 'remove', 'bought'),
        signer: mostly(null, 0, 1),
        again: mostly(false, true),
        final: often,
        crashAt: rarely(CRASHES_OF_CLAIMS),
      })
      .map((given) => new PayDirectly(given)),
  ],
  [
    2,
    fc
      .record({
        parts: fc.array(
          fc.record({
            wallet: small(2),
            listing: small(2),
            spend: fc.constantFrom('as signed' as const, 'on nothing'),
          }),
          { minLength: 2, maxLength: 3 },
        ),
        paysSurplus: seldom,
        final: often,
      })
      .map((given) => new SpendTogether(given)),
  ],
  [
    2,
    fc
      .record({ who: small(1), listing: small(2), named: mostly(null, 0, 1, 2), fee: seldom })
      .map((given) => new OpenIntent(given)),
  ],
  [
    3,
    fc
      .record({ intent: mostly(0, 1, 2), wallet: small(2), amount, to, authorized: seldom })
      .map((given) => new Transfer(given)),
  ],
  [
    6,
    fc
      .record({
        who: mostly(null, 0, 1),
        listing: mostly(null, 0, 1),
        intent: mostly(0, 1, 2),
        transaction: mostly(0, 1, 2, 3),
        signer: mostly(null, 0, 1, 2),
        twice: seldom,
        crashAt: rarely(CRASHES_OF_CLAIMS),
      })
      .map((given) => new Claim(given)),
  ],
  [
    3,
    fc
      .record({
        body: small(1),
        how: fc.constantFrom('bare' as const, 'x402', 'again', 'transfer'),
        wallet: small(2),
        nth: small(3),
        amount,
        final: often,
        crashAt: rarely([...CRASHES_OF_PROOFS, ...CRASHES_OF_CLAIMS]),
      })
      .map((given) => new List(given)),
  ],
  [
    2,
    fc
      .record({ listing: mostly(0, 1, 2), what: fc.constantFrom('edit' as const, 'withdraw', 'remove', 'edit') })
      .map((given) => new ChangeListing(given)),
  ],
  [
    3,
    fc
      .record({
        nth: small(2),
        outcome: fc.constantFrom('deliver' as const, 'declined', 'refunded'),
        byOther: seldom,
        enough: mostly(true, false),
        final: mostly(true, false),
      })
      .map((given) => new Review(given)),
  ],
  [
    3,
    fc
      .record({
        depth: fc.integer({ min: 1, max: FINALITY_BLOCKS - 1 }),
        keep: fc.constantFrom(0, 0, 1, 9),
        shift: small(3),
      })
      .map((given) => new Reorg(given)),
  ],
  [6, fc.constant({}).map((given) => new Finalize(given))],
  [1, fc.record({ seconds: fc.constantFrom(20, 90, 130, 301, 601) }).map((given) => new Wait(given))],
  [3, fc.constant({}).map((given) => new Pass(given))],
  [1, fc.constant({}).map((given) => new Restart(given))],
  [1, fc.record({ dark: fc.constantFrom(0 as const, 1, null) }).map((given) => new SwitchProvider(given))],
];

/** Largest number of acts in a run. Most failures need three or four. */
const LONGEST = 12;

export function aFewActs(replayPath: string | null): fc.Arbitrary<Iterable<fc.AsyncCommand<Reference, Run>>> {
  const arbitrary = fc.oneof(...acts.map(([weight, one]) => ({ weight, arbitrary: one })));
  return fc.commands([arbitrary], {
    maxCommands: LONGEST,
    size: 'max',
    ...(replayPath === null ? {} : { replayPath }),
  });
}
