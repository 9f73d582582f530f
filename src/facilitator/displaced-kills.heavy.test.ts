/**
 * Runs a real process with settlements of many callers and kills it at random moments, while an operator sends transactions from the same
 * account. The seed is printed; set OPENAISLE_DISPLACED_SEED to repeat a run.
 */
import { randomInt } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { createDice, type Dice } from '../../test/support/dice.ts';
import { minedBy, takeEtherOut } from '../../test/support/facilitator.ts';
import { type KillRig, mustBeSettledOnce, openKillRig } from '../../test/support/facilitator-kills.ts';
import { WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { systemClock } from '../platform/clock.ts';

vi.setConfig({ testTimeout: 240_000 });

const SEED = Number(process.env['OPENAISLE_DISPLACED_SEED'] ?? randomInt(2 ** 31));
const SETTLEMENTS = 120;
const CALLERS = 24;
const KILLS = 3;
const FOREIGN = 8;
const FINALITY_BLOCKS = 6;
const { facilitator } = WORLD_ACCOUNTS;

/** Sends a foreign transaction with the account nonce of a pending one. If a block or the facilitator is faster, tries another nonce. */
async function takeNonce({ chain }: KillRig, dice: Dice): Promise<void> {
  for (;;) {
    const mined = await minedBy(chain, facilitator.address);
    const pending = Number(await chain.rpc.call('eth_getTransactionCount', [facilitator.address, 'pending']));
    if (pending > mined) {
      const isTaken = await takeEtherOut(chain, mined + dice.number(pending - mined)).then(
        () => true,
        (error: unknown) => {
          if (error instanceof RpcFailure) return false;
          throw error;
        },
      );
      if (isTaken) return;
    }
    await systemClock.sleep(10);
  }
}

test('killed at random while its account is used elsewhere, it settles each once', async () => {
  process.stdout.write(`displaced, with kills: seed ${SEED}\n`);
  const dice = createDice(SEED);
  const rig = await openKillRig({ settlements: SETTLEMENTS, finalityBlocks: FINALITY_BLOCKS });
  try {
    const before = await minedBy(rig.chain, facilitator.address);
    const all = rig.settle(SETTLEMENTS, CALLERS);
    const acts = [...Array(KILLS).fill('kill'), ...Array(FOREIGN).fill('foreign')].sort(() => dice.next() - 0.5);
    for (const [n, act] of acts.entries()) {
      const from = (n * SETTLEMENTS * 0.7) / acts.length;
      while (rig.acknowledged.size < from) await systemClock.sleep(5);
      if (act === 'kill') await rig.killAt(null);
      else await takeNonce(rig, dice);
    }
    await all;
    expect(rig.acknowledged.size).toBe(SETTLEMENTS);
    mustBeSettledOnce(rig, await rig.readChain());
    expect(await minedBy(rig.chain, facilitator.address)).toBe(before + SETTLEMENTS + FOREIGN);
  } finally {
    await rig.stop();
  }
});
