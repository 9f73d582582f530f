import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CrashPoint } from '../../src/market/context.ts';
import { rotated } from '../suite/rotation.ts';
import { createDice, type Dice } from './dice.ts';
import {
  editListing,
  type Flow,
  type KillFlow,
  registerMerchant,
  voteForListing,
  withdrawListing,
} from './kill-flows.ts';
import { buyDirectly, listByTransfer } from './kill-flows-direct.ts';
import { buyByX402, countUnspentFees, listByX402 } from './kill-flows-x402.ts';
import type { Trap, Wire } from './kill-postgres.ts';
import { type KillWorld, openKillWorld } from './kill-world.ts';
import type { Answer, Member } from './market-world.ts';

/** A row of the table: the flow and the point at which a market dies. */
type KillPoint = { name: string; flow: Flow; at: Trap | CrashPoint };

/** A kill on a connection: before the marked message is forwarded, or after it took effect but before the market learns of it. */
export const at = (wire: Wire, when: Trap['when'], mark: string): Trap => ({ wire, when, mark });

/** Number of rounds per kill point. */
const ROUNDS = Number(process.env['OPENAISLE_KILLS'] ?? 1);
/** Generous, because the machine may be busy. */
const OPENING_MS = 600_000;
const REACHED_MS = 60_000;
const POINT_MS = 180_000;

/** Defines the tests of a file: `ROUNDS` rounds in one world for each kill point that this build tests. */
export function testKillPoints(file: string, title: string, allPoints: readonly KillPoint[]): void {
  const points = rotated(file, allPoints);
  let scene: KillWorld;
  let kills = 0;
  beforeAll(async () => {
    scene = await openKillWorld();
  }, OPENING_MS);
  afterAll(() => scene?.stop());

  describe(title, () => {
    describe.each(points)('$name', ({ flow, at: point }) => {
      it.each(Array.from({ length: ROUNDS }, (_, run) => ({ run })))(
        'run $run: the client gets what it wanted, once',
        async ({ run }) => {
          const from = scene.acks.size();
          const { act, check } = await flow(scene, run);
          await scene.waitForNumbers();
          // With a crash point, `arm` first kills the running market, which counts as well; the new one may die at once.
          const before = scene.market.deaths() + Number(typeof point === 'string');
          await scene.arm(point);
          await act();
          await scene.market.died(before + 1, REACHED_MS);
          kills += 1;
          await check();
          expect(await scene.acks.broken(scene.world.db.database, from)).toEqual([]);
        },
        POINT_MS,
      );
    });

    it('after all of it everything acknowledged is true, and the auditor finds nothing', async () => {
      expect(await scene.finish()).toEqual([]);
      expect(await countUnspentFees(scene.world)).toBe(0n);
      expect(scene.market.deaths()).toBeGreaterThanOrEqual(kills);
      const told = JSON.stringify(scene.acks.counts());
      process.stdout.write(`${title}: ${kills} kills at ${points.length} points, acknowledged ${told}\n`);
      expect(kills).toBe(points.length * ROUNDS);
    });
  });
}

/** Relative frequency of each flow. */
const FLOWS: readonly (readonly [number, Flow])[] = [
  [4, buyByX402],
  [3, buyDirectly],
  [2, listByX402],
  [1, listByTransfer],
  [2, voteForListing],
  [2, editListing],
  [1, withdrawListing],
  [1, registerMerchant],
];
const CLIENTS = 8;
const MEMBERS = 24;

export interface Load {
  /** Resolves after that many more acknowledgements. Throws if a client fails or time runs out. */
  acknowledged(more: number, limitMs: number): Promise<void>;
  /** Like `acknowledged`, but counts the answers that `isSelected` accepts. */
  answered(more: number, limitMs: number, isSelected: (answer: Answer) => boolean): Promise<void>;
  /** Starts no new flow. Resolves once all clients are done; throws their errors. */
  end(): Promise<KillFlow[]>;
}

/** Starts concurrent clients that run flows one after the other, chosen by the seed. */
export async function startLoad(scene: KillWorld, seed: number): Promise<Load> {
  const members: Member[] = [];
  for (let n = 0; n < MEMBERS; n += 1) members.push(await scene.member());
  let asked = 0;
  const member = async (): Promise<Member> => {
    asked += 1;
    const taken = members[asked % MEMBERS];
    if (taken === undefined) throw new RangeError('there is no client');
    return taken;
  };
  const done: KillFlow[] = [];
  let isOn = true;
  const run = async (nth: number): Promise<void> => {
    const dice = createDice(seed + nth);
    while (isOn) {
      const errand = await pickFlow(dice)({ ...scene, member }, dice.number(4));
      await errand.act();
      done.push(errand);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, nth) => run(nth));
  // Rejects as soon as one client fails, since the awaited count might then never be reached.
  const complaint = Promise.all(clients).then(() => new Promise<never>(() => {}));
  // Avoids an unhandled rejection; `end` reports the failure.
  complaint.catch(() => {});
  const reach = async (size: () => number, more: number, limitMs: number): Promise<void> => {
    const wanted = size() + more;
    const reached = expect.poll(size, { timeout: limitMs, interval: 10 }).toBeGreaterThanOrEqual(wanted);
    await Promise.race([reached, complaint]).catch(async (error: unknown) => {
      throw new Error(`${size()} of ${wanted}; ${await scene.describeState()}`, { cause: error });
    });
  };
  return {
    acknowledged: (more, limitMs) => reach(scene.acks.size, more, limitMs),
    answered: (more, limitMs, isSelected) => reach(() => scene.answers.filter(isSelected).length, more, limitMs),
    end: async () => {
      isOn = false;
      const complaints = (await Promise.allSettled(clients)).flatMap((one) =>
        one.status === 'rejected' ? [one.reason] : [],
      );
      if (complaints.length > 0) throw new AggregateError(complaints, complaints.map(String).join('\n'));
      return done;
    },
  };
}

function pickFlow(dice: Dice): Flow {
  let left = dice.number(FLOWS.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, flow] of FLOWS) {
    left -= weight;
    if (left < 0) return flow;
  }
  throw new RangeError('no flow');
}

/** Ends the load and checks that every flow took effect once. Returns where tables contradict acknowledgements or the chain. */
export async function endLoad(scene: KillWorld, load: Load): Promise<{ faults: string[]; errands: number }> {
  const errands = await load.end();
  const faults = await scene.finish();
  for (const { check } of errands) await check();
  return { faults, errands: errands.length };
}
