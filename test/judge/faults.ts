import type { Dice } from '../support/dice.ts';
import type { Json } from './judge.ts';
import { blockOf, HEIGHT, quantity, type Scene, shuffled, TX } from './scene.ts';

const WRONG_HASH = `0x${'e5'.repeat(32)}`;

type Fault = (dice: Dice, scene: Scene) => Partial<Scene>;

/** Changes one random log of the receipt, if it has any. */
function changeOneLog(dice: Dice, logs: readonly Json[], change: (log: Json) => Json[]): Json[] {
  const at = dice.number(Math.max(logs.length, 1));
  return logs.flatMap((log, place) => (place === at ? change(log) : [log]));
}
const receiptLogs = ({ receipt }: Scene): Json[] => (Array.isArray(receipt?.['logs']) ? receipt['logs'] : []);
const withReceipt = ({ receipt }: Scene, changes: Json): Partial<Scene> => ({
  receipt: receipt && { ...receipt, ...changes },
});
const withBlock = ({ block }: Scene, changes: Json): Partial<Scene> => ({ block: block && { ...block, ...changes } });
const head = (number: number, { block }: Scene, hash?: unknown): Partial<Scene> => ({
  finalized: {
    ...blockOf(number, Number(block?.['timestamp']) + number - HEIGHT),
    ...(hash === undefined ? {} : { hash }),
  },
});

const FAULTS: Readonly<Record<string, Fault>> = {
  'wrong chain': (dice) => ({ chainId: dice.pick(['0x1', '0x2104', '0x14a34']) }),
  'no finalized head': () => ({ finalized: null }),
  'head just below': (_, scene) => head(HEIGHT - 1, scene),
  'head far below': (_, scene) => head(HEIGHT - 300, scene),
  'head at the block': (_, scene) => head(HEIGHT, scene, scene.block?.['hash']),
  'head at the block, another hash': (_, scene) => head(HEIGHT, scene),
  'head just above': (_, scene) => head(HEIGHT + 1, scene),
  'no receipt': () => ({ receipt: null }),
  'receipt without a block': (dice, scene) =>
    withReceipt(scene, { blockHash: dice.pick([null, `0x${'00'.repeat(32)}`]) }),
  'receipt of another transaction': (_, scene) => withReceipt(scene, { transactionHash: WRONG_HASH }),
  'receipt of another block': (_, scene) => withReceipt(scene, { blockHash: WRONG_HASH }),
  'receipt at another height': (dice, scene) =>
    withReceipt(scene, { blockNumber: quantity(HEIGHT + dice.pick([-1, 1])) }),
  'status out of form': (dice, scene) => withReceipt(scene, { status: dice.pick(['0x2', null, '0x', '0x01']) }),
  reverted: (_, scene) => withReceipt(scene, { status: '0x0' }),
  'reverted without logs': (_, scene) => ({
    ...withReceipt(scene, { status: '0x0', logs: [] }),
    index: scene.index.filter((log) => log['transactionHash'] !== TX),
  }),
  'reverted, its logs in the index alone': (_, scene) => withReceipt(scene, { status: '0x0', logs: [] }),
  'no block': () => ({ block: null }),
  'another block': (_, scene) => withBlock(scene, { hash: WRONG_HASH }),
  'block of another height': (_, scene) => withBlock(scene, { number: quantity(HEIGHT + 1) }),
  'block without the transaction': (_, scene) => withBlock(scene, { transactions: [WRONG_HASH] }),
  'empty block': (_, scene) => withBlock(scene, { transactions: [] }),
  'log removed': (dice, scene) => {
    const logs = changeOneLog(dice, receiptLogs(scene), (log) => [{ ...log, removed: true }]);
    return withReceipt(scene, { logs });
  },
  'all logs removed': (_, scene) => {
    const gone = (log: Json): Json => ({ ...log, removed: true });
    return { ...withReceipt(scene, { logs: receiptLogs(scene).map(gone) }), index: scene.index.map(gone) };
  },
  'log of another block': (dice, scene) => {
    const logs = changeOneLog(dice, receiptLogs(scene), (log) => [{ ...log, blockHash: WRONG_HASH }]);
    return withReceipt(scene, { logs });
  },
  'log of another transaction': (dice, scene) => {
    const logs = changeOneLog(dice, receiptLogs(scene), (log) => [{ ...log, transactionHash: WRONG_HASH }]);
    return withReceipt(scene, { logs });
  },
  'two logs in one place': (dice, scene) =>
    withReceipt(scene, { logs: changeOneLog(dice, receiptLogs(scene), (log) => [log, log]) }),
  'receipt lacks a log': (dice, scene) =>
    withReceipt(scene, { logs: changeOneLog(dice, receiptLogs(scene), () => []) }),
  'index lacks a log': (dice, scene) => ({ index: changeOneLog(dice, scene.index, () => []) }),
  'index is empty': () => ({ index: [] }),
  'index has one more': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [log, { ...log, transactionHash: TX, logIndex: '0x3e8' }]),
  }),
  'index has another value': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [{ ...log, data: `0x${'0'.repeat(63)}9` }]),
  }),
  'index has another sender': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => {
      const [kind, from, ...rest] = Array.isArray(log['topics']) ? log['topics'] : [];
      return [from === undefined ? log : { ...log, topics: [kind, `0x${'0'.repeat(24)}${'4c'.repeat(20)}`, ...rest] }];
    }),
  }),
  'index has another place': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [{ ...log, logIndex: '0x3e9' }]),
  }),
  'index says removed': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [{ ...log, removed: true }]),
  }),
  'index is of another block': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [{ ...log, blockHash: WRONG_HASH }]),
  }),
  'index gives it to another transaction': (dice, scene) => ({
    index: changeOneLog(dice, scene.index, (log) => [{ ...log, transactionHash: `0x${'c2'.repeat(32)}` }]),
  }),
};

/** Faults that do not change the meaning: order, letter case, leading zeros. */
const HARMLESS: Readonly<Record<string, Fault>> = {
  'receipt in another order': (dice, scene) => withReceipt(scene, { logs: shuffled(dice, receiptLogs(scene)) }),
  'index in another order': (dice, scene) => ({ index: shuffled(dice, scene.index) }),
  'receipt in capitals': (_, scene) =>
    withReceipt(scene, { ...upperCased(scene.receipt), status: scene.receipt?.['status'] }),
  'index in capitals': (_, scene) => ({ index: scene.index.map(upperCased) }),
  'block in capitals': (_, scene) => ({ block: scene.block && upperCased(scene.block) }),
  'head in capitals': (_, scene) => ({ finalized: scene.finalized && upperCased(scene.finalized) }),
  'removed left out': (_, scene) =>
    withReceipt(scene, { logs: receiptLogs(scene).map(({ removed: _gone, ...log }) => log) }),
};

function upperCased(given: Json | null): Json {
  return Object.fromEntries(Object.entries(given ?? {}).map(([key, value]) => [key, upperCasedValue(value)]));
}

function upperCasedValue(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('0x') ? `0x${value.slice(2).toUpperCase()}` : value;
  if (Array.isArray(value)) return value.map(upperCasedValue);
  return typeof value === 'object' && value !== null ? upperCased({ ...value }) : value;
}

const FAULT_NAMES = Object.keys(FAULTS);
const HARMLESS_NAMES = Object.keys(HARMLESS);

/** Puts one fault into two fifths of the scenes, a second one into some of these, and a harmless change into a quarter of all. */
export function addFaults(dice: Dice, scene: Scene): Scene {
  const names = dice.chance(0.4) ? [dice.pick(FAULT_NAMES)] : [];
  if (names.length > 0 && dice.chance(0.15)) names.push(dice.pick(FAULT_NAMES));
  if (dice.chance(0.25)) names.push(dice.pick(HARMLESS_NAMES));
  let spoiled: Scene = { ...scene, faults: names };
  for (const name of names) {
    const change = (FAULTS[name] ?? HARMLESS[name])?.(dice, spoiled);
    spoiled = Object.assign(spoiled, change);
  }
  return spoiled;
}
