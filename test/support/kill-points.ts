import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CrashPoint } from '../../src/market/context.ts';
import type { Flow } from './kill-flow.ts';
import { countUnspentFees } from './kill-flows-x402.ts';
import type { Trap, Wire } from './kill-switch.ts';
import { type KillWorld, openKillWorld } from './kill-world.ts';

/** One line of a table: where a market dies on the way of which flow. */
export type KillPoint = { name: string; flow: Flow; at: Trap | CrashPoint };

/** Where a market is killed: on a wire, before the mark is passed on or when it is done and the market was not told. */
export const at = (wire: Wire, when: Trap['when'], mark: string): Trap => ({ wire, when, mark });

/** How often each point is met. */
const ROUNDS = Number(process.env['OPENAISLE_KILLS'] ?? 1);
/** All of these are ample on an idle machine, and meant for one that is not. */
const OPENING_MS = 600_000;
const REACHED_MS = 60_000;
const POINT_MS = 180_000;

/** The tests of a file: each point of the table, some times, in one world. */
export function testKillPoints(title: string, points: readonly KillPoint[]): void {
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
          await scene.rested();
          // One that kills itself takes the place of one that is killed, and may be gone as soon as it has it.
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
