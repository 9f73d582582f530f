import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFunctionData } from 'viem';
import { z } from 'zod';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { deployUsdc } from '../../src/local/chain/deploy-usdc.ts';
import { fund } from '../../src/local/chain/fund.ts';
import { type LocalChain, startChain } from '../../src/local/chain/start-chain.ts';
import { usdcWriteAbi } from '../../src/local/chain/usdc-contract.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { createDice, type Dice } from '../stress/dice.ts';
import { paymentBody, post, type SignedPayment, signPayment } from './facilitator.ts';
import { type FacilitatorProcess, facilitatorEnvironment, startFacilitatorProcess } from './facilitator-process.ts';

/** What a run is: it is played again by its seed, as far as the machine lets it. */
export interface KillsGame {
  settlements: number;
  kills: number;
  seed: number;
  callers: number;
}

export interface KillsOutcome {
  /** The answers that said it is done, by the authorization's nonce. */
  acknowledged: ReadonlyMap<Hex, Hex>;
  /** Hashes of the account's transactions in blocks for each authorization, failed ones too. */
  onChain: ReadonlyMap<Hex, readonly Hex[]>;
  failed: readonly Hex[];
  kills: number;
}

const PAYERS = 48;
/** Blocks come fast enough for a short test, and slowly enough that every kill meets transactions in flight. */
const BLOCK_SECONDS = 0.25;
const LIFE_SECONDS = 3_600;
const MOST_MS_AFTER = 300;

const minedTransaction = z.object({ hash: z.string(), from: z.string(), input: z.string() });
const fullBlock = z.object({ transactions: z.array(minedTransaction) });

/** Settlements asked for by many callers, of one process after another that is killed in the middle; then what the chain says. */
export async function playKills(game: KillsGame): Promise<KillsOutcome> {
  const dice = createDice(game.seed);
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-kills-'));
  const chain = await startChain({ blockTimeSeconds: BLOCK_SECONDS, finalityBlocks: 6 });
  try {
    await deployUsdc(chain);
    const payers = Array.from({ length: PAYERS }, (_, n) => testAccount(`payer among kills ${n}`));
    const { facilitator } = WORLD_ACCOUNTS;
    const purses = payers.map(({ address }) => ({ address, usdcUnits: BigInt(game.settlements) * 1_000_000n }));
    await fund(chain, [{ address: facilitator.address, wei: 10_000n * 10n ** 18n }, ...purses]);
    const payments = await signAll(chain, payers, game.settlements);
    const env = await facilitatorEnvironment(chain, dataDir);
    const acknowledged = new Map<Hex, Hex>();
    const state = { process: await startFacilitatorProcess(env) };
    const callers = Array.from({ length: game.callers }, () => call(state, payments, acknowledged));
    const all = Promise.all(callers);
    const kills = await killThem(state, { env, dice, game, acknowledged });
    await all;
    await state.process.end('SIGTERM');
    return { acknowledged, kills, ...(await readChain(chain, facilitator.address)) };
  } finally {
    await chain.kill();
    await rm(dataDir, { recursive: true, force: true });
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

/** Takes one payment after the other, and asks for it until it is said to be done, whatever happens to the process meanwhile. */
async function call(
  state: { process: FacilitatorProcess },
  payments: SignedPayment[],
  acknowledged: Map<Hex, Hex>,
): Promise<void> {
  for (let payment = payments.pop(); payment !== undefined; payment = payments.pop()) {
    const { nonce } = payment.authorization;
    const body = paymentBody(payment);
    while (!acknowledged.has(nonce)) {
      const { url } = state.process;
      const answer = await post(`${url}/verify`, body)
        .then(() => post(`${url}/settle`, body))
        .catch(() => null);
      if (answer?.body['success'] === true) acknowledged.set(nonce, answer.body['transaction'] as Hex);
      // The process is gone, or starts: its port is closed, and a refusal comes at once.
      else await systemClock.sleep(answer === null ? 20 : 5);
    }
  }
}

/** Kills after so many answers and a moment more, and starts the next process in the same folder. */
async function killThem(
  state: { process: FacilitatorProcess },
  given: { env: Record<string, string>; dice: Dice; game: KillsGame; acknowledged: ReadonlyMap<Hex, Hex> },
): Promise<number> {
  const { env, dice, game, acknowledged } = given;
  const spacing = game.settlements / (game.kills + 1);
  for (let kill = 1; kill <= game.kills; kill += 1) {
    const from = Math.floor(kill * spacing - dice.next() * spacing);
    const afterMs = dice.number(MOST_MS_AFTER);
    while (acknowledged.size < from) await systemClock.sleep(5);
    await systemClock.sleep(afterMs);
    await state.process.end('SIGKILL');
    state.process = await startFacilitatorProcess(env);
  }
  return game.kills;
}

/** All blocks, transaction by transaction: it does not go by what the token logs, so that one that failed counts as well. */
async function readChain(chain: LocalChain, sender: Hex): Promise<Pick<KillsOutcome, 'onChain' | 'failed'>> {
  const latest = Number(await chain.rpc.call('eth_blockNumber', []));
  const onChain = new Map<Hex, Hex[]>();
  const failed: Hex[] = [];
  for (let number = 0; number <= latest; number += 1) {
    const block = fullBlock.parse(await chain.rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]));
    for (const { hash, from, input } of block.transactions) {
      if (from.toLowerCase() !== sender) continue;
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
