import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { submit } from '../../src/local/chain/transactions.ts';
import { reorg, settleData, usdcAdmin } from '../support/chain.ts';
import { removeListing, withdrawListing } from '../support/seed.ts';
import type { Dice } from './dice.ts';
import { type Game, isInLedger } from './players.ts';
import { FINALITY_BLOCKS } from './stage.ts';

const { stranger } = WORLD_ACCOUNTS;
/** How often each comes. */
const TROUBLES: readonly [number, (game: Game, dice: Dice) => Promise<void>][] = [
  [20, (game, dice) => game.stage.world.chain.mine(1 + dice.number(3))],
  [14, (game) => game.stage.world.chain.mine(FINALITY_BLOCKS + 2)],
  [14, reorganise],
  [22, changeFacilitator],
  [10, settleAsStranger],
  [3, cancelAsPayer],
  [10, (game, dice) => dice.pick(game.stage.markets()).running.payments.reconcileOnce()],
  [6, passTime],
  [4, (game) => game.stage.restartSecond()],
  [9, (game) => game.stage.stock()],
  [1, endListing],
];

export async function makeTrouble(game: Game, dice: Dice): Promise<void> {
  const total = TROUBLES.reduce((sum, [weight]) => sum + weight, 0);
  let left = dice.number(total);
  for (const [weight, act] of TROUBLES) {
    left -= weight;
    if (left >= 0) continue;
    await act(game, dice);
    return await game.stage.followChain();
  }
}

/** Less deep than finality, with everybody else outside: the local node shows and runs on what it is about to take back. */
async function reorganise(game: Game, dice: Dice): Promise<void> {
  const { alone, world } = game.stage;
  await alone(() => reorg(world.chain, 1 + dice.number(FINALITY_BLOCKS - 3)));
}

/** Good again more often than not, or nothing would ever be paid. */
async function changeFacilitator(game: Game, dice: Dice): Promise<void> {
  const to = game.stage.settlesAt;
  const good = dice.chance(0.6);
  const verify = good ? 'forward' : dice.pick(['forward', 'forward', 'valid', 'invalid', 'garbage'] as const);
  const settle = good
    ? 'forward'
    : dice.pick(['forward', 'forward_then_cut', 'rejected', 'garbage', 'error', 'cut', 'redirect', 'success'] as const);
  game.stage.facilitator.script({ verify, settle, to, transaction: `0x${'ab'.repeat(32)}` });
}

/** Anybody may bring a signed authorization to the chain. */
async function settleAsStranger(game: Game, dice: Dice): Promise<void> {
  const recent = game.sent.slice(-60);
  if (recent.length === 0) return;
  const { proof } = dice.pick(recent);
  if (!(await isInLedger(game, proof))) return;
  const data = settleData(proof.authorization, proof.signature);
  await submit(game.stage.world.chain, stranger, { to: USDC_ADDRESS, data });
}

async function cancelAsPayer(game: Game, dice: Dice): Promise<void> {
  const recent = game.sent.slice(-8);
  if (recent.length === 0) return;
  const { proof, player } = dice.pick(recent);
  const payer = player.wallets.find(({ address }) => address === proof.authorization.from);
  if (payer === undefined || !(await isInLedger(game, proof))) return;
  await usdcAdmin(game.stage.world.chain).cancelAuthorization(stranger, payer, proof.authorization.nonce);
}

/** Short cheques run out. */
async function passTime(game: Game, dice: Dice): Promise<void> {
  const { chain } = game.stage.world;
  await chain.rpc.call('evm_increaseTime', [5 + dice.number(25)]);
  await chain.mine(1);
}

async function endListing(game: Game, dice: Dice): Promise<void> {
  const { database } = game.stage.world.db;
  const { id } = dice.pick(game.stage.listings);
  if (dice.chance(0.5)) await withdrawListing(database, id);
  else await removeListing(database, id);
}
