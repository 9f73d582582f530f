import { type Receipt, readReceipt } from '../../platform/chain/reads.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Hex } from '../../platform/hex.ts';
import { isHex } from '../../platform/hex.ts';
import type { TestAccount } from './accounts.ts';
import type { LocalChain } from './start-chain.ts';

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

/** The last transaction of each sender, because two at once would take the same nonce. */
const queues = new WeakMap<LocalChain, Map<Hex, Promise<unknown>>>();

/** Signs and sends; resolves with the hash when the node has taken it. One after the other for one sender. */
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

/** Sends and waits for the block. Resolves also when the transaction reverted: look at the status. */
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
  if (!isHex(hash, 32)) throw new Error('the node gave no transaction hash');
  return hash;
}
