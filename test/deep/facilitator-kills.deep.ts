/** src/facilitator/kills.heavy.test.ts with many more settlements and kills: what is said there on its numbers holds here as well. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { playKills } from '../support/facilitator-kills.ts';

const SETTLEMENTS = Number(process.env['OPENAISLE_SETTLEMENTS'] ?? 2_000);
const KILLS = Number(process.env['OPENAISLE_SETTLEMENT_KILLS'] ?? 50);
const SEED = Number(process.env['OPENAISLE_SETTLEMENT_SEED'] ?? randomInt(2 ** 31));

it('killed again and again, it neither loses a settlement nor sends two', async () => {
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
