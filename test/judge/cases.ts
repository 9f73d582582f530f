import type { Dice } from '../support/dice.ts';
import { addFaults } from './faults.ts';
import type { AttemptRules, ClaimRules, Json, Rules } from './judge.ts';
import {
  blockOf,
  type Cast,
  CHAIN_ID,
  canceled,
  drawLogs,
  HEIGHT,
  LEDGER,
  NONCE,
  PAYEE,
  PAYER,
  type Scene,
  type Sketch,
  TIME,
  TOKEN,
  transfer,
  trueScene,
  used,
} from './scene.ts';

export interface Case<Asked extends Rules> {
  scene: Scene;
  rules: Asked;
}

const WINDOW_SECONDS = 600;

const drawUnits = (dice: Dice): bigint => dice.pick([1n, 2n, 3n, 1_000_000n, 2_500_000n, 10_000_000_000n]);

function drawRules(dice: Dice, units: bigint, time: number): Rules {
  const near = time * 1000 + dice.pick([-1, 0, 1, -999, 999, 1000, -1000, -86_400_000, 86_400_000]);
  return {
    chainId: CHAIN_ID,
    token: TOKEN,
    payer: PAYER,
    payee: PAYEE,
    units,
    removedAt: dice.chance(0.3) ? near : null,
  };
}

/** Generates a payment: complete, in parts, too little, too much, or none. */
function drawPaid(dice: Dice, cast: Cast) {
  const { units } = cast;
  const way = dice.number(10);
  if (way < 5) return [transfer(cast)];
  if (way === 5) return [transfer({ ...cast, units: units - units / 2n }), transfer({ ...cast, units: units / 2n })];
  if (way === 6) return [transfer({ ...cast, units: units + 7n }), transfer(cast)];
  if (way === 7) return [transfer({ ...cast, units: units - 1n })];
  return [];
}

export function drawClaim(dice: Dice): Case<ClaimRules> {
  const units = drawUnits(dice);
  const cast = { from: PAYER, to: PAYEE, units };
  const place = dice.chance(0.25) ? dice.pick([-1, 0, 1, 599, 600, 601]) : 1 + dice.number(WINDOW_SECONDS - 1);
  const [from, until] = [TIME - place, TIME - place + WINDOW_SECONDS];
  const scene = addFaults(dice, trueScene(drawLogs(dice, cast, drawPaid(dice, cast)), TIME));
  // Without a receipt, the head's time decides.
  const late = until + dice.pick([-1, 0, 1, -WINDOW_SECONDS, WINDOW_SECONDS]);
  const isMissing = scene.receipt === null || scene.faults.includes('receipt without a block');
  const finalized = scene.finalized && isMissing ? blockOf(HEIGHT + 10, late) : scene.finalized;
  const ledger = dice.chance(0.5) ? LEDGER : [];
  const rules = { ...drawRules(dice, units, TIME), from, until, owned: dice.chance(0.1), ledger };
  return { scene: { ...scene, finalized }, rules };
}

export interface AttemptCase extends Case<AttemptRules> {
  /** The log in the node's index that shows the use of the authorization's nonce. Null if there is none. */
  use: Json | null;
  nonceUsed: boolean | null;
}

/**
 * Generates the use of an authorization and its transfer, mostly with consecutive log indexes as the token emits them. More transfers may
 * follow.
 */
function drawUse(dice: Dice, cast: Cast, mark: Sketch): (Sketch | Sketch[])[] {
  const paid = drawPaid(dice, cast);
  const way = dice.number(10);
  if (way === 0) return [...paid, mark];
  if (way === 1) return [mark, ...paid];
  if (way === 2) return [[mark, transfer({ ...cast, to: cast.from, units: 0n })], ...paid];
  const [first, ...rest] = paid;
  return first === undefined ? [mark] : [[mark, first], ...rest];
}

export function drawAttempt(dice: Dice): AttemptCase {
  const units = drawUnits(dice);
  const cast = { from: PAYER, to: PAYEE, units };
  const validBefore = TIME + dice.pick([-1, 0, 1, 20, 60, 600]);
  const mark = dice.chance(0.15) ? canceled(PAYER, NONCE) : used(PAYER, NONCE);
  const logs = drawLogs(dice, cast, drawUse(dice, cast, mark));
  const isMark = (log: Json): boolean =>
    Array.isArray(log['topics']) && log['topics'][2] === NONCE && log['data'] === '0x';
  const scene = addFaults(dice, trueScene(logs, TIME));
  const absent = dice.chance(0.2);
  const found = absent ? undefined : (scene.index.find(isMark) ?? (dice.chance(0.2) ? logs.find(isMark) : undefined));
  const use = found ?? null;
  const edge = validBefore + dice.pick([-1, 0, 1, -60, 60]);
  const heads =
    use === null
      ? {
          latest: blockOf(HEIGHT + 40, edge + dice.pick([0, 1, 2, 60, 600])),
          finalized: scene.finalized && blockOf(HEIGHT + 10, edge),
        }
      : {};
  const rules = {
    ...drawRules(dice, units, TIME),
    nonce: NONCE,
    validBefore,
    openedBlock: HEIGHT + dice.pick([-10, -10, -10, -1, -1, 0, 1]),
    submitted: dice.chance(0.6),
    stopped: dice.chance(0.15),
  };
  return { scene: { ...scene, ...heads }, rules, use, nonceUsed: dice.pick([false, false, false, true, null]) };
}

export function drawRefund(dice: Dice): Case<Rules & { afterBlock: number }> {
  const units = drawUnits(dice);
  const cast = { from: PAYEE, to: PAYER, units };
  const scene = addFaults(dice, trueScene(drawLogs(dice, cast, drawPaid(dice, cast)), TIME));
  const afterBlock = HEIGHT + dice.pick([-1, -1, -10, -10, 0, 1]);
  return { scene, rules: { ...drawRules(dice, units, TIME), afterBlock } };
}
