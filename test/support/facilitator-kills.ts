import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createDice, type Dice } from '../stress/dice.ts';
import { type KillRig, type OnChain, openKillRig } from './facilitator-kill-rig.ts';

/** What a run is: it is played again by its seed, as far as the machine lets it. */
interface KillsGame {
  settlements: number;
  kills: number;
  seed: number;
}

const CALLERS = 32;
const FINALITY_BLOCKS = 6;
const MOST_MS_AFTER = 300;

/** The test of a file: so many settlements and kills at random moments, unless the environment says otherwise. The seed is printed. */
export function testRandomKills(name: string, usual: Omit<KillsGame, 'seed'>): void {
  const numberOf = (variable: string, otherwise: number): number => Number(process.env[variable] ?? otherwise);
  const game = {
    settlements: numberOf('OPENAISLE_SETTLEMENTS', usual.settlements),
    kills: numberOf('OPENAISLE_SETTLEMENT_KILLS', usual.kills),
    seed: numberOf('OPENAISLE_SETTLEMENT_SEED', randomInt(2 ** 31)),
  };
  it(name, async () => {
    const { settlements, kills, seed } = game;
    process.stdout.write(`facilitator: seed ${seed}, ${settlements} settlements, ${kills} kills\n`);
    const rig = await openKillRig({ settlements, finalityBlocks: FINALITY_BLOCKS });
    try {
      const all = rig.settle(settlements, CALLERS);
      await killThem(rig, createDice(seed), game);
      await all;
      expect(rig.acknowledged.size).toBe(settlements);
      mustBeSettledOnce(rig, await rig.readChain());
    } finally {
      await rig.stop();
    }
  });
}

/** Kills after so many answers and a moment more, and starts the next process in the same folder. */
async function killThem(rig: KillRig, dice: Dice, { settlements, kills }: KillsGame): Promise<void> {
  const spacing = settlements / (kills + 1);
  for (let kill = 1; kill <= kills; kill += 1) {
    const from = Math.floor(kill * spacing - dice.next() * spacing);
    const afterMs = dice.number(MOST_MS_AFTER);
    while (rig.acknowledged.size < from) await systemClock.sleep(5);
    await systemClock.sleep(afterMs);
    await rig.killAt(null);
  }
}

/** Each authorization has one transaction on the chain, the one that was acknowledged; none was sent in vain. */
export function mustBeSettledOnce({ acknowledged }: Pick<KillRig, 'acknowledged'>, { onChain, failed }: OnChain): void {
  expect([...onChain].filter(([, hashes]) => hashes.length !== 1)).toEqual([]);
  expect([...acknowledged].filter(([nonce, hash]) => onChain.get(nonce)?.[0] !== hash)).toEqual([]);
  expect([onChain.size, failed]).toEqual([acknowledged.size, []]);
}
