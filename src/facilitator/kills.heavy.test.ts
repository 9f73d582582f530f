/**
 * A real process, a real chain and the real token: settlements of many callers at once, and SIGKILL at random moments. The seed is printed;
 * a run is played again with it: OPENAISLE_SETTLEMENT_SEED, _SETTLEMENTS and _SETTLEMENT_KILLS, here and in test/deep.
 */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { playKills } from '../../test/support/facilitator-kills.ts';

const SETTLEMENTS = Number(process.env['OPENAISLE_SETTLEMENTS'] ?? 200);
const KILLS = Number(process.env['OPENAISLE_SETTLEMENT_KILLS'] ?? 5);
const SEED = Number(process.env['OPENAISLE_SETTLEMENT_SEED'] ?? randomInt(2 ** 31));

it('killed in the middle, it neither loses a settlement nor sends two', async () => {
  process.stdout.write(`facilitator: seed ${SEED}, ${SETTLEMENTS} settlements, ${KILLS} kills\n`);
  const { acknowledged, onChain, failed, kills } = await playKills({
    settlements: SETTLEMENTS,
    kills: KILLS,
    seed: SEED,
    callers: 32,
  });
  expect([acknowledged.size, kills]).toEqual([SETTLEMENTS, KILLS]);
  expect([...onChain].filter(([, hashes]) => hashes.length !== 1)).toEqual([]);
  expect([...acknowledged].filter(([nonce, hash]) => onChain.get(nonce)?.[0] !== hash)).toEqual([]);
  expect([onChain.size, failed]).toEqual([SETTLEMENTS, []]);
});
