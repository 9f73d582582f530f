import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFunctionData } from 'viem';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type TestAccount, testAccount, usdcWriteAbi, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { deployUsdc } from '../../src/local/chain/deploy-usdc.ts';
import { type LocalChain, startChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { createDice, type Dice } from './dice.ts';
import {
  type FacilitatorProcess,
  facilitatorEnvironment,
  paymentBody,
  post,
  runFacilitatorUntilKilled,
  type SignedPayment,
  signPayment,
  startFacilitatorProcess,
} from './facilitator.ts';

/** An account's settlements on the chain. */
interface OnChain {
  /** Hashes of the account's mined transactions for each authorization, including failed ones. */
  onChain: ReadonlyMap<Hex, readonly Hex[]>;
  failed: readonly Hex[];
}

/** A facilitator that is killed and restarted, a chain that keeps mining, and callers who retry until their payment is settled. */
export interface KillRig {
  chain: LocalChain;
  /** Transaction hashes in successful answers, by the nonce of the authorization. */
  acknowledged: ReadonlyMap<Hex, Hex>;
  /** Makes `count` settlements with that many callers. Resolves once all are acknowledged. */
  settle(count: number, callers: number): Promise<void>;
  /**
   * Stops mining, so that broadcast transactions stay unmined. The returned function resumes mining once the running process has verified
   * that many payments.
   */
  holdBlocks(): Promise<(verified: number) => Promise<void>>;
  /** Kills the process and starts another. If `point` is given, a process that kills itself at this crash point runs in between. */
  killAt(point: string | null, meanwhile?: () => Promise<void>): Promise<void>;
  readChain(fromBlock?: number): Promise<OnChain>;
  stop(): Promise<void>;
}

const PAYERS = 48;
/** Fast enough for a short test, slow enough that every kill hits transactions in flight. */
const BLOCK_MS = 250;
const LIFE_SECONDS = 3_600;

const minedTransaction = z.object({
  hash: z.string(),
  from: z.string(),
  to: z.string().nullable(),
  input: z.string(),
});
const fullBlock = z.object({ transactions: z.array(minedTransaction) });

export async function openKillRig(options: { settlements: number; finalityBlocks: number }): Promise<KillRig> {
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-kills-'));
  const chain = await startChain({ finalityBlocks: options.finalityBlocks });
  const beat = createMiner(chain);
  const acknowledged = new Map<Hex, Hex>();
  const payers = Array.from({ length: PAYERS }, (_, n) => testAccount(`payer among kills ${n}`));
  const { facilitator } = WORLD_ACCOUNTS;
  const drop = async (): Promise<void> => {
    await beat.stop();
    await chain.kill();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await deployUsdc(chain);
    const purses = payers.map(({ address }) => ({ address, usdcUnits: BigInt(options.settlements) * 1_000_000n }));
    await fund(chain, [{ address: facilitator.address, wei: 10_000n * 10n ** 18n }, ...purses]);
    const env = await facilitatorEnvironment(chain, dataDir);
    await chain.rpc.call('evm_setAutomine', [false]);
    beat.start();
    let serving = await startFacilitatorProcess(env);
    return {
      chain,
      acknowledged,
      settle: async (count, callers) => {
        const payments = await signAll(chain, payers, count);
        // Every restarted process listens on the same port, so `serving.url` stays valid.
        await Promise.all(Array.from({ length: callers }, () => settlePayments(serving, payments, acknowledged)));
      },
      holdBlocks: async () => {
        await beat.stop();
        return async (verified) => {
          await serving.loggedTimes('verified', verified);
          beat.start();
        };
      },
      killAt: async (point, meanwhile = async () => {}) => {
        await serving.end('SIGKILL');
        if (point !== null) await runFacilitatorUntilKilled({ ...env, OPENAISLE_TEST_CRASH_AT: point }, meanwhile);
        serving = await startFacilitatorProcess(env);
      },
      readChain: (fromBlock = 0) => readChain(chain, facilitator.address, fromBlock),
      stop: () => endAndDrop(serving, drop),
    };
  } catch (error) {
    await drop();
    throw error;
  }
}

/** Mines blocks from this process instead of anvil, so that mining can be paused. */
function createMiner(chain: LocalChain) {
  let stopping = new AbortController();
  let running = Promise.resolve();
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await chain.mine();
      await systemClock.sleep(BLOCK_MS, signal);
    }
  };
  return {
    start: (): void => {
      stopping = new AbortController();
      running = run(stopping.signal);
    },
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
    },
  };
}

async function endAndDrop(serving: FacilitatorProcess, drop: () => Promise<void>): Promise<void> {
  try {
    await serving.end('SIGTERM');
  } finally {
    await drop();
  }
}

async function signAll(chain: LocalChain, payers: readonly TestAccount[], count: number): Promise<SignedPayment[]> {
  const validBefore = BigInt(Math.floor(systemClock.now() / 1000) + LIFE_SECONDS);
  const all: SignedPayment[] = [];
  for (let n = 0; n < count; n += 1) {
    all.push(await signPayment(chain, { payer: payers[n % payers.length] as TestAccount, validBefore }));
  }
  return all.reverse();
}

/** Settles payments one after the other, repeating each until it is acknowledged, across restarts of the process. */
async function settlePayments(
  { url }: FacilitatorProcess,
  payments: SignedPayment[],
  acknowledged: Map<Hex, Hex>,
): Promise<void> {
  for (let payment = payments.pop(); payment !== undefined; payment = payments.pop()) {
    const { nonce } = payment.authorization;
    const body = paymentBody(payment);
    while (!acknowledged.has(nonce)) {
      const answer = await post(`${url}/verify`, body)
        .then(() => post(`${url}/settle`, body))
        .catch(() => null);
      if (answer?.body['success'] === true) acknowledged.set(nonce, answer.body['transaction'] as Hex);
      // The process is down or starting, so the port refuses at once.
      else await systemClock.sleep(answer === null ? 20 : 5);
    }
  }
}

/** Reads all transactions of all blocks rather than the token's logs, so failed ones count too. */
async function readChain(chain: LocalChain, sender: Hex, fromBlock: number): Promise<OnChain> {
  const latest = Number(await chain.rpc.call('eth_blockNumber', []));
  const onChain = new Map<Hex, Hex[]>();
  const failed: Hex[] = [];
  for (let number = fromBlock; number <= latest; number += 1) {
    const block = fullBlock.parse(await chain.rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]));
    for (const { hash, from, to, input } of block.transactions) {
      if (from.toLowerCase() !== sender || isTakenOut(to, input)) continue;
      const { functionName, args } = decodeFunctionData({ abi: usdcWriteAbi, data: input as Hex });
      if (functionName !== 'transferWithAuthorization') throw new Error(`the account has sent ${functionName}`);
      const nonce = args[5];
      onChain.set(nonce, [...(onChain.get(nonce) ?? []), hash as Hex]);
      const receipt = (await chain.rpc.call('eth_getTransactionReceipt', [hash])) as { status: string };
      if (receipt.status !== '0x1') failed.push(hash as Hex);
    }
  }
  return { onChain, failed };
}

/** Whether `takeEtherOut` sent this transaction, which took ether out of the account and settled nothing. */
function isTakenOut(to: string | null, input: string): boolean {
  return input === '0x' && to?.toLowerCase() === WORLD_ACCOUNTS.stranger.address;
}

/** Parameters of a run. The seed replays it, as far as timing allows. */
interface KillsGame {
  settlements: number;
  kills: number;
  seed: number;
}

const CALLERS = 32;
const FINALITY_BLOCKS = 6;
const MAX_MS_AFTER = 300;

/** Defines the test of a file: settlements with kills at random moments. The environment may override the numbers. Prints the seed. */
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
      await killRepeatedly(rig, createDice(seed), game);
      await all;
      expect(rig.acknowledged.size).toBe(settlements);
      mustBeSettledOnce(rig, await rig.readChain());
    } finally {
      await rig.stop();
    }
  });
}

/** Kills after some answers and a random delay, and starts the next process in the same folder. */
async function killRepeatedly(rig: KillRig, dice: Dice, { settlements, kills }: KillsGame): Promise<void> {
  const spacing = settlements / (kills + 1);
  for (let kill = 1; kill <= kills; kill += 1) {
    const from = Math.floor(kill * spacing - dice.next() * spacing);
    const afterMs = dice.number(MAX_MS_AFTER);
    while (rig.acknowledged.size < from) await systemClock.sleep(5);
    await systemClock.sleep(afterMs);
    await rig.killAt(null);
  }
}

/** Checks that each authorization has one transaction on the chain, the acknowledged one, and that no transaction failed. */
export function mustBeSettledOnce({ acknowledged }: Pick<KillRig, 'acknowledged'>, { onChain, failed }: OnChain): void {
  expect([...onChain].filter(([, hashes]) => hashes.length !== 1)).toEqual([]);
  expect([...acknowledged].filter(([nonce, hash]) => onChain.get(nonce)?.[0] !== hash)).toEqual([]);
  expect([onChain.size, failed]).toEqual([acknowledged.size, []]);
}
