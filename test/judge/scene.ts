import type { Dice } from '../support/dice.ts';
import type { Json } from './judge.ts';

/** Scenes for the verdicts: possible answers of a node about one transaction, true or false, mostly near misses. */

const address = (pair: string): string => `0x${pair.repeat(20)}`;
const hash = (pair: string): string => `0x${pair.repeat(32)}`;
export const topicOf = (party: string): string => `0x${party.slice(2).padStart(64, '0')}`;
export const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;

export const TOKEN = address('ac');
export const PAYER = address('1f');
export const PAYEE = address('2e');
const OTHER = address('3d');
const OTHER_TOKEN = address('ca');
export const NONCE = hash('7b');
const OTHER_NONCE = hash('7c');
export const TX = hash('c1');
const BLOCK = hash('b0');
export const CHAIN_ID = 8453;
export const HEIGHT = 1_000;
export const TIME = 1_800_000_000;

export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
const CANCELED = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81';

/** A log without its index and block, which are assigned later. */
export type Sketch = Json & { topics: string[]; data: string };

export interface Cast {
  from: string;
  to: string;
  units: bigint;
}

export const transfer = ({ from, to, units }: Cast, changes: Json = {}): Sketch => ({
  address: TOKEN,
  topics: [TRANSFER, topicOf(from), topicOf(to)],
  data: word(units),
  ...changes,
});
const authorization = (kind: string, who: string, nonce: string, changes: Json = {}): Sketch => ({
  address: TOKEN,
  topics: [kind, topicOf(who), nonce],
  data: '0x',
  ...changes,
});
export const used = (who: string, nonce: string): Sketch => authorization(USED, who, nonce);
export const canceled = (who: string, nonce: string): Sketch => authorization(CANCELED, who, nonce);

function nearUnits(dice: Dice, units: bigint): bigint {
  return dice.pick([0n, 1n, units - 1n, units, units + 1n, units / 2n, units * 3n, 2n ** 256n - 1n]);
}

const NEAR_MISSES: readonly ((dice: Dice, cast: Cast) => Sketch)[] = [
  (dice, cast) => transfer({ ...cast, units: nearUnits(dice, cast.units) }),
  (_, cast) => transfer({ ...cast, units: 0n }),
  (_, cast) => transfer({ ...cast, units: cast.units - 1n }),
  (dice, cast) => transfer({ ...cast, from: OTHER, units: nearUnits(dice, cast.units) }),
  (dice, cast) => transfer({ ...cast, from: OTHER, units: nearUnits(dice, cast.units) }),
  (dice, cast) => transfer({ ...cast, to: OTHER, units: nearUnits(dice, cast.units) }),
  (_, cast) => transfer({ ...cast, to: cast.from }),
  (dice, { from, to, units }) => transfer({ from: to, to: from, units: nearUnits(dice, units) }),
  (_, cast) => transfer(cast, { address: OTHER_TOKEN }),
  (_, { from, to, units }) => transfer({ from, to, units }, { topics: [TRANSFER, topicOf(from)] }),
  (_, cast) => transfer(cast, { topics: [...transfer(cast).topics, topicOf(cast.to)] }),
  (_, cast) => transfer(cast, { topics: [TRANSFER, dirtyTopic(cast.from), topicOf(cast.to)] }),
  (_, cast) => transfer(cast, { topics: [TRANSFER, topicOf(cast.from), dirtyTopic(cast.to)] }),
  (_, cast) => transfer(cast, { data: `${word(cast.units)}00` }),
  (_, cast) => transfer(cast, { data: `${word(cast.units)}${word(cast.units).slice(2)}` }),
  (_, cast) => transfer(cast, { data: word(cast.units).slice(0, -2) }),
  (_, cast) => transfer(cast, { data: '0x' }),
  (_, cast) => transfer(cast, { topics: [APPROVAL, topicOf(cast.from), topicOf(cast.to)] }),
  (_, cast) => transfer(cast, { topics: [], data: '0x00' }),
];

/** Returns a topic whose last 20 bytes are the address, but whose first 12 are not all zero. */
function dirtyTopic(party: string): string {
  return `0x${'0'.repeat(23)}1${party.slice(2)}`;
}

/** Authorizations in addition to the transfers: of the payer, of others, in the ledger, and logs that only look like one. */
const AUTHORIZATIONS: readonly ((cast: Cast) => Sketch)[] = [
  ({ from }) => used(from, OTHER_NONCE),
  ({ from }) => used(from, NONCE),
  () => used(OTHER, OTHER_NONCE),
  () => used(OTHER, NONCE),
  ({ from }) => canceled(from, OTHER_NONCE),
  ({ from }) => authorization(USED, from, OTHER_NONCE, { address: OTHER_TOKEN }),
  ({ from }) => authorization(USED, from, OTHER_NONCE, { data: '0x00' }),
  ({ from }) => authorization(USED, from, OTHER_NONCE, { topics: [USED, dirtyTopic(from), OTHER_NONCE] }),
  ({ from }) => authorization(USED, from, OTHER_NONCE, { topics: [USED, topicOf(from)] }),
];
/** Entries of the ledger in scenes that have one. */
export const LEDGER: readonly (readonly [string, string])[] = [
  [PAYER, NONCE],
  [OTHER, NONCE],
];

/**
 * Generates mostly few logs, sometimes up to 40. `wanted` logs keep their order among the near misses, and a group gets consecutive
 * indexes.
 */
export function drawLogs(dice: Dice, cast: Cast, wanted: readonly (Sketch | readonly Sketch[])[]): Json[] {
  const most = dice.pick([0, 1, 2, 2, 4, 4, 6, 8, 16, 40]);
  const noise = Array.from({ length: dice.number(most + 1 - Math.min(most, wanted.length)) }, () =>
    dice.pick(NEAR_MISSES)(dice, cast),
  );
  if (dice.chance(0.1)) noise.push(dice.pick(AUTHORIZATIONS)(cast));
  const places = Array.from({ length: noise.length + wanted.length }, (_, place) => place < wanted.length);
  const order = shuffled(dice, places);
  let index = dice.number(300);
  const [left, rest] = [[...wanted], [...noise]];
  return order.flatMap((isWanted) => {
    const given = isWanted ? left.shift() : rest.shift();
    index += dice.number(3);
    return [given ?? []].flat().map((sketch) => {
      index += 1;
      return withPlace(sketch, index);
    });
  });
}

function withPlace(sketch: Json, index: number): Json {
  const place = { blockNumber: quantity(HEIGHT), blockHash: BLOCK, transactionHash: TX };
  return { ...sketch, ...place, transactionIndex: '0x1', logIndex: quantity(index), removed: false };
}

export function shuffled<T>(dice: Dice, given: readonly T[]): T[] {
  const rows = [...given];
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const other = dice.number(at + 1);
    const [one, two] = [rows[at], rows[other]];
    if (one === undefined || two === undefined) continue;
    rows[at] = two;
    rows[other] = one;
  }
  return rows;
}

/** The node's answers about the transaction, before any fault. */
export interface Scene {
  chainId: string;
  latest: Json;
  finalized: Json | null;
  receipt: Json | null;
  block: Json | null;
  /** Logs of the whole block, from the node's index. */
  index: Json[];
  /** Names of the faults, for messages. */
  faults: string[];
}

export function blockOf(number: number, time: number, changes: Json = {}): Json {
  const base = { number: quantity(number), hash: hash('bb'), parentHash: hash('ba'), timestamp: quantity(time) };
  return { ...base, transactions: [hash('c0'), TX, hash('c2')], ...changes };
}

export function trueScene(logs: Json[], time: number): Scene {
  const place = { transactionHash: TX, blockNumber: quantity(HEIGHT), blockHash: BLOCK };
  const neighbour = { transactionHash: hash('c0'), logIndex: '0x0' };
  return {
    chainId: quantity(CHAIN_ID),
    latest: blockOf(HEIGHT + 40, time + 80),
    finalized: blockOf(HEIGHT + 10, time + 20),
    receipt: { ...place, status: '0x1', from: OTHER, to: TOKEN, gasUsed: '0x5208', logs },
    block: blockOf(HEIGHT, time, { hash: BLOCK }),
    index: [{ ...withPlace(transfer({ from: PAYER, to: PAYEE, units: 5n }), 0), ...neighbour }, ...logs],
    faults: [],
  };
}
