/** Kills a real process at each of its crash points, with settlements of many callers in flight. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { rotated } from '../../test/suite/rotation.ts';
import { type KillRig, mustBeSettledOnce, openKillRig } from '../../test/support/facilitator-kills.ts';
import type { CrashPoint } from './crash-points.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

/** Number of times that each test runs. */
const ROUNDS = Number(process.env['OPENAISLE_KILLS'] ?? 1);
/** Number of settlements in one batch. Each test settles several batches, before and after the first process is killed. */
const SETTLEMENTS = 12;
const CALLERS = 8;
/** Number of settlements after which the first process is killed. The others are in flight or not requested yet. */
const DONE_BEFORE = 2;
/** More blocks than any test mines, so that none is final: final blocks are not taken back. */
const FINALITY_BLOCKS = 400;

let rig: KillRig;
beforeAll(async () => {
  rig = await openKillRig({ settlements: 10_000, finalityBlocks: FINALITY_BLOCKS });
});
afterAll(() => rig?.stop());

const height = async (): Promise<number> => Number(await rig.chain.rpc.call('eth_blockNumber', []));
async function mustBeSettled(from: number, before: ReadonlySet<string>): Promise<void> {
  const acknowledged = new Map([...rig.acknowledged].filter(([nonce]) => !before.has(nonce)));
  mustBeSettledOnce({ acknowledged }, await rig.readChain(from));
}

/**
 * The process dies when it reaches `point` for the nth time. One write to the journal contains the lines of all settlements of the same
 * moment.
 */
const POINTS: readonly { point: CrashPoint; nth: number; what: string }[] = [
  { point: 'before_line_written', nth: 1, what: 'signed, and not written' },
  { point: 'after_line_written', nth: 1, what: 'written, and not known to be on the disk' },
  { point: 'after_line_synced', nth: 3, what: 'on the disk, and not broadcast' },
  { point: 'after_broadcast', nth: 5, what: 'broadcast, and not answered' },
  { point: 'before_order_asked', nth: 1, what: 'before the order of the account is asked for at a start' },
  { point: 'after_order_asked', nth: 1, what: 'after the order of the account was asked for at a start' },
  { point: 'before_fresh_file_named', nth: 1, what: 'a fresh journal is written, and not in its place' },
  { point: 'after_fresh_file_named', nth: 1, what: 'a fresh journal is in its place' },
];
/** Points that are reached only once a block contains the settlement. */
const IN_BLOCKS: typeof POINTS = [
  { point: 'before_ending_written', nth: 3, what: 'its receipt seen, and its end not written' },
  { point: 'after_ending_written', nth: 3, what: 'its end written, and not answered' },
];
const points = rotated(import.meta.filename, [
  ...POINTS.map((point) => ({ ...point, inBlocks: false })),
  ...IN_BLOCKS.map((point) => ({ ...point, inBlocks: true })),
]);
const rounds = Array.from({ length: ROUNDS }, () => points).flat();

/** Resolves when some settlements are done. The returned promise resolves when all are. */
async function settleSome(): Promise<{ all: Promise<void> }> {
  const before = rig.acknowledged.size;
  const all = rig.settle(SETTLEMENTS, CALLERS);
  await vi.waitUntil(() => rig.acknowledged.size >= before + DONE_BEFORE, { timeout: 60_000, interval: 2 });
  return { all };
}

it.each(rounds)('killed at $point:$nth ($what) it settles each once', async ({ point, nth, inBlocks }) => {
  const [from, before] = [(await height()) + 1, new Set<string>(rig.acknowledged.keys())];
  const { all } = await settleSome();
  const release = inBlocks ? null : await rig.holdBlocks();
  const more = rig.settle(SETTLEMENTS, CALLERS);
  await rig.killAt(`${point}:${nth}`);
  // Mine no block until the restarted process has verified several payments, so that settlements of both processes are in flight at once.
  await release?.(CALLERS);
  await Promise.all([all, more]);
  await mustBeSettled(from, before);
});

/**
 * Takes back acknowledged settlements by a reorganisation, after the new process has settled payments or right after its start. They must
 * be mined again without a request, because no client asks any more.
 */
async function takeBack(point: CrashPoint, hasSettled: boolean): Promise<void> {
  const snapshot = await rig.chain.rpc.call('evm_snapshot', []);
  const [from, before] = [(await height()) + 1, new Set<string>(rig.acknowledged.keys())];
  const revert = async (): Promise<void> => void (await rig.chain.rpc.call('evm_revert', [snapshot]));
  const settle = (): Promise<void> => rig.settle(SETTLEMENTS, CALLERS);
  await settle();
  let later = Promise.resolve();
  await rig.killAt(point, async () => {
    if (hasSettled) await settle();
    await revert();
    later = settle();
  });
  await later;
  const missing = async (): Promise<string[]> => {
    const { onChain } = await rig.readChain(from);
    return [...rig.acknowledged.keys()].filter((nonce) => !before.has(nonce) && !onChain.has(nonce));
  };
  await expect.poll(missing, { timeout: 60_000, interval: 100 }).toEqual([]);
  await mustBeSettled(from, before);
}

it.each([
  ['before_reopening_written', false],
  ['after_reopening_written', true],
] as const)('killed at %s, as a reorganisation took settlements back, it sends the same again', takeBack);

it('after all of it each authorization of any process has one transaction', async () => {
  mustBeSettledOnce(rig, await rig.readChain());
});
