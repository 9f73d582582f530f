import { encodeFunctionData } from 'viem';
import { type Receipt, readBlock, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import { callAll, type RpcCall } from '../../platform/chain/rpc.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import { systemClock } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import type { FindTransfer, TransferWallet } from '../../sdk/payments/direct/transfer-options.ts';
import { type TestAccount, USDC_ADDRESS, USDC_ROLES, usdcWriteAbi } from './accounts.ts';
import type { LocalChain } from './start-chain.ts';

export interface Funding {
  address: Hex;
  usdcUnits?: bigint;
  /** New ether balance in wei. USDC, by contrast, is added to the balance. */
  wei?: bigint;
}

/** anvil stops mining if some thousand transactions are pending. */
const AT_ONCE = 100;

/** Gives out test money. Resolves when all of it has arrived. */
export async function fund(chain: LocalChain, fundings: readonly Funding[]): Promise<void> {
  for (let at = 0; at < fundings.length; at += AT_ONCE) await fundBatch(chain, fundings.slice(at, at + AT_ONCE));
}

async function fundBatch(chain: LocalChain, fundings: readonly Funding[]): Promise<void> {
  const balances = fundings.flatMap(({ address, wei }) => (wei === undefined ? [] : [balanceCall(address, wei)]));
  await callAll(chain.rpc, balances);
  const mints: Hex[] = [];
  for (const { address, usdcUnits } of fundings) {
    if (usdcUnits === undefined || usdcUnits === 0n) continue;
    const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'mint', args: [address, usdcUnits] });
    mints.push(await submit(chain, USDC_ROLES.minter, { to: USDC_ADDRESS, data }));
  }
  if (mints.length > 0 && !chain.automine) await chain.mine();
  for (const hash of mints) {
    const { status } = await waitForReceipt(chain, hash);
    if (status !== 'success') throw new Error(`minting test USDC reverted (${hash})`);
  }
}

export function balanceCall(address: Hex, wei: bigint): RpcCall {
  return { method: 'anvil_setBalance', params: [address, `0x${wei.toString(16)}`] };
}

export interface Call {
  to?: Hex;
  data?: Hex;
  value?: bigint;
}

const GAS = 1_000_000n;
const FEE_LIMIT = 100_000_000_000n;
const TIP = 1_000_000_000n;
const MINED_WITHIN_MS = 30_000;
const POLL_MS = 5;

/** Last transaction of each sender, because two concurrent ones would use the same nonce. */
const queues = new WeakMap<LocalChain, Map<Hex, Promise<unknown>>>();

/** Signs and sends a transaction. Resolves with the hash once the node has accepted it. Sends one at a time per sender. */
export async function submit(chain: LocalChain, from: TestAccount, call: Call, gas = GAS): Promise<Hex> {
  const queue = queues.get(chain) ?? new Map<Hex, Promise<unknown>>();
  queues.set(chain, queue);
  const turn = (queue.get(from.address) ?? Promise.resolve()).then(() => submitNow(chain, from, call, gas));
  queue.set(
    from.address,
    turn.catch(() => undefined),
  );
  return turn;
}

/** Sends a transaction and waits for its block. Also resolves if it reverted, so check the status. */
export async function send(chain: LocalChain, from: TestAccount, call: Call, gas = GAS): Promise<Receipt> {
  return waitForReceipt(chain, await submit(chain, from, call, gas));
}

export async function waitForReceipt(chain: LocalChain, hash: Hex): Promise<Receipt> {
  for (let waited = 0; waited < MINED_WITHIN_MS; waited += POLL_MS) {
    const receipt = await readReceipt(chain.rpc, hash);
    if (receipt !== null) return receipt;
    await systemClock.sleep(POLL_MS);
  }
  throw new Error(`transaction ${hash} is in no block after ${MINED_WITHIN_MS} ms`);
}

async function submitNow(chain: LocalChain, from: TestAccount, call: Call, gas: bigint): Promise<Hex> {
  const nonce = await chain.rpc.call('eth_getTransactionCount', [from.address, 'pending']);
  const signed = await from.signer.signTransaction({
    type: 'eip1559',
    chainId: chain.chainId,
    nonce: Number(nonce),
    gas,
    maxFeePerGas: FEE_LIMIT,
    maxPriorityFeePerGas: TIP,
    ...call,
  });
  const hash = await chain.rpc.call('eth_sendRawTransaction', [signed]);
  if (!isHex(hash, 32)) throw new Error('the node returned no transaction hash');
  return hash;
}

/** Returns a wallet that sends USDC itself. It needs ether for gas, unlike with x402. */
export function transferWallet(chain: LocalChain, account: TestAccount): TransferWallet {
  return {
    address: account.address,
    signMessage: ({ message }) => account.signer.signMessage({ message }),
    sendUsdc: async ({ to, units, asset, chainId }) => {
      if (chainId !== chain.chainId) throw new TypeError(`this wallet is on chain ${chain.chainId}`);
      const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args: [to, units] });
      return await submit(chain, account, { to: asset, data });
    },
  };
}

/** Returns a function that searches the token's Transfer events, as used by a payer that crashed before it knew the hash. */
export function transferFinder(chain: LocalChain): FindTransfer {
  return async ({ from, to, units, asset, since, until }) => {
    const topics = [TRANSFER_TOPIC, addressTopic(lowerCase(from)), addressTopic(lowerCase(to))];
    const logs = await readLogs(chain.rpc, { address: lowerCase(asset), topics, fromBlock: 0n });
    const fitting: Hex[] = [];
    for (const log of logs.filter((one) => decodeTransfer(one)?.value === units)) {
      const block = await readBlock(chain.rpc, log.blockNumber);
      const atMs = Number(block?.timestamp ?? 0n) * 1_000;
      if (atMs >= Date.parse(since) && atMs < Date.parse(until)) fitting.push(log.transactionHash);
    }
    // If two transfers match, it is unknown which one is meant.
    return fitting.length === 1 ? (fitting[0] ?? null) : null;
  };
}

function lowerCase(address: string): Hex {
  const lower = address.toLowerCase();
  if (!isHex(lower, 20)) throw new TypeError('an address is 0x and 40 hex digits');
  return lower;
}
